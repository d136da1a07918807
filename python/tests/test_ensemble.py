"""The calibrated model, on arrays and frames."""

import pickle
from pathlib import Path

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
