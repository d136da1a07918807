"""Devices by name."""

import pytest

import tractable as tr


def test_a_device_that_is_not_there_is_a_clear_error():
    with pytest.raises(ValueError, match="use cpu, cpu:4, cuda"):
        tr.Network.mlp([1, 4, 1], device="tpu")
    try:
        tr.Network.mlp([1, 4, 1], device="cuda")
    except RuntimeError as e:
        assert str(e).startswith("cuda: ")
