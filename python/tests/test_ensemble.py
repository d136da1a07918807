"""The calibrated model, on arrays and frames."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tractable as tr


def test_intervals_hold(fitted: tr.Ensemble) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, 2000)
    y = x**3 - 3 * x + rng.normal(0, 0.3, 2000)
    p = fitted.predict(x)
    lower, upper = p.interval(0.9)
    assert 0.85 < np.mean((lower <= y) & (y <= upper)) < 0.96
    assert fitted.predict([6.0]).std[0] > 3 * p.std.mean()  # away from the data
    assert fitted.scores[0]["coverage_90"] > 0.85


def test_condition_on_the_model(fitted: tr.Ensemble) -> None:
    x = fitted.condition([[0.5]], -1.0, std=0.3, noise_std=0.1)
    assert fitted.predict(x.mean).mean[0] == pytest.approx(-1.0, abs=0.3)


def test_learns_more_rows(fitted: tr.Ensemble) -> None:
    model = tr.Ensemble.from_bytes(fitted.to_bytes())
    for _ in range(20):
        model.learn([[0.5]], [3.0])
    assert model.predict([0.5]).mean[0] > fitted.predict([0.5]).mean[0] + 0.1
    assert model.rows == fitted.rows + 20


def test_left_out_rows_are_predicted_by_others(fitted: tr.Ensemble, curve: tuple[np.ndarray, np.ndarray]) -> None:
    p = fitted.left_out(*curve)
    assert p.mean.shape == (300,)
    assert not np.array_equal(p.mean, fitted.predict(curve[0]).mean)


def test_missing_inputs_are_uncertain() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    x[:, 1] += x[:, 0]
    y = x[:, 0] + 0.1 * rng.normal(size=300)
    holes = x.copy()
    holes[::5, 0] = np.nan
    model = tr.Ensemble.fit(holes, y, visits=5000, single=True)
    known, missing = model.predict([[1.0, 1.0]]), model.predict([[np.nan, 1.0]])
    assert missing.std[0] > 1.5 * known.std[0]
    assert missing.mean[0] == pytest.approx(0.5, abs=0.3)  # what the other column says


def test_frames_go_in_as_they_are(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    n = 200
    city = rng.choice(["Ulm", "Kiel", "Bonn"], n)
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 6, n),
            "city": pd.Categorical(city),
            "garden": rng.random(n) < 0.5,
            "built": pd.date_range("1990-01-01", periods=n, freq="30D"),
            "note": None,
        }
    )
    price = 100 * frame["rooms"] + np.where(city == "Ulm", 150, 0) + rng.normal(0, 10, n)
    frame.loc[::9, "rooms"] = np.nan
    frame.loc[::7, "city"] = None
    model = tr.Ensemble.fit(frame, price.rename("price"), visits=20_000, single=True)
    assert model.output_names == ["price"]
    assert "city=Ulm" in model.input_names or "city=Kiel" in model.input_names
    p = model.predict(frame)
    assert np.corrcoef(p.mean, price)[0, 1] > 0.8
    assert np.array_equal(model.predict(frame[frame.columns[::-1]]).mean, p.mean)  # by name, not by place
    unseen = frame.iloc[:1].assign(city="Paris", rooms=None)
    assert model.predict(unseen).std[0] > 0
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    other = pl.from_pandas(frame)
    assert np.allclose(model.predict(other).mean, p.mean)
    # The program reads the same file and the same columns.
    model.save(tmp_path / "model.safetensors")
    again = tr.Ensemble.load(tmp_path / "model.safetensors")
    assert np.array_equal(again.predict(frame).mean, p.mean)


def test_texts_and_booleans_are_classes() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = np.where(x[:, 0] > 0, "up", "down")
    model = tr.Ensemble.fit(x, y, visits=3000, single=True)
    assert model.class_names == ["down", "up"]
    p = model.predict_proba(x)
    assert ((p[:, 1] > 0.5) == (x[:, 0] > 0)).mean() > 0.9
    assert tr.Ensemble.fit(x, x[:, 0] > 0, visits=1000, single=True).classes == 2
    before = model.predict_proba([[0.1, 0.0]])[0, 1]
    for _ in range(20):
        model.learn([[0.1, 0.0]], ["down"])  # by name, as in fit
    assert model.predict_proba([[0.1, 0.0]])[0, 1] < before
    wanted = model.condition([[0.0, 0.0]], ["up"], std=1.0)
    assert wanted.mean[0, 0] > 0.2
    assert np.array_equal(model.condition([[0.0, 0.0]], "up", std=1.0).mean, wanted.mean)
    with pytest.raises(ValueError, match="`left` is not among the 2 classes: down, up"):
        model.learn([[0.1, 0.0]], ["left"])
    with pytest.raises(ValueError, match="noise_std: is for wanted numbers"):
        model.condition([[0.0, 0.0]], ["up"], std=1.0, noise_std=0.1)
    digits = tr.Ensemble.fit(x, (x[:, 0] > 0).astype(int) + 3, classes=True, visits=1000, single=True)
    assert digits.class_names == ["3", "4"]
    digits.learn([[0.1, 0.0]], [4])
    assert tr.Ensemble.fit(x, (x[:, 0] > 0).astype(int), visits=1000, single=True).classes is None


def test_a_network_of_ones_own_is_calibrated() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (300, 1))
    y = x[:, 0] + rng.normal(0, 0.5, 300)
    net = tr.Network.mlp([1, 16, 1], seed=0)
    net.fit(x[:200], y[:200], epochs=20, progress=False)
    model = tr.Ensemble.calibrated(net, x[:200], y[:200], x[200:], y[200:])
    assert len(model) == 1
    assert model.predict([[0.0]]).std[0] == pytest.approx(0.5, abs=0.15)


def test_pickled_and_shown(fitted: tr.Ensemble) -> None:
    same = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(same.predict([0.5]).mean, fitted.predict([0.5]).mean)
    assert repr(fitted).startswith("<Ensemble of ")
    with pytest.raises(ValueError, match="load it as an `Ensemble`"):
        tr.Network.from_bytes(fitted.to_bytes())
    html = fitted._repr_html_()
    assert html.count("<svg") == 1 and "left-out rows" in html


def test_bad_tables_are_refused_with_words() -> None:
    for x, y, says in [
        ([[1.0]] * 3, [1.0] * 3, "at least 5"),
        ([[1.0]] * 6, [1.0] * 5, "expected 6 rows"),
    ]:
        with pytest.raises(ValueError, match=says):
            tr.Ensemble.fit(x, y)
    with pytest.raises(ValueError, match="inf"):
        tr.Ensemble.fit([[np.inf]] * 6, [1.0] * 6)
    with pytest.raises(TypeError, match="sparse"):
        sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
        tr.Ensemble.fit(sparse.eye(6).tocsr(), np.ones(6))


def test_interrupting_a_fit_raises() -> None:
    x = np.random.default_rng(0).normal(size=(2000, 4))

    def stop(done: int, of: int, what: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tr.Ensemble.fit(x, x[:, 0], visits=10_000_000, progress=stop)


def test_quantiles_of_several_levels(fitted: tr.Ensemble) -> None:
    p = fitted.predict([0.1, 0.5, 1.0])
    levels = [0.9, 0.1, 0.5]
    several = p.quantile(levels)
    assert several.shape == (3, 3)
    assert np.array_equal(several, np.column_stack([p.quantile(level) for level in levels]))
    assert np.array_equal(several, p.quantile(np.array(levels)))
    assert p.quantile(0.5).shape == (3,) and p.quantile([0.5]).shape == (3, 1) and p.quantile([]).shape == (3, 0)
    two = tr.Network.mlp([1, 8, 2]).predict([[0.1], [0.2], [0.3]])
    assert two.quantile(levels).shape == (3, 2, 3)
    assert np.array_equal(two.quantile(levels)[:, :, 1], two.quantile(0.1))
    with pytest.raises(ValueError, match="1 is not between 0 and 1"):
        p.quantile([0.5, 1.0])
    with pytest.raises(ValueError, match="one level or a list"):
        p.quantile([[0.5]])


def flats(rows: int = 200) -> Any:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "name": [f"flat {i % 150}" for i in range(rows)],
            "rooms": rng.integers(1, 6, rows).astype(float),
            "city": rng.choice(["Ulm", "Kiel", "Bonn"], rows),
            "empty": None,
        }
    )
    frame["price"] = 100 * frame["rooms"] + np.where(frame["city"] == "Ulm", 150, 0) + rng.normal(0, 10, rows)
    frame.loc[::10, "rooms"] = np.nan
    return frame


def test_left_out_takes_what_fit_took() -> None:
    frame = flats()
    with pytest.warns(UserWarning):
        model = tr.Ensemble.fit(frame, "price", visits=2000)
    assert model.output_names == ["price"] and "price" not in model.input_names
    left_out = model.left_out(frame, "price").mean
    x, y = frame.drop(columns="price"), frame["price"]
    assert np.array_equal(model.left_out(x, y).mean, left_out)
    assert np.array_equal(model.left_out(x[x.columns[::-1]], y.to_numpy()).mean, left_out)
    assert np.corrcoef(left_out, y)[0, 1] > 0.5 and not np.array_equal(left_out, model.predict(frame).mean)
    with pytest.raises(ValueError, match="expected the 200 rows"):
        model.left_out(frame.iloc[1:], "price")
    with pytest.raises(ValueError, match="there is no column `prise`"):
        tr.Ensemble.fit(frame, "prise")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert np.array_equal(model.left_out(pl.from_pandas(frame), "price").mean, left_out)
    # The same rows as they were fitted: the scores are theirs.
    rmse = float(np.sqrt(np.mean((left_out - y) ** 2)))
    assert rmse == pytest.approx(model.scores[0]["rmse"], rel=1e-6)


def test_left_out_numbers_and_classes() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=100), "b": rng.normal(size=100)})
    frame["two"] = frame["a"] + frame["b"]
    frame["kind"] = np.where(frame["a"] > 0, "up", "down")
    model = tr.Ensemble.fit(frame[["a", "b", "two"]], ["b", "two"], visits=1000)
    assert model.input_names == ["a"] and model.output_names == ["b", "two"]
    out = model.left_out(frame[["a"]].to_numpy(), frame[["b", "two"]])
    assert np.array_equal(model.left_out(frame, ["b", "two"]).mean, out.mean)
    model = tr.Ensemble.fit(frame[["a", "kind"]], "kind", visits=1000)
    p = model.left_out_proba(frame, "kind")
    assert ((p[:, 1] > 0.5) == (frame["kind"] == "up")).mean() > 0.8
    assert np.array_equal(model.left_out_proba(frame["a"].to_numpy(), frame["kind"].to_numpy()), p)
    assert np.mean(p.argmax(axis=1) != (frame["kind"] == "up")) == pytest.approx(model.scores[0]["error_rate"])
    model.learn(frame.iloc[:2], "kind")
    assert model.rows == 102


def test_what_columns_are_taken_for() -> None:
    frame = flats()
    frame["size"] = [*map(str, range(199)), "big"]
    with pytest.warns(UserWarning) as warned:
        model = tr.Ensemble.fit(frame, "price", visits=500, single=True)
    assert [str(w.message) for w in warned] == [
        "column `name`: left out: text, 150 different ones in 200 rows",
        "column `empty`: left out: empty",
        'column `size`: 1 cell is not a number and counted as missing: "big" in line 200',
    ]
    assert all(w.filename == __file__ for w in warned)
    about = {c["name"]: c for c in model.columns}
    assert list(about) == ["name", "rooms", "city", "empty", "size", "price"]
    assert about["rooms"] == {"name": "rooms", "what": "number", "missing": 0.1, "problem": None}
    assert about["city"]["what"] == "category, 3 levels" and about["price"]["what"] == "target"
    assert about["empty"] == {"name": "empty", "what": "left out: empty", "missing": 1.0, "problem": None}
    again = tr.Ensemble.from_bytes(model.to_bytes())
    assert [c["name"] for c in again.columns] == ["rooms", "city", "size", "price"]
    assert again.columns[1] == {"name": "city", "what": "category, 3 levels", "missing": None, "problem": None}
    x = np.array([[1.0, np.nan]] * 5 + [[2.0, 3.0], [1.5, 4.0]] * 5)
    model = tr.Ensemble.fit(x, x[:, 0], visits=500, single=True)
    assert [(c["name"], c["what"], c["missing"]) for c in model.columns] == [
        ("x0", "number", 0.0),
        ("x1", "number", 1 / 3),
        ("y0", "target", 0.0),
    ]


@pytest.mark.parametrize("y", [[1.0, None, 2.0], ["a", None, "b"], ["a", float("nan"), "b"]])
def test_a_row_without_a_target_is_named(y):
    pd = pytest.importorskip("pandas")
    x = np.arange(60.0).reshape(20, 3)
    with pytest.raises(ValueError, match="y: row 1 has no target, counted from 0"):
        tr.Ensemble.fit(x, pd.Series(y + y[:1] * 17, name="y"))


def test_a_single_model_may_leave_out_rows_that_weigh_nothing():
    x = np.random.default_rng(0).normal(size=(40, 2))
    weights = np.where(np.arange(40) < 6, 1.0, 0.0)
    for seed in range(8):
        for y in (x[:, 0], np.where(x[:, 0] > 0, "a", "b")):
            tr.Ensemble.fit(x, y, single=True, visits=200, seed=seed, sample_weight=weights)
