"""A picture of a fit, for notebooks: SVG, without any plotting library."""

from html import escape

import numpy as np

from ._tractable import Ensemble

_WIDTH, _HEIGHT, _EDGE = 420, 220, 34


def of_ensemble(model: Ensemble) -> str:
    """Scores of a model and, where it has one input and numbers, its curve with the 90 % band."""
    rows = "".join(_score(name, score) for name, score in zip(model.output_names, model.scores))
    table = f"<table><tr><th></th><th>left-out rows</th><th>error</th><th>NLL</th><th>in 90 % interval</th></tr>{rows}</table>"
    return f"<div><p>{escape(repr(model)[1:-1])}</p>{_curve(model)}{table if rows else ''}</div>"


def _score(name: str, score: dict[str, float | None]) -> str:
    error = score["rmse"] if score["rmse"] is not None else score["error_rate"]
    inside = score["coverage_90"]
    cells = [
        escape(name),
        f"{score['rows']}",
        f"{error:.4g}",
        f"{score['nll']:.4g}",
        "" if inside is None else f"{inside:.1%}",
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _curve(model: Ensemble) -> str:
    spread = model.input_range
    if model.inputs != 1 or model.classes is not None or len(model.output_names) != 1 or spread is None:
        return ""
    middle, std = spread[0][0], spread[1][0]
    x = np.linspace(middle - 2 * std, middle + 2 * std, 121)
    y = model.predict(x)
    lower, upper = y.interval(0.9)
    low, high = float(lower.min()), float(upper.max())

    def points(ys: np.ndarray) -> list[str]:
        across = _EDGE + (x - x[0]) / (x[-1] - x[0]) * (_WIDTH - 2 * _EDGE)
        down = _HEIGHT - _EDGE - (ys - low) / (high - low or 1.0) * (_HEIGHT - 2 * _EDGE)
        return [f"{a:.1f},{b:.1f}" for a, b in zip(across, down)]

    band = " ".join(points(lower) + points(upper)[::-1])
    line = " ".join(points(y.mean))
    text = '<text x="{:.0f}" y="{:.0f}" font-size="11" text-anchor="{}">{}</text>'.format
    labels = [
        text(_EDGE, _HEIGHT - 12, "start", f"{x[0]:.3g}"),
        text(_WIDTH - _EDGE, _HEIGHT - 12, "end", f"{x[-1]:.3g}"),
        text(_WIDTH / 2, _HEIGHT - 12, "middle", escape(model.input_names[0] if model.input_names else "x")),
        text(4, _EDGE - 8, "start", f"{escape(model.output_names[0])}, {high:.3g} at the top"),
        text(4, _HEIGHT - _EDGE, "start", f"{low:.3g}"),
    ]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="curve with its 90 % band">'
        f'<polygon points="{band}" fill="#4c78a8" fill-opacity="0.25"/>'
        f'<polyline points="{line}" fill="none" stroke="#4c78a8" stroke-width="2"/>{"".join(labels)}</svg>'
    )
