"""Which rows of a table belong together, and when they were observed."""

from typing import Any

import numpy as np

from ._convert import _missing, is_frame


def named(x: Any, groups: Any, time: Any) -> dict[str, Any]:
    """The table without a column of groups that was named, whole numbers of groups, and times as numbers.

    Parameters
    ----------
    x : array or frame
    groups : str, array or None
        Rows with the same entry belong together.
    time : str, array or None
        Numbers, dates, or texts that numpy reads as dates.

    Returns
    -------
    dict with x, groups and time

    Examples
    --------
    >>> named(np.zeros((3, 1)), ["a", "b", "a"], None)["groups"]
    [0, 1, 0]
    """
    if groups is not None and time is not None:
        raise ValueError("groups, time: rows are related in one way; give one of the two")
    related: dict[str, Any] = {"x": x, "groups": None, "time": None}
    if groups is not None:
        cells = list(_column(x, groups, "groups"))
        _no_gap([_missing(cell) for cell in cells], "groups")
        known: dict[Any, int] = {}
        related["groups"] = [known.setdefault(cell, len(known)) for cell in cells]
        if isinstance(groups, str):
            related["x"] = x[[name for name in x.columns if name != groups]]
    if time is not None:
        related["time"] = _numbers(np.asarray(_column(x, time, "time")))
    return related


def _column(x: Any, column: Any, what: str) -> Any:
    """A column of a frame by its name, or an array with an entry for every row."""
    if isinstance(column, str):
        if not is_frame(x):
            raise ValueError(f"{what}: `{column}` is a name, and the table is an array without names")
        if column not in x.columns:
            raise ValueError(f"{what}: no column `{column}`; the columns are {', '.join(map(str, x.columns))}")
        column = x[column]
    array = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if array.ndim != 1 or len(array) != len(x):
        raise ValueError(f"{what}: expected one entry for each of {len(x)} rows, got shape {array.shape}")
    return array


def _numbers(array: np.ndarray) -> list[float]:
    """Numbers as they are, and times as seconds."""
    if array.dtype.kind in "OUST":
        try:
            numbers = array.astype(np.float64)
        except (TypeError, ValueError):
            try:
                array = array.astype("datetime64[us]")
            except (TypeError, ValueError):
                raise ValueError("time: expected numbers or dates") from None
        else:
            array = numbers
    if array.dtype.kind == "M":
        _no_gap(np.isnat(array).tolist(), "time")
        array = array.astype("datetime64[us]").astype(np.int64) / 1e6
    if array.dtype.kind not in "fiub":
        raise ValueError("time: expected numbers or dates")
    numbers = array.astype(np.float64)
    _no_gap((~np.isfinite(numbers)).tolist(), "time")
    return [float(v) for v in numbers]


def _no_gap(missing: list[bool], what: str) -> None:
    if any(missing):
        raise ValueError(f"{what}: row {missing.index(True)} has none, counted from 0, and every row needs one")
