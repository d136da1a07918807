"""What a model shows of itself: the rarer class, which columns count, how the prediction moves with one."""

import numpy as np
import pytest
import tractable as tr


def plane(rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, 3))
    return x, 3 * x[:, 0] + x[:, 1] + 0.5 * random.normal(size=rows)


def test_importance_is_that_of_a_linear_function() -> None:
    x, y = plane()
    model = tr.Ensemble.fit(x, y, visits=2000, progress=False)
    for left_out in (True, False):
        found = model.importance(x, y, loss="squared", repeats=20, left_out=left_out)
        assert [c["column"] for c in found] == ["x0", "x1", "x2"]
        for column, expected in zip(found, (18.0, 2.0, 0.0)):
            assert abs(column["increase"] - expected) < 3 * column["std"] + 0.2 * expected + 0.05, column
    calls: list[tuple[int, int, str]] = []
    model.importance(x, y, progress=lambda *at: calls.append(at))
    assert calls[-1][0] == calls[-1][1]
    with pytest.raises(ValueError, match="neither"):
        model.importance(x, y, loss="mae")
    with pytest.raises(ValueError, match="fitted to"):
        model.importance(x[:9], y[:9])


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_progress_raises_stops_it() -> None:
    x, y = plane(40)
    model = tr.Ensemble.fit(x, y, visits=500, single=True, progress=False)
    with pytest.raises(KeyboardInterrupt):
        model.importance(x, y, repeats=1000, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        model.effect(x, "x0", progress=stop)


def test_effects_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    random = np.random.default_rng(1)
    kind = random.choice(["blue", "green", "red"], size=240)
    size = random.uniform(0, 10, size=240)
    y = size + np.select([kind == "green", kind == "red"], [5.0, 20.0]) + 0.3 * random.normal(size=240)
    frame = pandas.DataFrame({"size": size, "kind": kind})
    frame.loc[::50, "size"] = np.nan
    model = tr.Ensemble.fit(frame, y, visits=3000, progress=False)
    assert [c["column"] for c in model.importance(frame, y)] == ["kind", "size"]
    kinds = model.effect(frame, "kind")
    assert kinds["at"] == ["blue", "green", "red"]
    assert np.allclose(kinds["mean"] - kinds["mean"][0], [0, 5, 20], atol=0.7)
    sizes = model.effect(frame, "size", points=7)
    assert sizes["mean"].shape == sizes["std"].shape == sizes["at"].shape == (7,)
    assert np.allclose(np.diff(sizes["mean"]), np.diff(sizes["at"]), atol=0.5)


def test_a_rare_class_has_a_threshold() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(500, 2))
    y = np.where(random.random(500) < 0.35 / (1 + np.exp(4 - 3 * x[:, 0])), "yes", "no")
    model = tr.Ensemble.fit(x, y, visits=5000, progress=False)
    number, least = model.threshold
    rarer = model.scores[0]["rarer"]
    assert (number, least, rarer["class"]) == (1, rarer["threshold"], "yes")
    p = model.predict_proba(x)[:, 1]
    assert rarer["auc"] > 0.7 and np.sum(p >= least) > 5 * np.sum(p > 0.5)
    assert abs(p.mean() - np.mean(y == "yes")) < 0.03
    assert [c["column"] for c in model.importance(x, y)] == ["x0", "x1"]
    effect = model.effect(x, "x0", points=5)
    assert effect["mean"].shape == (5, 2) and effect["mean"][4, 1] > effect["mean"][0, 1]
    assert tr.Ensemble.fit(*plane(40), single=True, visits=500, progress=False).threshold is None


def test_weights_of_rows_count() -> None:
    random = np.random.default_rng(3)
    x = random.uniform(-1, 1, size=(200, 1))
    noisy = np.arange(200) % 2 == 1
    y = np.where(noisy, -x[:, 0], x[:, 0]) + 0.1 * random.normal(size=200)
    plain = tr.Ensemble.fit(x, y, visits=2000, progress=False)
    model = tr.Ensemble.fit(x, y, sample_weight=np.where(noisy, 1e-3, 1.0), visits=2000, progress=False)
    at = [[-0.8], [0.8]]
    assert abs(np.diff(plain.predict(at).mean)[0]) < 0.6 and abs(np.diff(model.predict(at).mean)[0] - 1.6) < 0.3
    with pytest.raises(ValueError, match="weights"):
        tr.Ensemble.fit(x, y, sample_weight=[1.0, 2.0], progress=False)


def test_weights_of_classes_are_a_prior() -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=(200, 2))
    y = np.where(x[:, 0] + random.normal(size=200) > 1.5, "yes", "no")
    def fit(weights: "dict[str, float] | str | None") -> np.ndarray:
        return tr.Ensemble.fit(x, y, class_weight=weights, visits=1000, single=True, progress=False).predict_proba(x)
    plain, shifted = fit(None), fit({"yes": 5.0})
    assert np.allclose(shifted[:, 1], 5 * plain[:, 1] / (plain[:, 0] + 5 * plain[:, 1]))
    even = 1 / np.array([np.mean(y == "no"), np.mean(y == "yes")]) / 2
    assert np.allclose(fit("balanced"), plain * even / (plain * even).sum(axis=1, keepdims=True))
    for bad, why in (({"maybe": 1.0}, "no class"), ("even", "neither"), ({"yes": -1.0}, "positive")):
        with pytest.raises(ValueError, match=why):
            fit(bad)
    with pytest.raises(ValueError, match="a number"):
        tr.Ensemble.fit(x, x[:, 0], class_weight="balanced", progress=False)
