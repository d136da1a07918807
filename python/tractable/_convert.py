"""Arrays, frames and tensors as the native part takes them: C-ordered doubles, or named columns."""

from typing import Any

import numpy as np

Column = tuple[str, Any]


def to_numbers(x: Any, what: str) -> np.ndarray:
    """Any array of numbers as C-ordered doubles; copied only where that is needed."""
    if not isinstance(x, np.ndarray):
        if hasattr(x, "detach"):  # a torch tensor that has a gradient
            x = x.detach()
        if hasattr(x, "__dlpack__"):
            try:
                x = np.from_dlpack(x)
            except (BufferError, RuntimeError, TypeError):
                x = x.cpu().numpy() if hasattr(x, "cpu") else np.asarray(x)
        elif hasattr(x, "to_numpy"):
            x = x.to_numpy()
    if hasattr(x, "toarray"):
        raise TypeError(f"{what}: sparse matrices are not supported; use toarray()")
    array = np.asarray(x)
    if array.dtype.kind == "c":
        raise ValueError(f"{what}: complex numbers are not supported")
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{what}: expected numbers, got an array of {array.dtype}; texts can be columns of a frame"
            ) from None
    return np.ascontiguousarray(array, dtype=np.float64)


def is_frame(x: Any) -> bool:
    """Whether it is a pandas or polars frame."""
    return hasattr(x, "columns") and hasattr(x, "__getitem__") and hasattr(x, "shape") and len(x.shape) == 2


def _cells(series: Any) -> tuple[Any, str | None]:
    """The cells of a column, and its type where the frame knows it: numbers as an array, all else as texts."""
    if getattr(series, "ndim", 1) != 1:
        raise ValueError("columns: a name occurs twice")
    array = series.to_numpy()
    if array.dtype.kind in "fO" and all(map(_missing, array)):
        return [""] * len(array), None  # left out
    if array.dtype.kind in "fiu" and not _categorical(series):
        return np.ascontiguousarray(array, dtype=np.float64), "number"
    if array.dtype.kind == "b":
        return ["yes" if v else "no" for v in array], None
    if array.dtype.kind == "m":
        return array / np.timedelta64(1, "s"), "number"
    if array.dtype.kind == "M":
        return ["" if np.isnat(v) else str(v).replace("T", " ")[:19] for v in array.astype("datetime64[s]")], "date"
    values = list(series)
    if values and not _categorical(series) and all(_missing(v) or _is_number(v) for v in values):
        return np.array([np.nan if _missing(v) else float(v) for v in values]), "number"
    return [_text(v) for v in values], "category" if _categorical(series) else None


def _is_number(v: Any) -> bool:
    return isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool)


def _text(v: Any) -> str:
    if _missing(v):
        return ""
    return ("no", "yes")[bool(v)] if isinstance(v, (bool, np.bool_)) else str(v)


def _categorical(series: Any) -> bool:
    return str(series.dtype).lower().startswith(("category", "categorical", "enum"))


def _missing(v: Any) -> bool:
    return v is None or type(v).__name__ == "NAType" or v != v


def to_columns(x: Any) -> list[Column] | None:
    """The columns of a frame by name, or None if it is something else."""
    if isinstance(x, np.ndarray) or not is_frame(x):
        return None
    return [(str(name), _cells(x[name])[0]) for name in x.columns]


class Named:
    """An array of numbers, and the names of its columns."""

    def __init__(self, numbers: np.ndarray, names: list[str]) -> None:
        self.numbers, self.names = numbers, names

    def __len__(self) -> int:
        return len(self.numbers)


class Labels:
    """Classes as whole numbers from 0, and all their names; some may not occur yet."""

    def __init__(self, codes: np.ndarray, class_names: list[str], name: str) -> None:
        self.codes, self.class_names, self.name = codes, class_names, name


# Texts that a table reads as missing.
_READ_AS_MISSING = {
    "", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "?", "-", "--",
}


def _target(y: Any, classes: bool | None) -> tuple[np.ndarray, list[str] | None, list[str]]:
    """Numbers, or labels and the names of the classes; then the names of the outputs."""
    if isinstance(y, Labels):
        return y.codes.astype(np.float64), y.class_names, [y.name]
    if isinstance(y, Named):
        return y.numbers, None, y.names
    name = getattr(y, "name", None)
    names = [str(c) for c in y.columns] if is_frame(y) else [str(name) if isinstance(name, str) and name else "y"]
    if isinstance(y, np.ndarray):
        array = y
    else:
        array = y.to_numpy() if hasattr(y, "to_numpy") else to_numbers(y, "y") if hasattr(y, "detach") else np.asarray(y)
    if classes is None:
        classes = array.dtype.kind in "bOUST" and _are_texts(array)
    if not classes:
        numbers = to_numbers(array, "y")
        width = 1 if numbers.ndim < 2 else int(np.prod(numbers.shape[1:]))
        return numbers, None, names if len(names) == width else [f"y{i}" for i in range(width)]
    _no_gaps(np.array([_missing(label) for label in array.ravel().tolist()], dtype=bool))
    found, labels = np.unique(array.ravel().astype(str) if array.dtype.kind == "O" else array.ravel(), return_inverse=True)
    return labels.astype(np.float64), [str(v) for v in found], names


def _no_gaps(missing: np.ndarray) -> None:
    if missing.any():
        raise ValueError(f"y: row {int(np.argwhere(missing)[0][0])} has no target, counted from 0; leave such rows out")


def _are_texts(array: np.ndarray) -> bool:
    return array.dtype.kind != "O" or any(isinstance(v, (str, bool)) for v in array.ravel())


def target_inside(x: Any, y: Any) -> tuple[Any, Any]:
    """The inputs and the target; y may be the name of a column of the frame x, or a list of names."""
    if isinstance(x, np.ndarray) or not is_frame(x):
        return x, y
    names = y if isinstance(y, list) else [y]
    if not all(isinstance(name, str) and name in x.columns for name in names):
        return x, y
    return x[[name for name in x.columns if name not in names]], x[y]


def to_data(x: Any, y: Any, classes: bool | None = None) -> dict[str, Any]:
    """A table and its target, as arrays or, where a frame has more than numbers, as columns."""
    x, y = target_inside(x, y)
    if isinstance(y, str):
        raise ValueError(f"y: there is no column `{y}`")
    labels, class_names, outputs = _target(y, classes)
    data: dict[str, Any] = {
        "x": x, "y": labels, "names": None, "class_names": class_names, "columns": None, "kinds": [], "targets": outputs,
    }
    if isinstance(x, np.ndarray) or not (isinstance(x, Named) or is_frame(x)):
        _no_gaps(np.isnan(labels).reshape(len(labels), -1))
        return data
    read = [] if isinstance(x, Named) else [(str(name), *_cells(x[name])) for name in x.columns]
    if all(kind == "number" for _, _, kind in read):
        _no_gaps(np.isnan(labels).reshape(len(labels), -1))
        names = x.names if isinstance(x, Named) else [name for name, _, _ in read]
        data["x"] = x.numbers if isinstance(x, Named) else np.column_stack([cells for _, cells, _ in read])
        if len({*names, *outputs}) == len(names) + len(outputs):
            data["names"] = (names, outputs)
        return data
    taken = {name for name, _, _ in read}
    targets = [name if name not in taken else f"target {name}" for name in outputs]
    columns: list[Column] = [(name, cells) for name, cells, _ in read]
    if class_names is not None:
        if any(name.strip() != name or name in _READ_AS_MISSING for name in class_names):
            class_names = [str(i) for i in range(len(class_names))]
            data["class_names"] = class_names
        columns.append((targets[0], [class_names[int(i)] for i in labels]))
    else:
        columns += [(name, labels.reshape(len(labels), -1)[:, i].copy()) for i, name in enumerate(targets)]
    data.update(columns=columns, kinds=[(name, kind) for name, _, kind in read if kind], targets=targets)
    return data


def to_labels(y: Any, names: list[str], what: str) -> np.ndarray:
    """Numbers of classes, from their values as they were in fit."""
    place = {name: i for i, name in enumerate(names)}
    values = [y] if isinstance(y, str) else np.asarray(y).ravel().tolist()
    unknown = [str(v) for v in values if str(v) not in place]
    if unknown:
        raise ValueError(f"{what}: `{unknown[0]}` is not among the {len(names)} classes: {', '.join(names[:20])}")
    return np.array([place[str(v)] for v in values], dtype=np.float64)
