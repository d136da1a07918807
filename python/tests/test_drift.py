"""Surprise and drift: models on streams whose world changes."""

import copy
import pickle

import numpy as np
import pytest
import tractable as tr


def rows(n: int, change: int, seed: int = 0):
    """A line that turns at one row."""
    random = np.random.default_rng(seed)
    for i in range(n):
        x = random.uniform(-1, 1)
        yield i, x, (x if i < change else -2 * x) + 0.1 * random.normal()


def follow(drift: tr.Drift | None, n: int, change: int) -> tuple[tr.Surprise, list[int], float]:
    """The sum of surprises before the change, rows at which the network forgot, and the error at 1."""
    net = tr.Network.mlp([1, 16, 1], noise=0.1, seed=0)
    before, forgot = tr.Surprise(), []
    for i, x, y in rows(n, change):
        surprise = net.learn_one([[x]], [[y]])
        if 200 < i < change:
            before += surprise
        if drift is not None and drift.follow(net, surprise) > 1:
            forgot.append(i)
    return before, forgot, abs(net.predict([[1.0]]).mean[0] + 2)


def test_learn_one_is_learn_and_says_what_predict_said() -> None:
    one, many = (tr.Network.mlp([2, 16, 1], noise=0.3, seed=0) for _ in range(2))
    x, y = [[0.3, -0.2]], [[1.5]]
    predicted = one.predict(x)
    surprise = one.learn_one(x, y)
    many.learn(x, y)
    assert one.to_bytes() == many.to_bytes()
    assert surprise.observed == pytest.approx((1.5 - predicted.mean[0]) ** 2 / predicted.var[0], rel=1e-4)
    assert surprise.expected == 1 and surprise.var == 2 and 0 < surprise.model < 1
    with pytest.raises(ValueError, match="one row"):
        one.learn_one([[0.0, 0.0], [1.0, 1.0]], [[0.0], [1.0]])


def test_surprises_of_a_calibrated_network_are_about_one() -> None:
    sum_of, _, _ = follow(None, 1500, 1500)
    assert 0.7 < sum_of.ratio < 1.4
    assert sum_of.expected == 1299


def test_a_network_that_is_surprised_forgets() -> None:
    _, forgot, error = follow(tr.Drift(), 1060, 1000)
    _, _, keeps = follow(None, 1060, 1000)
    assert 1000 <= forgot[0] < 1040
    assert error < 0.7 * keeps


def test_discount() -> None:
    net = tr.Network.mlp([1, 16, 1], noise=0.1, seed=0)
    for _ in range(500):
        net.learn([[0.5]], [[1.0]])
    sure = net.predict([[0.5]]).model_var[0]
    net.discount(4.0)
    assert net.predict([[0.5]]).model_var[0] > 1.5 * sure
    with pytest.raises(ValueError, match="factor"):
        net.discount(0.5)


def test_drift_is_kept_and_copied() -> None:
    far = tr.Surprise(9.0, 1.0, 0.5, 2.0)
    drift = tr.Drift()
    for _ in range(7):
        assert drift.count(far) == 1
    for other in (pickle.loads(pickle.dumps(drift)), copy.deepcopy(drift)):
        assert other.count(far) == 17  # the eighth row ends a window
    assert drift.count(far) == 17
    assert pickle.loads(pickle.dumps(far)).ratio == (far + tr.Surprise()).ratio == 9
    with pytest.raises(ValueError):
        drift.__setstate__("garbage")


def test_a_calibrated_model_follows_too() -> None:
    x = np.linspace(-1, 1, 200)[:, None]
    model = tr.Ensemble.fit(x, x[:, 0], single=True, visits=2000, progress=False)
    drift, factors = tr.Drift(), []
    for _, at, y in rows(200, 0):
        factors.append(drift.follow(model, model.learn_one([[at]], [y])))
    assert max(factors) > 1
    assert abs(model.predict([[0.5]]).mean[0] + 1) < 0.4
    names = tr.Ensemble.fit(x, np.where(x[:, 0] > 0, "up", "down"), single=True, visits=2000, progress=False)
    assert names.learn_one([[0.9]], ["down"]).ratio > names.learn_one([[0.95]], ["up"]).ratio
