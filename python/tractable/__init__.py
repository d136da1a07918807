"""Bayesian neural networks with closed-form inference.

A network answers three questions: what comes out (predict), what do the data say about the weights (learn), and which input
gives the output I want (condition). Ensemble is the calibrated model for tables; Network is a single network.
"""

import copyreg
import importlib
from typing import TYPE_CHECKING, Any

from ._tractable import (
    Derivative,
    Drift,
    Ensemble,
    Gaussian,
    Layer,
    LearnInfo,
    Mark,
    Mode,
    Network,
    Optimizer,
    Posterior,
    Prediction,
    Sums,
    Surprise,
    Task,
    __version__,
)

if TYPE_CHECKING:
    from ._agent import Agent
    from ._attack import attack
    from ._bench import bench
    from ._head import Head
    from ._minimize import minimize
    from ._online import OnlineClassifier, OnlineRegressor
    from ._plot import plot_band, plot_calibration, plot_condition
    from .sklearn import TractableClassifier, TractableRegressor

__all__ = [
    "Agent",
    "Derivative",
    "Drift",
    "Ensemble",
    "Gaussian",
    "Head",
    "Layer",
    "LearnInfo",
    "Mark",
    "Mode",
    "Network",
    "OnlineClassifier",
    "OnlineRegressor",
    "Optimizer",
    "Posterior",
    "Prediction",
    "Sums",
    "Surprise",
    "Task",
    "TractableClassifier",
    "TractableRegressor",
    "__version__",
    "attack",
    "bench",
    "minimize",
    "plot_band",
    "plot_calibration",
    "plot_condition",
]

# Loaded at first use: some need packages that not everyone has, and importing stays fast.
_LATER = {
    "Agent": "_agent",
    "Head": "_head",
    "OnlineClassifier": "_online",
    "OnlineRegressor": "_online",
    "TractableClassifier": "sklearn",
    "TractableRegressor": "sklearn",
    "attack": "_attack",
    "bench": "_bench",
    "minimize": "_minimize",
    "plot_band": "_plot",
    "plot_calibration": "_plot",
    "plot_condition": "_plot",
}


def _pickled(optimizer: Optimizer) -> tuple[Any, tuple[bytes]]:
    from ._minimize import _from_bytes, _to_bytes

    return _from_bytes, (_to_bytes(optimizer),)


copyreg.pickle(Optimizer, _pickled)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tractable' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tractable.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
