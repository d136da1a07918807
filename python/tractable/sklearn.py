"""The calibrated model as scikit-learn estimators.

Arrays go in as everywhere in scikit-learn; NaN is a missing cell. Frames may also have texts, categories, dates and
booleans.
"""

import numbers
import sys
from typing import Any, TypeVar

import numpy as np

try:
    from joblib import effective_n_jobs
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_array, check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ImportError("this needs scikit-learn 1.6 or later: pip install 'tractable[sklearn]'") from error

from ._convert import Labels, Named, _missing, is_frame
from ._progress import Progress
from ._tractable import Ensemble, Posterior, Prediction

__all__ = ["TractableClassifier", "TractableRegressor"]

# What an Ensemble needs at least.
_LEAST_ROWS = 5
# partial_fit keeps rows, and fits again each time they have doubled, up to this many. Later rows are only learned.
_KEPT_ROWS = 1000

Self = TypeVar("Self", bound="_Tractable")


def _is_table(x: Any) -> bool:
    """Whether it is a frame with columns that are not numbers."""
    kinds = x.dtypes if is_frame(x) and hasattr(x, "dtypes") else []
    return not all(str(kind).lower().startswith(("int", "uint", "float")) for kind in kinds)


def _stack(parts: list[Any]) -> Any:
    """Arrays, or frames, one below the other."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    package = type(parts[0]).__module__.partition(".")[0]  # pandas or polars
    return sys.modules[package].concat(parts)


class _Tractable(BaseEstimator):  # type: ignore[misc]
    """What both estimators share."""

    def __init__(
        self,
        *,
        single: bool = False,
        visits: int = 50_000,
        n_jobs: int | None = None,
        progress: "Progress | bool | None" = False,
        random_state: "int | np.random.RandomState | None" = 0,
    ) -> None:
        self.single = single
        self.visits = visits
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _read(self, x: Any, *, first: bool = False, least: int = 1) -> Any:
        """Checked inputs: an array of numbers, or a frame that has more than numbers as it is."""
        if first:
            self._table = _is_table(x)
        if not self._table:
            return validate_data(
                self, x, reset=first, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=least
            )
        if not is_frame(x):
            raise ValueError("input: this model was fitted to a frame that has more than numbers; give such a frame")
        validate_data(self, x, reset=first, skip_check_array=True)
        if x.shape[0] < least:
            raise ValueError(f"rows: {x.shape[0]} are too few; at least {least} are needed")
        return x

    def _read_both(self, x: Any, y: Any, *, first: bool, least: int = 1) -> tuple[Any, np.ndarray]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        x = self._read(x, first=first, least=least)
        y = self._read_target(y, first)
        if len(y) != x.shape[0]:
            raise ValueError(f"y: expected {x.shape[0]} rows, as many as of the inputs, got {len(y)}")
        return x, y

    def _read_target(self, y: Any, first: bool) -> np.ndarray:
        raise NotImplementedError

    def _with_names(self, y: np.ndarray) -> "Named | Labels":
        """The target as Ensemble.fit takes it."""
        raise NotImplementedError

    def _as_fitted(self, y: np.ndarray) -> Any:
        """The target as the model's learn and condition take it."""
        return y

    def _fit(
        self, x: Any, y: np.ndarray, weights: "np.ndarray | None" = None, groups: Any = None, time: Any = None
    ) -> None:
        seed: Any = self.random_state
        if not isinstance(seed, numbers.Integral):
            seed = check_random_state(seed).randint(2**31 - 1)
        if seed < 0:
            raise ValueError(f"random_state: {seed} is negative")
        if self.visits < 1:
            raise ValueError("ensemble: visits must be at least 1")
        names: Any = getattr(self, "feature_names_in_", None)
        if isinstance(x, np.ndarray) and names is not None:
            x = Named(x, list(names))
        jobs: Any = self.n_jobs
        self.model_ = Ensemble.fit(
            x,
            self._with_names(y),
            classes=isinstance(self, ClassifierMixin),
            groups=groups,
            time=time,
            seed=int(seed),
            single=self.single,
            visits=self.visits,
            threads=effective_n_jobs(jobs),
            sample_weight=weights,
            class_weight=self._class_weight(),
            progress=self.progress,
        )

    def _class_weight(self) -> "dict[Any, float] | str | None":
        return None

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, time: Any = None) -> Self:
        """Fits to a table of at least 5 rows; what it learned before is forgotten.

        Parameters
        ----------
        X : array or frame
        y : array
        sample_weight : array, optional
            The noise variance of a row is divided by its weight.
        groups : array, optional
            Rows with the same entry belong together, and are left out together.
        time : array, optional
            When rows were observed: those that are left out are later than those learned. One of the two.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from tractable.sklearn import TractableRegressor
        >>> x = np.linspace(-1, 1, 40).reshape(-1, 1)
        >>> model = TractableRegressor(single=True, visits=2000).fit(x, 3 * x[:, 0], groups=np.arange(40) // 4)
        """
        x, y = self._read_both(X, y, first=True, least=_LEAST_ROWS)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float64)
        self._fit(x, y, weights, groups, time)
        self._kept: list[tuple[Any, np.ndarray]] = []
        return self

    def _learn(self, x: Any, y: np.ndarray, first: bool) -> None:
        """Learns rows. While there are few, fits to all of them again each time they have doubled."""
        if first:
            self._kept, self._fitted_rows = [], 0
            self.__dict__.pop("model_", None)
        elif not self._kept and hasattr(self, "model_"):
            self.model_.learn(x, self._as_fitted(y))
            return
        kept = [*self._kept, (x, y)]
        rows = sum(len(y) for _, y in kept)
        if rows >= max(_LEAST_ROWS, min(2 * self._fitted_rows, _KEPT_ROWS)):
            self._fit(_stack([x for x, _ in kept]), _stack([y for _, y in kept]))
            self._fitted_rows = rows
        elif self._fitted_rows:
            self.model_.learn(x, self._as_fitted(y))
        # Only now: what was interrupted may be tried again.
        self._kept = kept if rows < _KEPT_ROWS else []

    def condition(self, X: Any, want: Any, **settings: Any) -> Posterior:
        """Which input gives the output I want? X is where to look, std how far: see Ensemble.condition."""
        check_is_fitted(self, "model_")
        return self.model_.condition(self._read(X), want, **settings)


class TractableRegressor(RegressorMixin, _Tractable):  # type: ignore[misc]
    """Regression with calibrated intervals, by an ensemble of Bayesian networks. One or several outputs.

    Parameters
    ----------
    single : bool, default=False
        One network, the most likely on a fifth of the rows, in a fifth of the time.
    visits : int, default=50_000
        Rows that each network learns from, over all epochs.
    n_jobs : int or None, default=None
        Networks trained in parallel. None is 1 unless joblib says otherwise, -1 is all cores. The result is the same.
    progress : bool, callable or None, default=False
        True shows a bar, None shows it only on a terminal; or a function of (done, of, what).
    random_state : int, RandomState or None, default=0
        The same number gives the same bits. None takes one from NumPy's global generator.

    Attributes
    ----------
    model_ : tractable.Ensemble
        The fitted model. It has scores of rows that were left out, and save().
    n_features_in_ : int
    feature_names_in_ : array of str, only where X has names

    Examples
    --------
    >>> import numpy as np
    >>> from tractable.sklearn import TractableRegressor
    >>> x = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> model = TractableRegressor(single=True, visits=2000).fit(x, 3 * x[:, 0])
    >>> mean, std = model.predict(x, return_std=True)
    >>> lower, upper = model.predict_interval(x, level=0.9)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _read_target(self, y: Any, first: bool) -> np.ndarray:
        array: np.ndarray = check_array(y, ensure_2d=False, dtype="float64", input_name="y")
        if array.ndim > 2 or array.ndim == 0:
            raise ValueError(f"y: expected 1 or 2 dimensions, got {array.ndim}")
        if first:
            self._target_shape = array.shape[1:]
            width = int(np.prod(self._target_shape))
            names: list[Any] = list(y.columns) if is_frame(y) else [getattr(y, "name", None)]
            if len(names) != width or not all(isinstance(name, str) and name for name in names):
                names = ["y"] if width == 1 else [f"y{i}" for i in range(width)]
            self._target_names = names
        elif array.shape[1:] != self._target_shape:
            raise ValueError(f"y: expected rows of shape {self._target_shape}, got {array.shape[1:]}")
        return array

    def _with_names(self, y: np.ndarray) -> Named:
        return Named(y, self._target_names)

    def partial_fit(self: "TractableRegressor", X: Any, y: Any) -> "TractableRegressor":
        """Learns more rows without forgetting. The first 1000 are kept, to fit again each time they have doubled."""
        first = not hasattr(self, "_kept")
        self._learn(*self._read_both(X, y, first=first), first)
        return self

    def _predict(self, x: Any) -> Prediction:
        check_is_fitted(self, "model_")
        return self.model_.predict(self._read(x))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """With the dimensions of y."""
        return values.reshape(-1, *self._target_shape)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean; with return_std also the standard deviation of a new observation, noise included."""
        prediction = self._predict(X)
        mean = self._shaped(prediction.mean)
        return (mean, self._shaped(prediction.std)) if return_std else mean

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds that contain this share of new observations."""
        lower, upper = self._predict(X).interval(level)
        return self._shaped(lower), self._shaped(upper)


class TractableClassifier(ClassifierMixin, _Tractable):  # type: ignore[misc]
    """Classification with calibrated probabilities, by an ensemble of Bayesian networks.

    Parameters
    ----------
    single : bool, default=False
        One network, the most likely on a fifth of the rows, in a fifth of the time.
    visits : int, default=50_000
        Rows that each network learns from, over all epochs.
    n_jobs : int or None, default=None
        Networks trained in parallel. None is 1 unless joblib says otherwise, -1 is all cores. The result is the same.
    progress : bool, callable or None, default=False
        True shows a bar, None shows it only on a terminal; or a function of (done, of, what).
    random_state : int, RandomState or None, default=0
        The same number gives the same bits. None takes one from NumPy's global generator.
    class_weight : dict, "balanced" or None, default=None
        How many times as frequent each class is where the model will be used as among the rows. Probabilities are shifted by Bayes' rule.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    model_ : tractable.Ensemble
        The fitted model. It has scores of rows that were left out, and save().
    n_features_in_ : int
    feature_names_in_ : array of str, only where X has names

    Examples
    --------
    >>> import numpy as np
    >>> from tractable.sklearn import TractableClassifier
    >>> x = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> y = np.where(x[:, 0] > 0, "high", "low")
    >>> TractableClassifier(single=True, visits=2000).fit(x, y).predict([[0.9]])
    array(['high'], dtype='<U4')
    """

    def __init__(
        self,
        *,
        single: bool = False,
        visits: int = 50_000,
        n_jobs: int | None = None,
        progress: "Progress | bool | None" = False,
        random_state: "int | np.random.RandomState | None" = 0,
        class_weight: "dict[Any, float] | str | None" = None,
    ) -> None:
        super().__init__(
            single=single, visits=visits, n_jobs=n_jobs, progress=progress, random_state=random_state
        )
        self.class_weight = class_weight

    def _read_target(self, y: Any, first: bool) -> np.ndarray:
        """Numbers of the classes."""
        array = column_or_1d(y, warn=True)
        if array.dtype.kind == "O" and any(_missing(v) for v in array):
            raise ValueError("y: a class is missing")
        check_classification_targets(array)
        if first:
            self.classes_ = np.unique(array) if self._announced is None else np.unique(self._announced)
            name = getattr(y, "name", None)
            self._target_name = name if isinstance(name, str) and name else "y"
        codes: np.ndarray = np.searchsorted(self.classes_, array)
        known = self.classes_[np.minimum(codes, len(self.classes_) - 1)] == array
        if not known.all():
            raise ValueError(f"y: `{array[~known][0]}` is not among the {len(self.classes_)} classes")
        return codes

    def _with_names(self, y: np.ndarray) -> Labels:
        return Labels(y, [str(c) for c in self.classes_], self._target_name)

    def _as_fitted(self, y: np.ndarray) -> Any:
        return [self.model_.class_names[i] for i in y]

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, time: Any = None
    ) -> "TractableClassifier":
        """Fits to a table of at least 5 rows; what it learned before is forgotten.

        Parameters
        ----------
        X : array or frame
        y : array
        sample_weight : array, optional
            A row counts as often as its weight says.
        groups : array, optional
            Rows with the same entry belong together, and are left out together.
        time : array, optional
            When rows were observed: those that are left out are later than those learned. One of the two.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from tractable.sklearn import TractableClassifier
        >>> x = np.linspace(-1, 1, 40).reshape(-1, 1)
        >>> model = TractableClassifier(single=True, visits=2000).fit(x, x[:, 0] > 0, sample_weight=np.ones(40))
        """
        self._announced = None
        return super().fit(X, y, sample_weight, groups, time)

    def _class_weight(self) -> "dict[Any, float] | str | None":
        if not isinstance(self.class_weight, dict):
            return self.class_weight
        return {str(name): weight for name, weight in self.class_weight.items()}

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "TractableClassifier":
        """Learns more rows without forgetting. The first 1000 are kept, to fit again each time they have doubled.

        classes: all classes there will be, in the first call; without them, those of the first call are all.
        """
        first = not hasattr(self, "_kept")
        if first:
            if classes is None and len(np.unique(y)) < 2:
                raise ValueError("classes: give all of them in the first call of partial_fit")
            self._announced = classes
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError("classes: not the same as in the first call of partial_fit")
        self._learn(*self._read_both(X, y, first=first), first)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class, in the order of classes_."""
        check_is_fitted(self, "model_")
        return self.model_.predict_proba(self._read(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        classes: np.ndarray = self.classes_[best]
        return classes

    def predict_by_threshold(self, X: Any) -> np.ndarray:
        """The rarer of two classes wherever its probability reaches the threshold with the best F1 on left-out rows, otherwise the other.

        A rare class is seldom the most probable one, so `predict` may never give it. The threshold is `model_.threshold`, what it finds is in
        `model_.scores`.

        Parameters
        ----------
        X : array or frame
            Rows of inputs.

        Returns
        -------
        array
            One class per row.

        Examples
        --------
        >>> import numpy as np
        >>> from tractable.sklearn import TractableClassifier
        >>> x = np.linspace(-1, 1, 60).reshape(-1, 1)
        >>> model = TractableClassifier(single=True, visits=2000).fit(x, np.where(x[:, 0] > 0.8, "rare", "usual"))
        >>> model.predict_by_threshold([[0.95], [-0.5]])
        array(['rare', 'usual'], dtype='<U5')
        """
        check_is_fitted(self, "model_")
        threshold = self.model_.threshold
        if threshold is None:
            raise ValueError("predict_by_threshold: there is no threshold; it takes two classes, both among the left-out rows")
        rarer, least = threshold
        found = self.predict_proba(X)[:, rarer] >= least
        classes: np.ndarray = self.classes_[np.where(found, rarer, 1 - rarer)]
        return classes

    def condition(self, X: Any, want: Any, **settings: Any) -> Posterior:
        """Which input gives the class I want? X is where to look, std how far: see Ensemble.condition."""
        check_is_fitted(self, "model_")
        wanted = self._read_target(np.atleast_1d(want), first=False)
        return super().condition(X, self._as_fitted(wanted), **settings)
