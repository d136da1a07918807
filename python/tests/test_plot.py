"""Pictures, where matplotlib is installed."""

import numpy as np
import pytest
import tractable as tr

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def ax():  # type: ignore[no-untyped-def]
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_a_band(ax, fitted: tr.Ensemble, curve: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[no-untyped-def]
    assert tr.plot_band(fitted, *curve, ax=ax) is ax
    assert [line.get_label() for line in ax.lines] == ["mean", "data"]
    assert len(ax.collections) == 1


def test_a_calibration_curve(ax, fitted: tr.Ensemble, curve: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[no-untyped-def]
    x, y = curve
    tr.plot_calibration(fitted.predict(x), y, ax=ax)
    levels, inside = ax.lines[1].get_data()
    assert np.abs(np.asarray(levels) - inside).max() < 0.15


def test_a_posterior_of_one_and_of_two_inputs(ax, net: tr.Network) -> None:  # type: ignore[no-untyped-def]
    x = net.condition([[0.0]], 0.0, std=1.5, noise_std=0.1)
    tr.plot_condition(x, [[0.0]], 1.5, ax=ax)
    assert len(ax.collections) == len(x.modes())
    two = tr.Network.mlp([2, 8, 1], "tanh", seed=0)
    figure, other = plt.subplots()
    tr.plot_condition(two.condition([[0.0, 0.0]], 1.0, std=0.5, noise_std=0.1), [[0.0, 0.0]], 0.5, ax=other)
    assert len(other.lines) >= 3
    plt.close(figure)
    three = tr.Network.mlp([3, 8, 1], "tanh", seed=0)
    with pytest.raises(ValueError, match="one or two inputs, not 3"):
        tr.plot_condition(three.condition(np.zeros((1, 3)), 1.0, std=0.5))
