"""TractableRegressor and TractableClassifier in scikit-learn's own machinery."""

import doctest
import importlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import tractable
from tractable.sklearn import TractableClassifier, TractableRegressor

QUICK = {"single": True, "visits": 2000}


def numbers(rows=120, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 3))
    return x, x[:, 0] - 2 * x[:, 1] + 0.1 * random.normal(size=rows)


def table(rows=150, seed=0):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    random = np.random.default_rng(seed)
    kind = random.choice(["red", "green", "blue"], size=rows)
    size = random.normal(size=rows)
    y = np.where(kind == "red", 3.0, 0.0) + size + 0.05 * random.normal(size=rows)
    frame = pandas.DataFrame({
        "kind": pandas.Series(kind).astype("category"),
        "size": size,
        "day": pandas.date_range("2024-01-01", periods=rows),
        "open": random.random(rows) < 0.5,
    })
    frame.loc[::9, "size"] = np.nan
    frame.loc[4::9, "kind"] = None
    return frame, pandas.Series(y, name="price")


CHECK = """
import json, sys
from sklearn.utils.estimator_checks import check_estimator
import tractable.sklearn
model = getattr(tractable.sklearn, sys.argv[1])(single=True, visits=2000)
# A weight divides the noise of a row, which is not the same as repeating the row: the folds are others.
other = {"check_sample_weight_equivalence_on_dense_data": "weights are not repetitions"}
seen = check_estimator(model, on_skip=None, on_fail=None, expected_failed_checks=other)
print(json.dumps([[s["check_name"], s["status"], str(s["exception"])] for s in seen]))
"""


@pytest.mark.parametrize("name", ["TractableRegressor", "TractableClassifier"])
def test_check_estimator_passes_whole(name):
    # SciPy reads this variable when it is imported; without it scikit-learn skips one check.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECK, name], env=environment, capture_output=True, text=True, check=True
    )
    seen = json.loads(run.stdout.splitlines()[-1])
    assert len(seen) > 45
    assert {s[0]: s[1] for s in seen if s[1] != "passed"} == {"check_sample_weight_equivalence_on_dense_data": "xfail"}


def test_the_package_exports_both():
    assert tractable.TractableRegressor is TractableRegressor
    assert tractable.TractableClassifier is TractableClassifier


def test_says_what_is_missing_without_scikit_learn():
    code = "import sys; sys.modules['sklearn'] = None; import tractable; tractable.TractableRegressor"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: this needs scikit-learn 1.6 or later: pip install 'tractable[sklearn]'" in run.stderr


def test_examples():
    tested = doctest.testmod(importlib.import_module("tractable.sklearn"))
    assert tested.failed == 0 and tested.attempted > 5


def test_tags():
    for model in (TractableRegressor(), TractableClassifier()):
        tags = get_tags(model)
        assert tags.input_tags.allow_nan and tags.input_tags.categorical and tags.target_tags.required
    assert is_regressor(TractableRegressor()) and is_classifier(TractableClassifier())
    assert get_tags(TractableRegressor()).target_tags.multi_output


def test_regression_is_that_of_the_ensemble():
    x, y = numbers()
    model = TractableRegressor(**QUICK, random_state=3).fit(x, y)
    ensemble = tractable.Ensemble.fit(x, y, seed=3, progress=False, **QUICK)
    mean, std = model.predict(x, return_std=True)
    lower, upper = model.predict_interval(x, level=0.8)
    prediction = ensemble.predict(x)
    assert (mean == prediction.mean).all() and (std == prediction.std).all()
    assert (lower == prediction.interval(0.8)[0]).all() and (upper == prediction.interval(0.8)[1]).all()
    assert model.score(x, y) > 0.95
    assert isinstance(model.model_, tractable.Ensemble) and model.n_features_in_ == 3


def test_intervals_cover_new_rows():
    x, y = numbers(400)
    model = TractableRegressor(**QUICK).fit(x[:300], y[:300])
    lower, upper = model.predict_interval(x[300:], level=0.9)
    assert 0.8 < np.mean((lower < y[300:]) & (y[300:] < upper)) <= 1.0
    wide_lower, wide_upper = model.predict_interval(x[300:], level=0.99)
    assert (wide_lower < lower).all() and (wide_upper > upper).all()


def test_several_outputs():
    x, y = numbers()
    both = np.column_stack([y, x[:, 2]])
    model = TractableRegressor(**QUICK).fit(x, both)
    mean, std = model.predict(x, return_std=True)
    assert mean.shape == std.shape == both.shape
    assert model.predict_interval(x)[0].shape == both.shape
    assert model.score(x, both) > 0.9
    assert TractableRegressor(**QUICK).fit(x, y.reshape(-1, 1)).predict(x).shape == (len(y), 1)


def test_classes_of_any_type_keep_their_order():
    x, _ = numbers()
    for names in (["b", "a", "c"], [10, 2, 33], [2.0, -1.0, 0.0]):
        y = np.array(names)[np.digitize(x[:, 0], [-0.5, 0.5])]
        model = TractableClassifier(**QUICK).fit(x, y)
        assert list(model.classes_) == sorted(names)
        assert model.model_.class_names == [str(c) for c in np.unique(y)]
        p = model.predict_proba(x)
        assert p.shape == (len(x), 3) and np.allclose(p.sum(axis=1), 1)
        assert (model.predict(x) == model.classes_[p.argmax(axis=1)]).all()
        assert model.score(x, y) > 0.8


def test_same_seed_same_bits_whatever_the_threads():
    x, y = numbers()
    settings = {"visits": 1000}
    first = TractableRegressor(**settings, random_state=5).fit(x, y)
    again = TractableRegressor(**settings, random_state=5, n_jobs=2).fit(x, y)
    other = TractableRegressor(**settings, random_state=6).fit(x, y)
    assert first.model_.to_bytes() == again.model_.to_bytes()
    assert first.model_.to_bytes() != other.model_.to_bytes()
    generators = [TractableRegressor(**QUICK, random_state=np.random.RandomState(1)).fit(x, y) for _ in range(2)]
    assert generators[0].model_.to_bytes() == generators[1].model_.to_bytes()


def test_frames_go_in_as_they_are():
    frame, y = table()
    model = TractableRegressor(**QUICK).fit(frame, y)
    assert list(model.feature_names_in_) == ["kind", "size", "day", "open"]
    assert model.model_.output_names == ["price"]
    known = frame[["kind", "size"]].notna().all(axis=1)
    assert model.score(frame[known], y[known]) > 0.9
    _, std = model.predict(frame, return_std=True)
    assert std[~known].mean() > 2 * std[known].mean()  # a missing cell is uncertain
    classifier = TractableClassifier(**QUICK).fit(frame, np.where(y > 2, "dear", "cheap"))
    assert classifier.score(frame[known], np.where(y > 2, "dear", "cheap")[known]) > 0.9
    with pytest.raises(ValueError, match="this model was fitted to a frame"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="(?i)feature names"):
        model.predict(frame.rename(columns={"kind": "colour"}))
    with pytest.raises(ValueError, match="rows: 3 are too few"):
        TractableRegressor(**QUICK).fit(frame[:3], y[:3])


def test_polars_frames():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame, y = table()
    model = TractableRegressor(**QUICK).fit(frame, y)
    other = TractableRegressor(**QUICK).fit(polars.from_pandas(frame), polars.Series("price", y.to_numpy()))
    assert (other.predict(polars.from_pandas(frame)) == model.predict(frame)).all()
    other.partial_fit(polars.from_pandas(frame), y.to_numpy())


def test_frames_of_numbers_are_arrays_with_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = numbers()
    x[3, 1] = np.nan
    frame = pandas.DataFrame(x, columns=["a", "b", "c"])
    model = TractableRegressor(**QUICK).fit(frame, pandas.Series(y, name="out"))
    assert (model.predict(frame) == TractableRegressor(**QUICK).fit(x, y).predict(x)).all()
    assert model.model_.input_names == ["a", "b", "c"] and model.model_.output_names == ["out"]


def test_whole_numbers_as_categories():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    code = np.tile([1, 2, 3], 40)
    y = np.where(code == 2, 5.0, 0.0) + 0.1 * np.random.default_rng(0).normal(size=120)
    frame = pandas.DataFrame({"code": pandas.Series(code).astype("category")})
    model = TractableRegressor(**QUICK).fit(frame, y)
    assert model.model_.inputs > 1
    assert model.score(frame, y) > 0.9


def test_classes_that_look_like_missing_cells_are_classes():
    frame, y = table()
    names = np.where(y > 2, "NA", "-")
    model = TractableClassifier(**QUICK).fit(frame, names)
    assert model.model_.rows == len(frame)
    assert set(model.classes_) == {"NA", "-"} and model.score(frame, names) > 0.8


def test_partial_fit_learns_from_few_rows_at_a_time():
    x, y = numbers(300)
    model = TractableRegressor(**QUICK)
    model.partial_fit(x[:3], y[:3])
    with pytest.raises(NotFittedError):
        model.predict(x)
    model.partial_fit(x[3:6], y[3:6])
    few = model.score(x[250:], y[250:])
    for row in range(6, 250):
        model.partial_fit(x[row : row + 1], y[row : row + 1])
    assert model.model_.rows == 250
    assert model.score(x[250:], y[250:]) > max(few, 0.95)


def test_partial_fit_continues_a_fit():
    x, y = numbers(200)
    model = TractableRegressor(**QUICK).fit(x[:100], y[:100])
    before = model.predict(x)
    model.partial_fit(x[100:], y[100:])
    assert model.model_.rows == 200 and (model.predict(x) != before).any()
    model.fit(x[:50], y[:50])
    assert model.model_.rows == 50


def test_partial_fit_of_a_frame():
    frame, y = table()
    model = TractableRegressor(**QUICK)
    for row in range(0, len(frame), 10):
        model.partial_fit(frame[row : row + 10], y[row : row + 10])
    assert model.model_.rows == len(frame)


def test_partial_fit_knows_classes_that_come_later():
    x, _ = numbers(300)
    y = np.array(["low", "middle", "high"])[np.digitize(x[:, 0], [-0.5, 0.5])]
    without = y != "high"
    model = TractableClassifier(**QUICK)
    model.partial_fit(x[without], y[without], classes=["low", "middle", "high"])
    assert model.predict_proba(x).shape == (300, 3)
    assert model.predict_proba(x)[:, 0].max() < 0.5
    for _ in range(3):
        model.partial_fit(x, y)
    assert model.score(x, y) > 0.8
    with pytest.raises(ValueError, match="`huge` is not among the 3 classes"):
        model.partial_fit(x[:1], ["huge"])
    with pytest.raises(ValueError, match="classes: not the same"):
        model.partial_fit(x[:1], ["low"], classes=["low", "high"])
    with pytest.raises(ValueError, match="classes: give all of them in the first call"):
        TractableClassifier(**QUICK).partial_fit(x[:1], ["low"])


def test_condition():
    x, y = numbers()
    model = TractableRegressor(**QUICK).fit(x, y)
    answer = model.condition([[0.0, 0.0, 0.0]], [2.0], std=1.0)
    assert abs(model.predict(answer.mean.reshape(1, -1))[0] - 2.0) < 0.7
    classes = np.where(x[:, 0] > 0, "right", "left")
    classifier = TractableClassifier(**QUICK).fit(x, classes)
    assert classifier.condition([[0.0, 0.0, 0.0]], "right", std=1.0).mean.ravel()[0] > 0.2
    assert classifier.condition([[0.0, 0.0, 0.0]], ["left"], std=1.0).mean.ravel()[0] < -0.2


def test_search_pipeline_and_clone():
    x, y = numbers()
    search = GridSearchCV(TractableRegressor(**QUICK), {"visits": [500, 2000], "single": [True, False]}, cv=2)
    assert search.fit(x, y).best_estimator_.score(x, y) > 0.9
    columns = ColumnTransformer([("scaled", StandardScaler(), [0, 1])], remainder="passthrough")
    pipeline = make_pipeline(columns, TractableRegressor(**QUICK))
    assert cross_val_score(pipeline, x, y, cv=2).min() > 0.9
    copy = clone(TractableRegressor(**QUICK, random_state=8).fit(x, y))
    assert copy.get_params()["random_state"] == 8 and not hasattr(copy, "model_")
    assert copy.set_params(visits=7).visits == 7


def test_parallel_work_of_joblib():
    x, y = numbers()
    names = np.where(y > 0, "up", "down")
    alone = cross_val_predict(TractableClassifier(**QUICK), x, names, cv=2, method="predict_proba")
    together = cross_val_predict(TractableClassifier(**QUICK), x, names, cv=2, method="predict_proba", n_jobs=2)
    assert (alone == together).all()


def test_calibration_display():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    from sklearn.calibration import CalibrationDisplay

    x, y = numbers()
    model = TractableClassifier(**QUICK).fit(x, y > 0)
    assert len(CalibrationDisplay.from_estimator(model, x, y > 0, n_bins=4).prob_pred) > 1


@pytest.mark.parametrize("model", [TractableRegressor, TractableClassifier])
def test_pickle_keeps_all(model):
    x, y = numbers()
    target = y if model is TractableRegressor else y > 0
    fitted = model(**QUICK).fit(x, target)
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.predict(x) == fitted.predict(x)).all()
    copy.partial_fit(x, target)
    assert copy.model_.rows == 240 and fitted.model_.rows == 120


def test_pictures_of_scikit_learn():
    assert "TractableRegressor" in TractableRegressor()._repr_html_()
    assert repr(TractableRegressor(single=True)) == "TractableRegressor(single=True)"


def test_progress_is_reported():
    x, y = numbers()
    seen = []
    TractableRegressor(**QUICK, progress=lambda done, of, what: seen.append((done, of))).fit(x, y)
    assert seen and seen[-1][0] <= seen[-1][1]


def test_bad_input_is_refused():
    x, y = numbers()
    with pytest.raises(ValueError, match="(?i)infinity"):
        TractableRegressor(**QUICK).fit(np.full_like(x, np.inf), y)
    with pytest.raises(ValueError, match="y: expected 120 rows"):
        TractableRegressor(**QUICK).fit(x, y[:7])
    with pytest.raises(ValueError, match="visits must be at least 1"):
        TractableRegressor(visits=0).fit(x, y)
    with pytest.raises(ValueError, match="random_state: -1 is negative"):
        TractableRegressor(random_state=-1).fit(x, y)
    with pytest.raises(ValueError, match="at least 2 classes are needed"):
        TractableClassifier(**QUICK).fit(x, np.ones(120, dtype=int))
    with pytest.raises(ValueError, match="y: a class is missing"):
        TractableClassifier(**QUICK).fit(x, np.array(["a", None] * 60, dtype=object))
    with pytest.raises(ValueError, match="Unknown label type"):
        TractableClassifier(**QUICK).fit(x, y)
    model = TractableRegressor(**QUICK).fit(x, y)
    with pytest.raises(ValueError, match="level"):
        model.predict_interval(x, level=1.5)
    with pytest.raises(ValueError, match="y: expected rows of shape"):
        model.partial_fit(x, np.column_stack([y, y]))


def test_weights_of_rows_and_of_classes():
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, size=(200, 1))
    wrong = np.arange(200) % 2 == 1
    y = np.where(wrong, -x[:, 0], x[:, 0]) + 0.1 * random.normal(size=200)
    model = TractableRegressor(**QUICK).fit(x, y, sample_weight=np.where(wrong, 1e-3, 1.0))
    assert np.diff(model.predict([[-0.8], [0.8]]))[0] > 1.2
    kind = np.where(x[:, 0] + 0.5 * random.normal(size=200) > 0.9, 1, 0)
    plain = TractableClassifier(**QUICK).fit(x, kind)
    shifted = TractableClassifier(class_weight={1: 5.0}, **QUICK).fit(x, kind)
    p = plain.predict_proba(x)
    assert np.allclose(shifted.predict_proba(x)[:, 1], 5 * p[:, 1] / (p[:, 0] + 5 * p[:, 1]))
    found = plain.predict_by_threshold(x)
    number, least = plain.model_.threshold
    assert number == 1 and (found == (p[:, 1] >= least)).all() and found.sum() >= plain.predict(x).sum()
    with pytest.raises(ValueError, match="two classes"):
        TractableClassifier(**QUICK).fit(x, np.arange(200) % 3).predict_by_threshold(x)
