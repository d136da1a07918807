"""A Bayesian last layer for other people's networks: features in, calibrated class probabilities out."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._convert import to_numbers
from ._tractable import Ensemble, Network

Array = NDArray[np.float64]


class Head:
    """Classes from the features of a frozen backbone (torch, ONNX, anything that gives an array), in one pass over the rows.

    Features are whitened first, so that weights are independent, as networks take them to be. Several networks are averaged; each
    holds out another share of the rows and is calibrated on it. partial_fit() goes on with more rows.

    hidden: widths of hidden layers, () for none. passes: how often the rows are seen; more of them fit more closely.
    """

    def __init__(
        self,
        *,
        networks: int = 5,
        hidden: tuple[int, ...] = (256,),
        passes: int = 1,
        batch: int = 16,
        noise_std: float = 0.3,
        gain: float = 0.25,
        held_out: float = 0.1,
        seed: int = 0,
    ) -> None:
        if networks < 1:
            raise ValueError(f"networks: {networks} is not at least 1")
        if not 0 < held_out <= 1 / max(networks, 2):
            raise ValueError(f"held_out: {held_out} is not between 0 and {1 / max(networks, 2):.3g}, for {networks} networks")
        self.networks = networks
        self.hidden = hidden
        self.passes = passes
        self.batch = batch
        self.noise_std = noise_std
        self.gain = gain
        self.held_out = held_out
        self.seed = seed
        self.classes_: NDArray[Any] = np.array([])
        self.models_: list[Ensemble] = []
        self._mean: Array = np.zeros(0)
        self._whiten: Array = np.zeros((0, 0))

    def fit(self, features: Any, labels: ArrayLike) -> "Head":
        """Learns the classes from features, [rows, width], and their labels of any type."""
        x = _rows(features)
        self.classes_, y = np.unique(np.asarray(labels), return_inverse=True)
        if len(y) != len(x):
            raise ValueError(f"labels: expected {len(x)}, one per row, got {len(y)}")
        if len(self.classes_) < 2:
            raise ValueError("labels: at least two classes are needed")
        order = np.random.default_rng(self.seed).permutation(len(x))
        size = max(1, round(self.held_out * len(x)))
        if len(x) < size * self.networks + 1:
            raise ValueError(f"features: {len(x)} rows are too few for {self.networks} networks")
        self._mean, self._whiten = _whitening(x)
        x = (x - self._mean) @ self._whiten
        self.models_ = [
            self._network(x, y, np.delete(order, range(i * size, (i + 1) * size)), order[i * size : (i + 1) * size], i)
            for i in range(self.networks)
        ]
        return self

    def _network(self, x: Array, y: NDArray[Any], rest: NDArray[Any], held: NDArray[Any], number: int) -> Ensemble:
        seed = 1000 * self.seed + number
        widths = [x.shape[1], *self.hidden, len(self.classes_)]
        net = Network.mlp(widths, classes=len(self.classes_), noise=self.noise_std, gain=self.gain, seed=seed)
        net.fit(x[rest], y[rest], epochs=self.passes, batch=self.batch, standardize=False, progress=False)
        return Ensemble.calibrated(net, x[rest], y[rest], x[held], y[held])

    def partial_fit(self, features: Any, labels: ArrayLike) -> "Head":
        """Learns more rows of the same classes; the calibration stays."""
        x = self._whitened(features)
        place = {label: i for i, label in enumerate(self.classes_.tolist())}
        unknown = set(np.asarray(labels).tolist()) - set(place)
        if unknown:
            raise ValueError(f"labels: {sorted(map(str, unknown))} were not there in fit")
        y = [place[label] for label in np.asarray(labels).tolist()]
        for model in self.models_:
            model.learn(x, y)
        return self

    def predict_proba(self, features: Any) -> Array:
        """The probability of every class, [rows, classes], in the order of classes_."""
        x = self._whitened(features)
        average: Array = np.mean([model.predict_proba(x) for model in self.models_], axis=0)
        return average

    def predict(self, features: Any) -> NDArray[Any]:
        """The likeliest class of every row."""
        best: NDArray[Any] = self.classes_[self.predict_proba(features).argmax(axis=1)]
        return best

    def score(self, features: Any, labels: ArrayLike) -> float:
        """The share of rows whose class is right."""
        return float(np.mean(self.predict(features) == np.asarray(labels)))

    def _whitened(self, features: Any) -> Array:
        if not self.models_:
            raise ValueError("head: call fit first")
        x = _rows(features)
        if x.shape[1] != len(self._mean):
            raise ValueError(f"features: expected rows of {len(self._mean)}, got {x.shape[1]}")
        return (x - self._mean) @ self._whiten

    def __repr__(self) -> str:
        return f"<Head of {len(self.classes_)} classes>" if self.models_ else "<Head, not fitted>"


def _rows(features: Any) -> Array:
    x = to_numbers(features, "features")
    if x.ndim < 2:
        raise ValueError(f"features: expected [rows, width], got an array of shape {x.shape}")
    return x.reshape(len(x), -1)


def _whitening(x: Array) -> tuple[Array, Array]:
    """The mean of the features, and a matrix that makes them uncorrelated with variance 1."""
    mean = x.mean(axis=0)
    var, axes = np.linalg.eigh(np.atleast_2d(np.cov(x, rowvar=False)))
    used = var > 1e-6 * var[-1]
    if not used.any():
        raise ValueError("features: they are the same in every row")
    return mean, axes[:, used] / np.sqrt(var[used])
