"""Optimizer, minimize and the sampler for Optuna."""

import copy
import math
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import tractable
from tractable import Optimizer, minimize

BRANIN = [(-5.0, 10.0), (0.0, 15.0)]
LOWEST = 0.39788735772973816


def branin(v):
    x, y = v
    a = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return a * a + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def bowl(v):
    return float(((np.asarray(v) - 0.5) ** 2).sum())


# Ask and tell.


def test_several_points_can_be_pending():
    search = Optimizer(BRANIN, seed=1)
    points = [search.ask() for _ in range(5)]
    assert len({tuple(p) for p in points}) == 5
    np.testing.assert_array_equal(search.pending, points)
    for x in reversed(points):  # in any order
        search.tell(x, branin(x))
    x, y = search.history
    assert search.pending.shape == (0, 2) and x.shape == (5, 2)
    np.testing.assert_array_equal(x, points[::-1])
    np.testing.assert_array_equal(y, [branin(p) for p in points[::-1]])
    assert search.best[1] == min(y)


def test_pending_points_do_not_stop_the_search():
    search = Optimizer(BRANIN, seed=0)
    waiting = [search.ask() for _ in range(4)]
    for _ in range(80):
        search.tell(waiting[0], branin(waiting[0]))
        waiting = [*waiting[1:], search.ask()]
    assert search.best[1] - LOWEST < 0.02


def test_added_points_count_and_unknown_ones_are_refused():
    search = Optimizer([(0, 1)])
    assert search.best is None
    search.add([0.5], 2.0)
    assert search.best[1] == 2.0
    with pytest.raises(ValueError, match="not returned by ask"):
        search.tell([0.25], 1.0)
    with pytest.raises(ValueError, match="not in the box"):
        search.add([2.0], 1.0)
    x = search.ask()
    search.tell(x, math.nan)
    assert math.isnan(search.history[1][1]) and search.best[1] == 2.0
    with pytest.raises(ValueError, match="already has a value"):
        search.tell(x, 1.0)


@pytest.mark.parametrize("how", ["file", "pickle", "copy"])
def test_a_copy_continues_identically(how, tmp_path):
    search = Optimizer(BRANIN, seed=3, maximize=True)
    for _ in range(9):
        x = search.ask()
        search.tell(x, -branin(x))
    pending = search.ask()
    if how == "file":
        search.save(tmp_path / "search.json")
        twin = Optimizer.load(tmp_path / "search.json")
    else:
        twin = pickle.loads(pickle.dumps(search)) if how == "pickle" else copy.deepcopy(search)
    for one in (search, twin):
        one.tell(pending, -branin(pending))
    for _ in range(3):
        a, b = search.ask(), twin.ask()
        np.testing.assert_array_equal(a, b)
        search.tell(a, -branin(a))
        twin.tell(b, -branin(b))
    assert repr(search) == repr(twin)


def test_the_optimum_comes_with_its_uncertainty():
    found = minimize(bowl, [(-2, 2), (-2, 2)], evaluations=40)
    x, value = found.optimizer.optimum()
    np.testing.assert_allclose(np.ravel(x.mean), 0.5, atol=0.1)
    assert (np.ravel(x.std) > 0).all() and abs(np.ravel(value.mean)[0]) < 0.1


@pytest.mark.parametrize("bounds", [[], [(1, 0)], [(0, math.inf)], [(0, 0)]])
def test_wrong_bounds_are_errors(bounds):
    with pytest.raises(ValueError, match="bounds"):
        minimize(bowl, bounds)


# minimize


def test_minimize_finds_the_minimum():
    found = minimize(branin, BRANIN, seed=2)
    assert found.fun - LOWEST < 0.02
    assert found.fun == found.y == branin(found.x) == found.history[1].min()
    assert found.evaluations == len(found.history[0]) == 50 and not found.interrupted
    assert f"{found.fun:.6g}" in repr(found) and "50 evaluations" in repr(found)


def test_maximize_is_the_mirror_image():
    low = minimize(branin, BRANIN, evaluations=15)
    high = minimize(lambda x: -branin(x), BRANIN, evaluations=15, maximize=True)
    np.testing.assert_array_equal(low.history[0], high.history[0])
    assert high.fun == -low.fun


def test_seeds_decide():
    first = minimize(bowl, BRANIN, evaluations=12, seed=5).history[0]
    np.testing.assert_array_equal(first, minimize(bowl, BRANIN, evaluations=12, seed=5).history[0])
    assert (first != minimize(bowl, BRANIN, evaluations=12, seed=6).history[0]).any()


def test_noise_is_taken_into_account():
    rng = np.random.default_rng(0)
    found = minimize(lambda x: bowl(x) + 0.05 * rng.standard_normal(), [(-2, 2)], evaluations=40, noise_std=0.05)
    assert abs(np.ravel(found.optimizer.optimum()[0].mean)[0] - 0.5) < 0.25


def test_workers_run_side_by_side():
    running, most, lock = 0, 0, threading.Lock()

    def slow(x):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return branin(x)

    found = minimize(slow, BRANIN, evaluations=60, workers=3)
    assert most == 3 and found.evaluations == 60 and len(found.optimizer.pending) == 0
    assert found.fun - LOWEST < 0.05


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_can_be_given(kind):
    with kind(2) as pool:
        found = minimize(bowl, BRANIN, evaluations=20, workers=pool)
    assert found.evaluations == 20 and found.fun < 1.0


def test_failed_evaluations_are_set_aside():
    found = minimize(lambda x: math.nan if x[0] < 0 else bowl(x), [(-1, 1)], evaluations=30)
    y = found.history[1]
    assert np.isnan(y).any() and found.fun == np.nanmin(y) and found.fun < 1e-3
    with pytest.raises(ValueError, match="all 5 evaluations failed"):
        minimize(lambda x: math.inf, [(-1, 1)], evaluations=5)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_f_raises_comes_out_and_the_work_is_kept(workers):
    calls = []

    def breaks(x):
        calls.append(x)
        if len(calls) == 8:
            raise ZeroDivisionError("the eighth")
        return bowl(x)

    with pytest.raises(ZeroDivisionError, match="the eighth") as raised:
        minimize(breaks, BRANIN, evaluations=20, workers=workers)
    assert 6 <= len(raised.value.optimizer.history[1]) <= 8


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_returns_what_was_found(workers):
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return bowl(x)

    found = minimize(interrupted, BRANIN, evaluations=20, workers=workers)
    assert found.interrupted and 7 <= found.evaluations <= 9 and found.fun == min(found.history[1])
    assert "interrupted" in repr(found)


def test_the_callback_sees_every_point_and_can_stop():
    seen = []

    def callback(x, y):
        seen.append((tuple(x), y))
        return len(seen) == 4

    found = minimize(bowl, BRANIN, evaluations=20, callback=callback)
    assert found.interrupted and found.evaluations == 4
    assert seen == [(tuple(x), y) for x, y in zip(*found.history)]


def test_progress_is_reported():
    seen = []
    minimize(bowl, BRANIN, evaluations=3, progress=lambda *args: seen.append(args))
    assert [(done, of) for done, of, _ in seen] == [(1, 3), (2, 3), (3, 3)] and "best" in seen[-1][2]


def test_wrong_arguments_are_errors():
    with pytest.raises(ValueError, match="evaluations"):
        minimize(bowl, BRANIN, evaluations=0)
    with pytest.raises(ValueError, match="workers"):
        minimize(bowl, BRANIN, workers=0)
    with pytest.raises(ValueError, match="one number"):
        minimize(lambda x: x, BRANIN)
    assert tractable.minimize is minimize


# Optuna


@pytest.fixture
def optuna():
    optuna = pytest.importorskip("optuna", reason="optuna is not installed")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    yield optuna
    optuna.logging.set_verbosity(before)


@pytest.fixture
def sampler(optuna):
    from tractable.optuna import TractableSampler

    return TractableSampler


def plane(trial):
    return branin([trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)])


def points(study):
    return [(t.params["x"], t.params["y"]) for t in study.trials]


def test_the_sampler_beats_random_search(optuna, sampler):
    study = optuna.create_study(sampler=sampler(seed=1))
    study.optimize(plane, n_trials=50)
    assert study.best_value - LOWEST < 0.02  # random search: about 0.9


def test_the_sampler_maximises(optuna, sampler):
    low = optuna.create_study(sampler=sampler(seed=1))
    low.optimize(plane, n_trials=15)
    high = optuna.create_study(sampler=sampler(seed=1), direction="maximize")
    high.optimize(lambda t: -plane(t), n_trials=15)
    assert points(low)[1:] == points(high)[1:] and low.best_value == -high.best_value


def test_the_samplers_seed_decides(optuna, sampler):
    def run(seed):
        study = optuna.create_study(sampler=sampler(seed=seed))
        study.optimize(plane, n_trials=10)
        return points(study)

    assert run(4) == run(4) != run(5)
    assert run(None) != run(None)


def test_all_kinds_of_numbers_are_searched(optuna, sampler):
    def objective(trial):
        rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
        width = trial.suggest_int("width", 1, 20)
        size = trial.suggest_int("size", 8, 1024, log=True)
        grid = trial.suggest_float("grid", 0.0, 1.0, step=0.25)
        even = trial.suggest_int("even", 0, 10, step=2)
        assert trial.suggest_float("fixed", 3.0, 3.0) == 3.0
        return (math.log10(rate) + 3) ** 2 + ((width - 7) / 5) ** 2 + math.log2(size / 64) ** 2 + grid + abs(even - 4)

    study = optuna.create_study(sampler=sampler(seed=0))
    study.optimize(objective, n_trials=60)
    for trial in study.trials:
        p = trial.params
        assert 1e-5 <= p["rate"] <= 1e-1 and type(p["width"]) is int and 1 <= p["width"] <= 20
        assert p["grid"] in (0.0, 0.25, 0.5, 0.75, 1.0) and p["even"] in range(0, 11, 2) and 8 <= p["size"] <= 1024
    assert study.best_value < 1.5
    rates = [math.log10(t.params["rate"]) for t in study.trials]
    assert min(rates) < -4 and max(rates) > -2  # spread over the logarithm


def test_every_category_has_its_own_search(optuna, sampler):
    def objective(trial):
        centre = {"a": 3.0, "b": -3.0}[trial.suggest_categorical("kind", ["a", "b"])]
        x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
        return (x - centre) ** 2 + (y + centre) ** 2 + (1.0 if centre > 0 else 0.0)

    study = optuna.create_study(sampler=sampler(seed=0, independent_sampler=optuna.samplers.RandomSampler(seed=0)))
    study.optimize(objective, n_trials=50)
    assert study.best_params["kind"] == "b" and study.best_value < 0.3  # random search: about 1.3
    assert {t.params["kind"] for t in study.trials} == {"a", "b"}


def test_categories_alone_come_from_the_other_sampler(optuna, sampler):
    study = optuna.create_study(sampler=sampler(seed=0, independent_sampler=optuna.samplers.RandomSampler(seed=0)))
    study.optimize(lambda t: float(t.suggest_categorical("kind", [3, 1, 2])), n_trials=20)
    assert study.best_value == 1.0


def test_running_trials_are_pending_points(optuna, sampler):
    own = sampler(seed=0)
    study = optuna.create_study(sampler=own)
    study.optimize(plane, n_trials=1)
    trials = [study.ask() for _ in range(4)]
    asked = {(t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)) for t in trials}
    (search,) = own._optimizers.values()
    assert len(asked) == 4 and len(search.pending) == 4
    for trial in trials:
        study.tell(trial, plane(trial))
    assert len(search.pending) == 0 and len(search.history[1]) == 5


def test_threads_share_the_sampler(optuna, sampler):
    study = optuna.create_study(sampler=sampler(seed=0))
    study.optimize(plane, n_trials=60, n_jobs=2)
    assert len(set(points(study))) == 60 and study.best_value - LOWEST < 0.2


def test_enqueued_trials_are_run_as_given_and_learned(optuna, sampler):
    own = sampler(seed=0)
    study = optuna.create_study(sampler=own)
    study.optimize(plane, n_trials=2)
    study.enqueue_trial({"x": math.pi, "y": 2.275})  # a minimum
    study.enqueue_trial({"x": 1.0})  # the rest is sampled
    study.optimize(plane, n_trials=30)
    assert points(study)[2] == (math.pi, 2.275) and points(study)[3][0] == 1.0
    (search,) = own._optimizers.values()
    assert len(search.history[1]) == 32 and len(search.pending) == 0
    assert study.best_value - LOWEST < 1e-3
    near = [p for p in points(study)[14:] if math.dist(p, (math.pi, 2.275)) < 3]
    assert len(near) > 9  # the search goes where the given point was good


@pytest.mark.parametrize("kind", ["failed", "pruned", "nan"])
def test_failed_and_pruned_trials_are_set_aside(optuna, sampler, kind):
    def objective(trial):
        value = plane(trial)
        if trial.number % 5 == 3:
            if kind == "pruned":
                raise optuna.TrialPruned
            if kind == "failed":
                raise ZeroDivisionError
            return math.nan
        return value

    own = sampler(seed=0)
    study = optuna.create_study(sampler=own)
    study.optimize(objective, n_trials=40, catch=(ZeroDivisionError,))
    (search,) = own._optimizers.values()
    assert np.isnan(search.history[1]).sum() == 8 and len(search.pending) == 0
    assert study.best_value - LOWEST < 0.5


def test_a_new_sampler_learns_from_past_trials(optuna, sampler):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(plane, n_trials=25)
    before, study.sampler = study.best_value, sampler(seed=0)
    study.optimize(plane, n_trials=30)
    (search,) = study.sampler._optimizers.values()
    assert len(search.history[1]) == 55
    assert study.best_value - LOWEST < 0.05 < before - LOWEST


def test_a_pickled_sampler_continues_identically(optuna, sampler):
    own = sampler(seed=0)
    study = optuna.create_study(sampler=own)
    study.optimize(plane, n_trials=12)
    twin = optuna.create_study(sampler=pickle.loads(pickle.dumps(own)))
    twin.add_trials(study.trials)
    study.optimize(plane, n_trials=5)
    twin.optimize(plane, n_trials=5)
    assert points(study) == points(twin)


def test_a_space_that_changes_starts_anew_with_the_past(optuna, sampler):
    def objective(trial):
        x = trial.suggest_float("x", -2, 2)
        return x * x + (trial.suggest_float("z", 0, 1) if trial.number % 2 else 0.0)

    study = optuna.create_study(sampler=sampler(seed=0))
    study.optimize(objective, n_trials=30)
    assert study.best_value < 0.05


def test_several_objectives_are_an_error(optuna, sampler):
    study = optuna.create_study(sampler=sampler(), directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="one objective"):
        study.optimize(lambda t: (t.suggest_float("x", 0, 1), 1.0), n_trials=2)
