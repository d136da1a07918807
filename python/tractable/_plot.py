"""Pictures with matplotlib: a band, a calibration curve, a posterior. Each draws on the given axes, or on the current ones."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._tractable import Ensemble, Network, Posterior, Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    return plt.gca()


def plot_band(
    model: Ensemble | Network,
    x: ArrayLike,
    y: ArrayLike | None = None,
    *,
    level: float = 0.9,
    points: int = 200,
    ax: "Axes | None" = None,
) -> "Axes":
    """The mean and the interval that contains `level` of new points, over the range of x, for models of one input; y are the data."""
    ax = _axes(ax)
    x = np.asarray(x, dtype=float).ravel()
    if len(x) == 0:
        raise ValueError("x: at least one point is needed")
    edge = 0.1 * (x.max() - x.min() or 1.0)
    grid = np.linspace(x.min() - edge, x.max() + edge, points)
    predicted = model.predict(grid[:, None])
    if predicted.mean.ndim != 1:
        raise ValueError("plot_band: the model has several outputs; draw them one by one")
    lower, upper = predicted.interval(level)
    ax.fill_between(grid, lower, upper, alpha=0.25, label=f"{level:.0%} interval")
    ax.plot(grid, predicted.mean, label="mean")
    if y is not None:
        ax.plot(x, np.asarray(y, dtype=float).ravel(), ".", color="0.3", markersize=4, label="data")
    ax.legend()
    return ax


def plot_calibration(predicted: Prediction, y: ArrayLike, *, ax: "Axes | None" = None) -> "Axes":
    """The share of observations inside every interval against the share that should be there."""
    ax = _axes(ax)
    y = np.asarray(y, dtype=float).reshape(predicted.mean.shape)
    levels = np.linspace(0.02, 0.98, 49)
    inside = [float(np.mean((lower <= y) & (y <= upper))) for lower, upper in map(predicted.interval, levels)]
    ax.plot([0, 1], [0, 1], color="0.7", label="perfect")
    ax.plot(levels, inside, label="model")
    ax.set(xlabel="level of the interval", ylabel="share of observations inside", xlim=(0, 1), ylim=(0, 1))
    ax.set_aspect("equal")
    ax.legend()
    return ax


def plot_condition(
    posterior: Posterior, prior: ArrayLike | None = None, std: ArrayLike | None = None, *, row: int = 0, ax: "Axes | None" = None
) -> "Axes":
    """The answers of a row: a curve per answer for one input, an ellipse of two standard deviations for two. prior, std: what was known before."""
    ax = _axes(ax)
    width = posterior.mean.shape[1]
    before = None
    if prior is not None and std is not None:
        place = np.asarray(prior, dtype=float).reshape(-1, width)[row]
        before = (place, np.broadcast_to(np.asarray(std, dtype=float), (width,)))
    if width == 1:
        _curves(posterior, before, row, ax)
    elif width == 2:
        _ellipses(posterior, before, row, ax)
    else:
        raise ValueError(f"plot_condition: draws one or two inputs, not {width}")
    ax.legend()
    return ax


def _curves(posterior: Posterior, before: Any, row: int, ax: "Axes") -> None:
    modes = posterior.modes(row)
    parts = [(m.weight, m.mean[0], max(m.std[0], 1e-9)) for m in modes]
    widest = [(1.0, before[0][0], before[1][0])] if before else []
    low = min(m - 4 * s for _, m, s in parts + widest)
    high = max(m + 4 * s for _, m, s in parts + widest)
    # Narrow answers need points of their own.
    x = np.unique(np.concatenate([np.linspace(low, high, 400)] + [np.linspace(m - 5 * s, m + 5 * s, 200) for _, m, s in parts]))

    def bell(mean: float, std: float) -> np.ndarray:
        return np.asarray(np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi)))

    if before:
        ax.plot(x, bell(before[0][0], before[1][0]), color="0.6", label="before")
    for weight, mean, std in parts:
        ax.fill_between(x, weight * bell(mean, std), alpha=0.5, label=f"{mean:.3g} ± {std:.2g}, {weight:.0%}")
    ax.set(ylabel="density", yticks=[])


def _ellipses(posterior: Posterior, before: Any, row: int, ax: "Axes") -> None:
    turn = np.linspace(0, 2 * np.pi, 120)
    circle = 2 * np.stack([np.cos(turn), np.sin(turn)])
    if before:
        ax.plot(*(np.asarray(before[0])[:, None] + np.diag(before[1]) @ circle), color="0.6", label="before")
    modes = posterior.modes(row)
    for mode in modes:
        # One answer has the covariance of the whole.
        factor = np.linalg.cholesky(posterior.cov(row) + 1e-18 * np.eye(2)) if len(modes) == 1 else np.diag(mode.std)
        path = mode.mean[:, None] + factor @ circle
        (line,) = ax.plot(*path, label="after" if len(modes) == 1 else f"{mode.weight:.0%}")
        ax.plot(*mode.mean, "+", color=line.get_color())
