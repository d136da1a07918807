"""Minimising a function of Python's."""

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _progress
from ._tractable import Optimizer

Array = NDArray[np.float64]
Function = Callable[[Array], float]


@dataclass(frozen=True)
class Minimum:
    """What minimize() found."""

    x: Array
    """The best point."""
    fun: float
    """Its value."""
    history: tuple[Array, Array]
    """All points, [n, variables], and their values, [n]; NaN where an evaluation failed."""
    optimizer: Optimizer
    """To continue from: ask and tell, save, optimum()."""
    interrupted: bool = False
    """Whether Ctrl-C or the callback ended it early."""

    @property
    def y(self) -> float:
        """The value at the best point, as fun."""
        return self.fun

    @property
    def evaluations(self) -> int:
        return len(self.history[1])

    def __repr__(self) -> str:
        x = np.array2string(self.x, precision=6, separator=", ", threshold=8)
        early = ", interrupted" if self.interrupted else ""
        return f"<Minimum: {self.fun:.6g} at {x} after {self.evaluations} evaluations{early}>"


def minimize(
    f: Function,
    bounds: Sequence[tuple[float, float]],
    *,
    evaluations: int = 50,
    maximize: bool = False,
    noise_std: float = 0.0,
    seed: int = 0,
    workers: int | Executor = 1,
    callback: Callable[[Array, float], Any] | None = None,
    progress: "_progress.Progress | bool | None" = None,
) -> Minimum:
    """Minimises f, which takes an array of variables and returns a number, within bounds.

    A value of NaN or infinity counts as a failed evaluation. What f raises comes out, with the finished evaluations
    in its attribute `optimizer`. Ctrl-C returns what was found so far.

    evaluations: calls of f. maximize: find the largest value instead. noise_std: standard deviation of the noise in f's
    values, 0 if they are exact. workers: calls side by side in threads, or an executor of concurrent.futures. callback:
    called with every point and its value; returning True stops. progress: a function of (done, total, text), True for a
    bar, False for nothing; None shows a bar on a terminal.
    """
    if evaluations < 1:
        raise ValueError(f"evaluations: {evaluations} is not positive")
    if not isinstance(workers, Executor) and workers < 1:
        raise ValueError(f"workers: {workers} is not positive")
    if any(np.shape(pair) != (2,) for pair in bounds):
        raise ValueError("bounds: expected a pair (low, high) for every variable, as in [(-1, 1)]")
    optimizer = Optimizer([(float(low), float(high)) for low, high in bounds],
                          maximize=maximize, seed=seed, noise_std=noise_std)
    show, done = _progress.start(progress), 0

    def told(x: Array, y: float) -> bool:
        """Records a value; whether to stop."""
        nonlocal done
        optimizer.tell(x, y)
        done += 1
        if show is not None:
            best = optimizer.best
            show(done, evaluations, "minimize" if best is None else f"best {best[1]:.6g}")
        return callback is not None and callback(x, y) is True

    stopped = False
    try:
        if isinstance(workers, Executor):
            stopped = _side_by_side(f, optimizer, evaluations, workers, _size(workers), told)
        elif workers > 1:
            with ThreadPoolExecutor(workers) as pool:
                stopped = _side_by_side(f, optimizer, evaluations, pool, workers, told)
        else:
            while done < evaluations and not stopped:
                x = optimizer.ask()
                stopped = told(x, _number(f(x.copy())))
    except KeyboardInterrupt:
        if optimizer.best is None:
            raise
        stopped = True
    except Exception as e:
        e.optimizer = optimizer  # type: ignore[attr-defined]
        raise
    finally:
        if isinstance(show, _progress.Bar):
            show.close()
    best = optimizer.best
    if best is None:
        raise ValueError(f"minimize: all {done} evaluations failed (not a finite number)")
    return Minimum(best[0], best[1], optimizer.history, optimizer, stopped and done < evaluations)


def _size(pool: Executor) -> int:
    """How many calls an executor runs side by side."""
    return getattr(pool, "_max_workers", None) or os.cpu_count() or 1


def _side_by_side(
    f: Function, optimizer: Optimizer, evaluations: int, pool: Executor, workers: int, told: Callable[[Array, float], bool]
) -> bool:
    """Keeps as many points pending as there are workers; whether it was stopped."""
    running: dict[Future[float], Array] = {}
    asked, stop = 0, False
    try:
        while running or (asked < evaluations and not stop):
            while asked < evaluations and len(running) < workers and not stop:
                x = optimizer.ask()
                running[pool.submit(f, x.copy())] = x
                asked += 1
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                # Every value is told, also those that come in after a stop.
                stop = told(running.pop(future), _number(future.result())) or stop
    finally:
        for future in running:
            future.cancel()
    return stop


def _number(value: Any) -> float:
    """What f returned: a number, or an array with one number."""
    number = np.asarray(value, dtype=np.float64)
    if number.size != 1:
        raise ValueError(f"f: returned an array of shape {number.shape}; expected one number")
    found = float(number.reshape(()))
    return found if math.isfinite(found) else math.nan


def _to_bytes(optimizer: Optimizer) -> bytes:
    """The bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "optimizer.json")
        optimizer.save(path)
        return path.read_bytes()


def _from_bytes(data: bytes) -> Optimizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "optimizer.json")
        path.write_bytes(data)
        return Optimizer.load(path)
