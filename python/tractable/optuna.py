"""A sampler for Optuna."""

import math
import secrets
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from . import Optimizer

__all__ = ["TractableSampler"]

Space = dict[str, BaseDistribution]
Key = tuple[float, ...]
Numeric = FloatDistribution | IntDistribution


class TractableSampler(optuna.samplers.BaseSampler):
    """Searches floats and integers with Optimizer.

    Categories are picked by another sampler, and every combination of them has an Optimizer of its own. The first trial
    and parameters that only some trials have are sampled independently. Trials that are still running are pending
    points: new ones keep away from them. Failed and pruned trials count as failed evaluations. A pickled sampler
    continues where it was; a new sampler learns from the study's past trials.

    seed: None draws one. noise_std: standard deviation of the noise in the values, 0 if they are exact.
    independent_sampler: for categories and all that is sampled independently; unless given, Optuna's TPE.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        noise_std: float = 0.0,
        independent_sampler: optuna.samplers.BaseSampler | None = None,
    ) -> None:
        self._seed = secrets.randbits(32) if seed is None else seed
        self._noise_std = noise_std
        self._independent = independent_sampler or optuna.samplers.TPESampler(seed=seed)
        self._intersection = optuna.search_space.IntersectionSearchSpace()
        self._space: Space = {}
        self._optimizers: dict[Key, Optimizer] = {}
        """By the categories."""
        self._asked: dict[int, tuple[Key, Any]] = {}
        """Points of running trials, by the trial's number."""
        self._known: set[int] = set()
        """Numbers of the trials whose values the optimizers have."""
        self._lock = threading.Lock()

    def reseed_rng(self) -> None:
        # Threads share the optimizers, which never ask twice for the same point.
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> Space:
        return {name: d for name, d in self._intersection.calculate(study).items() if not d.single()}

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: Space) -> dict[str, Any]:
        if len(study.directions) > 1:
            raise ValueError("TractableSampler: expected one objective, got several")
        if "fixed_params" in trial.system_attrs:  # enqueued: the point is given
            return {}
        numeric, categories = _numeric(search_space), _categories(search_space)
        if not numeric:
            return {}
        choices = {name: self.sample_independent(study, trial, name, d) for name, d in categories.items()}
        with self._lock:
            self._learn_past(study, search_space)
            key = _key(categories, choices)
            x = self._optimizer(study, key).ask()
            self._asked[trial.number] = (key, x)
            return choices | {name: _value(d, float(v)) for (name, d), v in zip(numeric.items(), x)}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        with self._lock:
            if trial.number in self._asked:
                key, x = self._asked.pop(trial.number)
                self._optimizers[key].tell(x, values[0] if state == TrialState.COMPLETE and values else math.nan)
                self._known.add(trial.number)
        self._independent.after_trial(study, trial, state, values)

    def _optimizer(self, study: optuna.Study, key: Key) -> Optimizer:
        """The one for these categories."""
        if key not in self._optimizers:
            maximize = study.direction == optuna.study.StudyDirection.MAXIMIZE
            bounds = [_bounds(d) for d in _numeric(self._space).values()]
            self._optimizers[key] = Optimizer(bounds, maximize=maximize, seed=self._seed, noise_std=self._noise_std)
        return self._optimizers[key]

    def _learn_past(self, study: optuna.Study, space: Space) -> None:
        """Adds the trials of other samplers, and all trials if the space is another one."""
        if space != self._space:
            self._space = dict(space)
            for seen in (self._optimizers, self._asked, self._known):
                seen.clear()
        numeric, categories = _numeric(space), _categories(space)
        for past in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            if past.number in self._known or past.number in self._asked:
                continue
            self._known.add(past.number)
            if past.value is not None and all(n in past.params and _has(d, past.params[n]) for n, d in space.items()):
                x = np.array([_number(d, past.params[name]) for name, d in numeric.items()])
                self._optimizer(study, _key(categories, past.params)).add(x, past.value)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        for name, value in kept.items():
            setattr(self, name, value)
        self._lock = threading.Lock()


def _numeric(space: Space) -> dict[str, Numeric]:
    return {name: d for name, d in space.items() if isinstance(d, (FloatDistribution, IntDistribution))}


def _categories(space: Space) -> dict[str, CategoricalDistribution]:
    return {name: d for name, d in space.items() if isinstance(d, CategoricalDistribution)}


def _key(categories: dict[str, CategoricalDistribution], params: dict[str, Any]) -> Key:
    return tuple(d.to_internal_repr(params[name]) for name, d in categories.items())


def _has(d: BaseDistribution, value: Any) -> bool:
    """Whether a value is one of the distribution's; an enqueued one may not be."""
    if isinstance(d, (FloatDistribution, IntDistribution)):
        return bool(d.low <= value <= d.high)
    return not isinstance(d, CategoricalDistribution) or value in d.choices


def _bounds(d: Numeric) -> tuple[float, float]:
    """As the optimizer sees them: every value of a grid has the same share."""
    half = (d.step or 0.0) / 2
    low, high = d.low - half, d.high + half
    return (math.log(low), math.log(high)) if d.log else (low, high)


def _number(d: Numeric, value: Any) -> float:
    return math.log(value) if d.log else float(value)


def _value(d: Numeric, x: float) -> Any:
    """The nearest value that the distribution has."""
    x = math.exp(x) if d.log else x
    if d.step:
        x = d.low + d.step * round((x - d.low) / d.step)
    x = min(max(x, d.low), d.high)
    return int(x) if isinstance(d, IntDistribution) else x
