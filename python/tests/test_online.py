"""OnlineRegressor and OnlineClassifier: one row at a time."""

import copy
import doctest
import importlib
import math
import pickle
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from tractable import OnlineClassifier, OnlineRegressor


def stream(rows, seed=0):
    """Two numbers of very different size and a colour; the target depends on all of them."""
    random = np.random.default_rng(seed)
    for _ in range(rows):
        small, large = random.normal(0.002, 0.001), random.normal(5e4, 1e4)
        colour = str(random.choice(["red", "green", "blue"]))
        y = 100 + 8000 * small + 0.001 * large + (10 if colour == "red" else 0) + random.normal(0, 1)
        yield {"small": float(small), "large": float(large), "colour": colour}, float(y)


def learned(rows=800, **settings):
    model = OnlineRegressor(**settings)
    for x, y in stream(rows):
        model.learn_one(x, y)
    return model


@pytest.fixture(scope="module")
def regressor():
    return learned()


@pytest.fixture(scope="module")
def classifier():
    model = OnlineClassifier()
    for x, y in stream(800):
        model.learn_one(x, _size(y))
    return model


def _size(y):
    return ("small",) if y < 163 else ("medium",) if y < 175 else 7


def rmse(model, rows=300, drop=()):
    errors = [model.predict_one({k: v for k, v in x.items() if k not in drop}) - y for x, y in stream(rows, seed=1)]
    return math.sqrt(np.mean(np.square(errors)))


def test_learns_numbers_and_texts(regressor):
    std = np.std([y for _, y in stream(300, seed=1)])
    assert std > 12
    assert rmse(regressor) < 2.0  # the noise is 1
    assert sorted(regressor.input_names) == ["colour=blue", "colour=green", "colour=red", "large", "small"]


def test_distribution_covers_new_rows(regressor):
    inside = []
    for x, y in stream(500, seed=2):
        dist = regressor.predict_one(x, with_dist=True)
        lower, upper = dist.interval(0.9)
        assert dist.mu == regressor.predict_one(x) and dist.sigma > 0
        assert dist.cdf(upper) - dist.cdf(lower) == pytest.approx(0.9)
        inside.append(lower < y < upper)
    assert 0.82 < np.mean(inside) < 0.97


def test_missing_features_are_uncertain(regressor):
    x = {"small": 0.002, "large": 5e4, "colour": "green"}
    known = regressor.predict_one(x, with_dist=True)
    for gap in ({"small": None}, {"large": math.nan}, {"colour": None}):
        assert regressor.predict_one({**x, **gap}, with_dist=True).sigma > 1.5 * known.sigma
    without = {k: v for k, v in x.items() if k != "small"}
    missing = regressor.predict_one(without, with_dist=True)
    assert missing.sigma == regressor.predict_one({**x, "small": None}, with_dist=True).sigma
    # Of a feature that is not there its mean is taken, not zero: 0 would be 16 lower.
    assert abs(missing.mu - known.mu) < 3


def test_learns_from_rows_with_gaps():
    model = OnlineRegressor()
    random = np.random.default_rng(0)
    for x, y in stream(800):
        model.learn_one({k: v for k, v in x.items() if random.random() > 0.2}, y)
    assert rmse(model) < 5
    assert rmse(model, drop=["small", "large", "colour"]) > 10


def test_features_that_come_later():
    model = OnlineRegressor()
    random = np.random.default_rng(0)
    for i in range(2500):
        first, second = random.normal(3, 1), random.normal(-50, 10)
        x = {"first": first, "second": second} if i >= 700 else {"first": first}
        model.learn_one(x, first + 0.2 * second)
    errors = []
    for _ in range(200):
        first, second = random.normal(3, 1), random.normal(-50, 10)
        errors.append(model.predict_one({"first": first, "second": second}) - first - 0.2 * second)
    assert np.std(errors) < 0.5  # 2 without the second


def test_too_many_features_warn_once():
    model = OnlineRegressor(max_features=3)
    with pytest.warns(UserWarning, match="`c=x` is ignored: max_features=3 are taken"):
        model.learn_one({"a": 1.0, "b": 2.0, "b2": True, "c": "x"}, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({"d": 1.0, "a": 2.0}, 2.0)
    assert model.input_names == ["a", "b", "b2"]


def test_order_of_features_does_not_matter():
    one, other = OnlineRegressor(), OnlineRegressor()
    for x, y in stream(100):
        one.learn_one(x, y)
        other.learn_one(dict(reversed(x.items())), y)
    assert one.predict_one(x) == other.predict_one(x)


def test_same_seed_same_bits():
    assert rmse(learned(150), 20) == rmse(learned(150), 20)
    assert rmse(learned(150), 20) != rmse(learned(150, seed=1), 20)


def test_before_and_after_the_first_row():
    model = OnlineRegressor()
    assert model.predict_one({"a": 1}) == 0.0
    assert model.predict_one({"a": 1}, with_dist=True).sigma > 0
    model.learn_one({"a": 1}, 40.0)
    assert 35 < model.predict_one({"a": 1}) < 45
    classifier = OnlineClassifier()
    assert classifier.predict_proba_one({"a": 1}) == {} and classifier.predict_one({"a": 1}) is None
    classifier.learn_one({"a": 1}, "yes")
    assert classifier.predict_proba_one({"a": 1}) == {"yes": 1.0}


def test_follows_a_change():
    model = OnlineRegressor()
    random = np.random.default_rng(0)
    for i in range(2300):
        x = float(random.normal())
        model.learn_one({"x": x}, (x if i < 2000 else -x) + random.normal(0, 0.1))
        assert i >= 2000 or model.forgot == 0
    assert model.forgot > 0
    assert abs(model.predict_one({"x": 1.0}) + 1.0) < 0.3


def test_outliers_are_no_change():
    model = OnlineRegressor()
    random = np.random.default_rng(0)
    for i in range(3000):
        x = float(random.normal())
        model.learn_one({"x": x}, x + random.normal(0, 0.1) + (5.0 if i % 100 == 0 else 0.0))
    assert model.forgot == 0
    assert model.surprise.expected == 2999


def test_classes_follow_a_change():
    model = OnlineClassifier()
    random = np.random.default_rng(0)
    right = []
    for i in range(2300):
        x = float(random.normal())
        y = (x > 0) == (i < 2000)
        right.append(model.predict_one({"x": x}) == y)
        model.learn_one({"x": x}, y)
    assert model.forgot > 0 and np.mean(right[2200:]) > 0.9


def test_classes_of_any_type(classifier):
    right = [classifier.predict_one(x) == _size(y) for x, y in stream(300, seed=1)]
    assert np.mean(right) > 0.85
    p = classifier.predict_proba_one({"small": 0.002, "large": 5e4, "colour": "green"})
    assert set(p) == {("small",), ("medium",), 7} and sum(p.values()) == pytest.approx(1)


def test_probabilities_are_calibrated(classifier):
    chosen = [(max(p.values()), max(p, key=p.get) == _size(y)) for p, y in
              ((classifier.predict_proba_one(x), y) for x, y in stream(600, seed=2))]
    assert abs(np.mean([p for p, _ in chosen]) - np.mean([right for _, right in chosen])) < 0.08


def test_too_many_classes_warn_once():
    model = OnlineClassifier(max_classes=2)
    model.learn_one({"a": 1}, "x")
    model.learn_one({"a": 2}, "y")
    with pytest.warns(UserWarning, match="class `z` is ignored: max_classes=2 are taken"):
        model.learn_one({"a": 3}, "z")
    assert set(model.predict_proba_one({"a": 1})) == {"x", "y"}


def test_copies_are_independent(regressor, classifier):
    x, y = next(stream(1))
    for model, target in ((regressor, y), (classifier, _size(y))):
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert other.predict_one(x) == model.predict_one(x)
            before = pickle.dumps(model)
            other.learn_one(x, target)
            assert pickle.dumps(model) == before


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames(package, regressor, classifier):
    library = pytest.importorskip(package, reason=f"{package} is not installed")
    rows, targets = zip(*stream(30, seed=3), strict=True)
    frame = library.DataFrame(list(rows))
    assert regressor.predict_many(frame).to_list() == pytest.approx([regressor.predict_one(x) for x in rows])
    assert classifier.predict_proba_many(frame).shape == (30, 3)
    one, many = copy.deepcopy(regressor), copy.deepcopy(regressor)
    many.learn_many(frame, library.Series(targets))
    for x, y in zip(rows, targets, strict=True):
        one.learn_one(x, y)
    assert one.predict_one(rows[0]) == many.predict_one(rows[0])


def test_lists_of_rows(classifier):
    rows = [x for x, _ in stream(5)]
    assert classifier.predict_many(rows) == [classifier.predict_one(x) for x in rows]
    assert OnlineRegressor().predict_many(rows) == [0.0] * 5


def test_bad_input_is_refused(regressor):
    for value in (math.inf, object(), [1.0]):
        with pytest.raises(ValueError, match="feature `a`: expected a finite number, a text, a bool or None"):
            regressor.predict_one({"a": value})
    with pytest.raises(ValueError, match="y: expected a finite number, got nan"):
        OnlineRegressor().learn_one({"a": 1.0}, math.nan)
    with pytest.raises(ValueError, match="update"):
        OnlineRegressor(remember=0)


def test_learns_in_microseconds():
    model = OnlineRegressor()
    random = np.random.default_rng(0)
    rows = [{f"x{j}": float(v) for j, v in enumerate(random.normal(size=10))} for _ in range(1000)]
    for x in rows:
        model.learn_one(x, x["x0"])
    took = []
    for _ in range(5):
        began = time.process_time()
        for x in rows[:200]:
            model.learn_one(x, x["x0"])
        took.append((time.process_time() - began) / 200)
    assert min(took) < 150e-6  # 25 where nothing else runs


def test_examples():
    tested = doctest.testmod(importlib.import_module("tractable._online"))
    assert tested.failed == 0 and tested.attempted > 5


def test_works_without_river():
    code = (
        "import sys; sys.modules['river'] = None; from tractable import OnlineRegressor; model = OnlineRegressor();"
        "[model.learn_one({'x': i % 7}, 2.0 * (i % 7)) for i in range(64)];"
        "print(repr(model), model.predict_one({'x': 3}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, number = run.stdout.rsplit(" ", 1)
    assert text.startswith("OnlineRegressor(hidden=(32, 32), remember=20000") and abs(float(number) - 6) < 1


class TestRiver:
    """With River itself."""

    @pytest.fixture(autouse=True)
    def river(self):
        pytest.importorskip("river", reason="River is not installed")

    @pytest.mark.parametrize("model", [OnlineRegressor, OnlineClassifier])
    def test_passes_its_checks(self, model):
        from river import checks

        checks.check_estimator(model())

    def test_progressive_validation(self):
        from river import datasets, evaluate, linear_model, metrics, preprocessing

        linear = preprocessing.StandardScaler() | linear_model.LinearRegression()
        mean, theirs = (
            evaluate.progressive_val_score(datasets.synth.Friedman(seed=1).take(1500), m, metrics.MAE()).get()
            for m in (OnlineRegressor(), linear)
        )
        assert mean < theirs
        accuracy = evaluate.progressive_val_score(datasets.Phishing(), OnlineClassifier(), metrics.Accuracy()).get()
        assert accuracy > 0.85

    def test_pipelines_and_clone(self):
        from river import compose, preprocessing

        pipeline = compose.Select("small", "colour") | preprocessing.PredClipper(OnlineRegressor(), 0, 150)
        model = compose.Select("small", "colour") | OnlineRegressor(remember=77)
        for x, y in stream(50):
            model.learn_one(x, y)
            pipeline.learn_one(x, y)
        assert sorted(model["OnlineRegressor"].input_names) == ["colour=blue", "colour=green", "colour=red", "small"]
        assert pipeline.predict_one(x) <= 150
        fresh = model.clone()
        assert fresh["OnlineRegressor"].remember == 77 and fresh.predict_one(x) == 0.0
