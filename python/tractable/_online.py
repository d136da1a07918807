"""Models that learn one row at a time, in River's manner. A row is a dictionary of features.

Where River is installed, its pipelines, metrics and evaluation accept these models. They do not need it.
"""

import importlib
import math
import statistics
import sys
import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from ._convert import _missing
from ._tractable import Drift, Network, Surprise

try:
    _river: Any = importlib.import_module("river.base")
except ImportError:
    _river = None
_Classifier: Any = _river.MiniBatchClassifier if _river else object
_Regressor: Any = _river.MiniBatchRegressor if _river else object

Row = Mapping[Hashable, Any]

# The first rows are kept. Each time they have doubled, a new network learns all of them, with the scale known by then.
_KEPT_ROWS = 512
_EPOCHS = 8
# A feature that appears later has its own scale fixed after this many values.
_SCALE_ROWS = 100
# Inputs are limited to this many standard deviations, and features to this size.
_MOST_DEVIATIONS = 6.0
_LARGEST = 1e150
# Observations over which a prediction's width is averaged, and the limit on each of them: a single outlier is not drift.
_WIDTH_ROWS = 200
_MOST_SQUARE = 9.0
# Noise of a class, in units of the network's output.
_CLASS_NOISE = 0.3


class Normal(statistics.NormalDist):
    """A normal distribution, with River's names beside those of Python's statistics."""

    @property
    def mu(self) -> float:
        return self.mean

    @property
    def sigma(self) -> float:
        return self.stdev

    def __call__(self, value: float) -> float:
        """The density."""
        return self.pdf(value)

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Bounds that contain this share of new observations."""
        return self.inv_cdf((1 - level) / 2), self.inv_cdf((1 + level) / 2)


class _Inputs:
    """Features in the slots of a network's input: one for a number, one for each text that a feature takes."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.used = 0
        self.numbers: dict[Hashable, int] = {}
        self.texts: dict[Hashable, dict[str, int]] = {}
        self.text_slots: set[int] = set()
        self.warned = False
        self.count, self.mean, self.squares = np.zeros(slots), np.zeros(slots), np.zeros(slots)
        self.shift, self.scale = np.zeros(slots), np.zeros(slots)
        # What stands for a missing feature: mean and standard deviation, standardised.
        self.usual, self.spread = np.zeros(slots), np.zeros(slots)
        self.fixed = False
        self.young: list[int] = []  # slots whose scale is still open
        self.gain = 1.0

    def read(self, x: Row, grow: bool) -> np.ndarray:
        """The features in their slots; NaN is missing. With grow, new features get a slot."""
        row = [math.nan] * self.slots
        new: list[tuple[Hashable, str | None]] = []
        for name, value in x.items():
            if isinstance(value, str):
                slots = self.texts.get(name, {})
                for slot in slots.values():
                    row[slot] = 0.0
                if value in slots:
                    row[slots[value]] = 1.0
                else:
                    new.append((name, value))
            elif _is_number(name, value):
                if name in self.numbers:
                    row[self.numbers[name]] = value
                else:
                    new.append((name, None))
        if grow and new:
            # The order within a row must not matter.
            added = [self.add(name, text) for name, text in sorted(new, key=str)]
            if any(added):
                return self.read(x, False)
        return np.array(row, dtype=np.float64)

    def add(self, name: Hashable, text: str | None) -> bool:
        slot = self.used
        if slot == self.slots:
            if not self.warned:
                what = f"`{name}`" if text is None else f"`{name}={text}`"
                warnings.warn(f"feature {what} is ignored: max_features={self.slots} are taken", stacklevel=5)
                self.warned = True
            return False
        if text is None:
            self.numbers[name] = slot
        else:
            self.texts.setdefault(name, {})[text] = slot
            self.text_slots.add(slot)
        self.used += 1
        if self.fixed:
            self.young.append(slot)
        return True

    def count_in(self, row: np.ndarray) -> None:
        """Updates means and variances, while a scale is open."""
        if self.fixed and not self.young:
            return
        seen = row == row
        self.count += seen
        before = np.where(seen, row - self.mean, 0.0)
        self.mean += before / np.maximum(self.count, 1.0)
        self.squares += before * np.where(seen, row - self.mean, 0.0)
        if self.fixed:
            self.set_scale(self.young)
            self.young = [i for i in self.young if self.count[i] < _SCALE_ROWS or self.squares[i] == 0.0]

    def set_scale(self, slots: Iterable[int]) -> None:
        for i in slots:
            std = math.sqrt(self.squares[i] / max(self.count[i], 1.0))
            text = i in self.text_slots
            self.shift[i] = 0.0 if text else self.mean[i]
            self.scale[i] = self.gain if text else self.gain / std if std > 0.0 else 0.0
            self.usual[i] = (self.mean[i] - self.shift[i]) * self.scale[i]
            self.spread[i] = std * self.scale[i]

    def rescale(self, fix: bool) -> None:
        """The scale of all values so far; fix: for good, except of slots that have seen too few."""
        # The prior of the first layer expects every slot to be in use.
        self.gain = math.sqrt(self.slots / max(len(self.numbers) + len(self.texts), 1))
        self.set_scale(range(self.used))
        if fix:
            self.fixed = True
            self.young = [i for i in range(self.used) if self.count[i] < _SCALE_ROWS or self.squares[i] == 0.0]

    def standard(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Inputs of the network, and their standard deviations where a feature is missing."""
        limit = _MOST_DEVIATIONS * self.gain
        x = np.minimum(np.maximum((rows - self.shift) * self.scale, -limit), limit)
        missing = x != x
        x = np.where(missing, self.usual, x)
        if not missing[..., : self.used].any():
            return x, None
        return x, np.where(missing, self.spread, 0.0)


def _is_number(name: Hashable, value: Any) -> bool:
    """False for a missing one."""
    try:
        if -_LARGEST < value < _LARGEST:
            return True
    except TypeError:
        pass
    if _missing(value):
        return False
    raise ValueError(f"feature `{name}`: expected a finite number, a text, a bool or None, got {value!r}")


def _rows(frame: Any) -> list[Row]:
    """The rows of a pandas or polars frame, or of a list of dictionaries."""
    if hasattr(frame, "to_dicts"):
        return list(frame.to_dicts())
    if hasattr(frame, "to_dict"):
        return list(frame.to_dict(orient="records"))
    return list(frame)


def _series(frame: Any, values: list[Any]) -> Any:
    """A series of the frame's package, or a list."""
    if hasattr(frame, "to_dicts"):
        return sys.modules["polars"].Series(values)
    if hasattr(frame, "to_dict"):
        return sys.modules["pandas"].Series(values, index=frame.index)
    return values


class _Online:
    """What both models share: the network, how it starts, and forgetting when the world changes.

    Attributes: surprise, the observed and expected squared errors of all rows; forgot, how often the network forgot because it was too
    surprised.
    """

    hidden: tuple[int, ...]
    remember: int
    max_features: int
    seed: int

    def _start(self) -> None:
        self._inputs = _Inputs(self.max_features)
        self._kept: list[tuple[Row, Any]] = []
        self._rows = 0
        self._network: Network | None = None
        self._drift = Drift()
        self.surprise = Surprise()
        self.forgot = 0
        self._make()  # settings that cannot be used are refused at once

    def _make(self) -> Network:
        """A network that has learned nothing."""
        raise NotImplementedError

    def _number(self, y: Any) -> float:
        """The target as the network takes it."""
        raise NotImplementedError

    def _learn_row(self, network: Network, x: np.ndarray, std: np.ndarray | None, y: float) -> Surprise:
        """Learns a new row and returns its surprise."""
        return network.learn_one(x, np.array([y]), std=std)

    def _learn(self, x: Row, y: Any) -> None:
        row = self._inputs.read(x, True)
        self._inputs.count_in(row)
        self._rows += 1
        if self._network is not None:
            given, std = self._inputs.standard(row)
            told = self._learn_row(self._network, given, std, self._number(y))
            self.surprise += told
            limited = Surprise(min(told.observed, _MOST_SQUARE), told.expected, told.model, told.var)
            # Before that, the network is replaced by a new one anyway.
            if self._rows > _KEPT_ROWS and self._drift.follow(self._network, limited) > 1.0:
                self.forgot += 1
        if self._rows <= _KEPT_ROWS:
            self._kept.append((dict(x), y))
            if self._rows.bit_count() == 1:  # 1, 2, 4, 8, ...
                self._learn_again()

    def _learn_again(self) -> None:
        """A new network learns the kept rows, with the scale known by now."""
        last = self._rows == _KEPT_ROWS
        self._inputs.rescale(fix=last)
        self._network = self._make()
        read = [(*self._given(x), np.array([self._number(y)])) for x, y in self._kept]
        for _ in range(_EPOCHS):
            for given, std, target in read:
                self._network.learn(given, target, std=std)
        if last:
            self._kept = []

    def _given(self, x: Row) -> tuple[np.ndarray, np.ndarray | None]:
        return self._inputs.standard(self._inputs.read(x, False))

    def _given_many(self, rows: list[Row]) -> tuple[np.ndarray, np.ndarray | None]:
        return self._inputs.standard(np.array([self._inputs.read(x, False) for x in rows]))

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs in use: features, and name=text for each text."""
        names = {slot: str(name) for name, slot in self._inputs.numbers.items()}
        names |= {slot: f"{name}={text}" for name, of in self._inputs.texts.items() for text, slot in of.items()}
        return [names[slot] for slot in sorted(names)]

    def __repr__(self) -> str:
        settings = {"hidden": self.hidden, "remember": self.remember, "max_features": self.max_features}
        shown = ", ".join(f"{name}={value}" for name, value in settings.items())
        return f"{type(self).__name__}({shown}; {self._inputs.used} inputs, {self._rows} rows)"


class OnlineRegressor(_Online, _Regressor):  # type: ignore[misc]
    """Regression by a Bayesian network that learns each row once, as it comes, and predicts a distribution.

    Features are numbers, texts, bools or None. Each text becomes an input of its own. A missing feature is an uncertain
    input. New features may appear at any time, up to max_features inputs.

    When the world changes, the network's errors are larger than expected, and it forgets in proportion; there is nothing to set.
    `forgot` counts how often, and `surprise.ratio` is a running check of calibration: above 1, the model is overconfident.

    Parameters
    ----------
    hidden
        Widths of the hidden layers.
    remember
        About how many rows the network remembers while nothing is surprising; with fewer it follows slow changes faster.
    max_features
        Inputs that are reserved.
    seed
        Seed of the initial weights.

    Examples
    --------
    >>> from tractable import OnlineRegressor
    >>> model = OnlineRegressor()
    >>> for i in range(200):
    ...     model.learn_one({"x": i % 10, "kind": "ab"[i % 2]}, 3.0 * (i % 10))
    >>> abs(model.predict_one({"x": 4, "kind": "a"}) - 12) < 1
    True
    >>> lower, upper = model.predict_one({"x": 4}, with_dist=True).interval(0.9)
    """

    def __init__(
        self, *, hidden: tuple[int, ...] = (32, 32), remember: int = 20_000, max_features: int = 64, seed: int = 0
    ) -> None:
        self.hidden = hidden
        self.remember = remember
        self.max_features = max_features
        self.seed = seed
        self._count, self._mean, self._squares = 0, 0.0, 0.0
        self._shift, self._scale = 0.0, 1.0
        # Average of squared errors over predicted variances, and of how many; it starts as if ten had been 1.
        self._width, self._widths = 1.0, 10
        self._start()

    def _make(self) -> Network:
        self._shift = self._mean
        self._scale = math.sqrt(self._squares / max(self._count, 1)) or 1.0
        widths = [self.max_features, *self.hidden, 1]
        return Network.mlp(widths, noise="per_input", update=self.remember, seed=self.seed)

    def _number(self, y: float) -> float:
        return (y - self._shift) / self._scale

    def _learn_row(self, network: Network, x: np.ndarray, std: np.ndarray | None, y: float) -> Surprise:
        # The network learns with its average noise, but predicts with that of the row.
        predicted = network.predict(x, std=std)
        network.learn(x, np.array([y]), std=std)
        square = float((y - predicted.mean[0]) ** 2 / predicted.var[0])
        # Where intervals are wider than the network says, larger errors are expected.
        beyond = square / max(self._width, 1.0)
        self._widths = min(self._widths + 1, _WIDTH_ROWS)
        self._width += (min(square, _MOST_SQUARE) - self._width) / self._widths
        return Surprise(beyond, 1.0, float(predicted.model_var[0] / predicted.var[0]), 2.0)

    def learn_one(self, x: Row, y: float) -> None:
        """Learns one row."""
        y = float(y)
        if not -_LARGEST < y < _LARGEST:
            raise ValueError(f"y: expected a finite number, got {y}")
        before = y - self._mean
        self._count += 1
        self._mean += before / self._count
        self._squares += before * (y - self._mean)
        self._learn(x, y)

    def predict_one(self, x: Row, with_dist: bool = False) -> Any:
        """The mean; with_dist: the distribution of a new observation, with mu, sigma, cdf, interval and more."""
        if self._network is None:
            return Normal(self._mean, self._scale) if with_dist else self._mean
        given, std = self._given(x)
        predicted = self._network.predict(given, std=std)
        mean = float(predicted.mean[0]) * self._scale + self._shift
        if not with_dist:
            return mean
        return Normal(mean, math.sqrt(predicted.var[0] * self._width) * self._scale)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learns the rows of a frame, one after the other."""
        for row, target in zip(_rows(X), y, strict=True):
            self.learn_one(row, target)

    def predict_many(self, X: Any) -> Any:
        """The means for the rows of a frame."""
        rows = _rows(X)
        if self._network is None or not rows:
            return _series(X, [self._mean] * len(rows))
        given, std = self._given_many(rows)
        mean = self._network.predict(given, std=std).mean * self._scale + self._shift
        return _series(X, mean.tolist())


class OnlineClassifier(_Online, _Classifier):  # type: ignore[misc]
    """Classification by a Bayesian network that learns each row once, as it comes.

    Features and forgetting are the same as for OnlineRegressor. A class is anything that can be a key of a dictionary, and need not be
    known in advance.

    Parameters
    ----------
    max_classes
        Classes that are reserved.
    hidden
        Widths of the hidden layers.
    remember
        About how many rows the network remembers while nothing is surprising; with fewer it follows slow changes faster.
    max_features
        Inputs that are reserved.
    seed
        Seed of the initial weights.

    Examples
    --------
    >>> from tractable import OnlineClassifier
    >>> model = OnlineClassifier()
    >>> for i in range(200):
    ...     model.learn_one({"x": i % 10}, "high" if i % 10 > 4 else "low")
    >>> model.predict_one({"x": 9})
    'high'
    """

    def __init__(
        self,
        *,
        max_classes: int = 16,
        hidden: tuple[int, ...] = (32, 32),
        remember: int = 20_000,
        max_features: int = 64,
        seed: int = 0,
    ) -> None:
        self.max_classes = max_classes
        self.hidden = hidden
        self.remember = remember
        self.max_features = max_features
        self.seed = seed
        self._classes: dict[Hashable, int] = {}
        self._warned = False
        self._start()

    def _make(self) -> Network:
        widths = [self.max_features, *self.hidden, self.max_classes]
        return Network.mlp(
            widths, classes=self.max_classes, noise=_CLASS_NOISE, update=self.remember, seed=self.seed
        )

    def _number(self, y: Hashable) -> float:
        return float(self._classes[y])

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Row, y: Hashable) -> None:
        """Learns one row."""
        if y not in self._classes:
            if len(self._classes) == self.max_classes:
                if not self._warned:
                    warnings.warn(f"class `{y}` is ignored: max_classes={self.max_classes} are taken", stacklevel=2)
                    self._warned = True
                return
            self._classes[y] = len(self._classes)
        self._learn(x, y)

    def _probabilities(self, given: np.ndarray, std: np.ndarray | None) -> np.ndarray:
        """Of the classes seen so far."""
        assert self._network is not None
        p: np.ndarray = self._network.predict_proba(given, std=std)[:, : len(self._classes)] + 1e-12
        p /= p.sum(axis=1, keepdims=True)
        return p

    def predict_proba_one(self, x: Row) -> dict[Hashable, float]:
        """The probability of every class seen so far."""
        if self._network is None:
            return {}
        return dict(zip(self._classes, self._probabilities(*self._given(x))[0].tolist(), strict=True))

    def predict_one(self, x: Row) -> Hashable | None:
        """The most probable class, or None before there is any."""
        p = self.predict_proba_one(x)
        return max(p, key=p.__getitem__) if p else None

    def learn_many(self, X: Any, y: Any) -> None:
        """Learns the rows of a frame, one after the other."""
        for row, label in zip(_rows(X), y, strict=True):
            self.learn_one(row, label)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities for the rows of a frame, one column per class; for a list of rows, a list of dictionaries."""
        rows = _rows(X)
        p = np.empty((len(rows), 0))
        if self._network is not None and rows:
            p = self._probabilities(*self._given_many(rows))
        if hasattr(X, "to_dicts"):
            return sys.modules["polars"].DataFrame({str(c): p[:, i] for c, i in self._classes.items()})
        if hasattr(X, "to_dict"):
            return sys.modules["pandas"].DataFrame(p, index=X.index, columns=list(self._classes)[: p.shape[1]])
        return [dict(zip(self._classes, row, strict=False)) for row in p.tolist()]

    def predict_many(self, X: Any) -> Any:
        """The most probable classes for the rows of a frame."""
        rows = _rows(X)
        if self._network is None or not rows:
            return _series(X, [None] * len(rows))
        classes = list(self._classes)
        best = self._probabilities(*self._given_many(rows)).argmax(axis=1)
        return _series(X, [classes[i] for i in best])
