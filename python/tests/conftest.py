"""Data that several tests share."""

import numpy as np
import pytest
import tractable as tr


@pytest.fixture(scope="session")
def curve() -> tuple[np.ndarray, np.ndarray]:
    """y = x^3 - 3x with noise of 0.3."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 300)
    return x, x**3 - 3 * x + rng.normal(0, 0.3, 300)


@pytest.fixture(scope="session")
def fitted(curve: tuple[np.ndarray, np.ndarray]) -> tr.Ensemble:
    return tr.Ensemble.fit(*curve, visits=10_000)


@pytest.fixture
def net(curve: tuple[np.ndarray, np.ndarray]) -> tr.Network:
    net = tr.Network.mlp([1, 32, 1], seed=0)
    net.fit(*curve, epochs=20, batch=1, progress=False)
    return net
