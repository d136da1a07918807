"""The speed of this build."""

import pytest

import tractable


def test_the_speed_is_measured():
    machine, *lines = tractable.bench(seconds=0.01, threads=1)
    assert machine["type"] == "machine" and machine["cores"] >= 1
    assert {"learn", "derivative", "condition"} <= {line["verb"] for line in lines}
    assert all(0.0 < line["best_us"] <= line["median_us"] for line in lines)


def test_what_bench_refuses_is_an_error():
    with pytest.raises(ValueError, match="seconds"):
        tractable.bench(seconds=0)
    with pytest.raises(RuntimeError, match="threads"):
        tractable.bench(seconds=0.01, threads=-1)
