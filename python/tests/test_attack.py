"""Attacks from arrays."""

import dataclasses

import numpy as np
import pytest

from tractable import Network, attack


@pytest.fixture(scope="module")
def digits():
    """A network that tells the digits of scikit-learn apart, and digits that it gets right."""
    sets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    data = sets.load_digits()
    x, y = data.images / 16.0, data.target
    network = Network.mlp([64, 32, 11], "relu", classes=10, seed=0)
    rows = x.reshape(len(x), -1)
    for _ in range(3):
        for i in range(0, 1600, 16):
            network.learn(rows[i : i + 16], y[i : i + 16].astype(float))
    x, y = x[1600:], y[1600:]
    right = network.predict_proba(x.reshape(len(x), -1)).argmax(1) == y
    assert right.mean() > 0.8
    return network, x[right][:12], y[right][:12]


def classes(network, images):
    return network.predict_proba(images.reshape(len(images), -1)).argmax(1)


def test_any_wrong_class(digits):
    network, x, y = digits
    found = attack(network, x, y)
    assert len(found) == 12 and found.success.dtype == np.bool_ and found.success.mean() > 0.9
    np.testing.assert_array_equal(found.image, np.arange(12))
    np.testing.assert_array_equal(found.label, y)
    np.testing.assert_array_equal(found.target, -1)
    assert found.images.shape == found.std.shape == x.shape
    np.testing.assert_array_equal(found.success, classes(network, found.images) != y)
    change = found.images - x
    np.testing.assert_allclose(found.l_inf, np.abs(change).max((1, 2)), rtol=1e-6)
    np.testing.assert_allclose(found.l2, np.sqrt((change**2).sum((1, 2))), rtol=1e-6)
    assert found.images.min() >= 0.0 and found.images.max() <= 1.0
    assert found.before.shape == found.after.shape == (12, 10)
    np.testing.assert_allclose(found.before, network.predict_proba(x.reshape(12, -1)), atol=1e-5)
    np.testing.assert_allclose(found.after, network.predict_proba(found.images.reshape(12, -1)), atol=1e-4)
    assert (found.std > 0).any() and found.iterations.min() >= 1 and found.iterations.max() <= 100
    assert "12 attacks" in repr(found)


def test_all_wrong_classes(digits):
    network, x, y = digits
    found = attack(network, x[:2], y[:2], targets="all")
    assert len(found) == 18 and found.images.shape == (18, 8, 8)
    for image in (0, 1):
        assert sorted(found.target[found.image == image]) == sorted(set(range(10)) - {y[image]})
    reached = classes(network, found.images) == found.target
    np.testing.assert_array_equal(found.success, reached)
    assert found.success.mean() > 0.5


def test_chosen_classes(digits):
    network, x, y = digits
    wanted = (y + 3) % 10
    np.testing.assert_array_equal(attack(network, x, y, targets=wanted).target, wanted)
    random = attack(network, x, y, targets="random", seed=1, iterations=1).target
    assert (random != y).all() and (random >= 0).all()
    np.testing.assert_array_equal(random, attack(network, x, y, targets="random", seed=1, iterations=1).target)
    assert (random != attack(network, x, y, targets="random", seed=2, iterations=1).target).any()
    unlikely = attack(network, x, y, targets="least-likely", iterations=1)
    np.testing.assert_array_equal(unlikely.target, unlikely.before.argmin(1))


@pytest.mark.parametrize("method", ["infer", "pgd", "fgsm"])
@pytest.mark.parametrize("budget", ["linf:0.15", "linf:38.25/255", "l2:0.5"])
def test_budgets_are_kept(digits, method, budget):
    network, x, y = digits
    found = attack(network, x, y, method=method, budget=budget, iterations=20)
    norm, size = (found.l2, 0.5) if budget.startswith("l2") else (found.l_inf, 0.15)
    assert norm.max() <= size * (1 + 1e-6) and norm.max() > 0.1 * size
    if method == "fgsm":
        assert (found.iterations <= 1).all()
    if method != "infer":
        assert (found.std == 0.0).all()


def test_a_larger_budget_succeeds_more_often(digits):
    network, x, y = digits
    rate = [attack(network, x, y, method="pgd", budget=f"linf:{size}").success.mean() for size in (0.01, 0.5)]
    assert rate[0] < rate[1] and rate[1] > 0.9


def test_settings_reach_the_attack(digits):
    network, x, y = digits
    usual = attack(network, x, y)
    assert (attack(network, x, y, iterations=1).iterations <= 1).all()
    assert (attack(network, x, y, prior_std=0.3).iterations < usual.iterations).any()
    assert (attack(network, x, y, known_weights=False).images != usual.images).any()
    steps = [attack(network, x, y, method="pgd", budget="linf:0.3", step=s, iterations=1).l_inf.max() for s in (0.01, 0.1)]
    np.testing.assert_allclose(steps, [0.01, 0.1], rtol=1e-4)
    starts = [attack(network, x, y, method="pgd", budget="linf:0.3", random_start=True, seed=s).images for s in (0, 0, 1)]
    np.testing.assert_array_equal(starts[0], starts[1])
    assert (starts[0] != starts[2]).any()
    free = attack(network, x, y, range=None, prior_std=0.3, iterations=5)
    assert free.images.min() < 0.0


def test_flat_images_and_one_image(digits):
    network, x, y = digits
    boxes, flat = attack(network, x, y), attack(network, x.reshape(12, 64), y)
    assert flat.images.shape == (12, 64)
    np.testing.assert_array_equal(flat.images.reshape(12, 8, 8), boxes.images)
    single = attack(network, x[0].ravel().astype(np.float32), y[:1])
    assert single.images.shape == (1, 64) and single.success.shape == (1,)


def test_the_result_cannot_be_changed(digits):
    network, x, y = digits
    found = attack(network, x[:1], y[:1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.label = y


@pytest.mark.parametrize(("settings", "words"), [
    ({"targets": "some"}, "targets"),
    ({"targets": [1, 2]}, "target"),
    ({"method": "magic"}, "not infer, pgd or fgsm"),
    ({"budget": "l7:0.1"}, "budget"),
    ({"budget": "linf:0"}, "positive"),
    ({"method": "pgd"}, "budget"),
    ({"iterations": 0}, "iterations"),
    ({"prior_std": -1.0}, "prior"),
    ({"range": (0.0, 0.5)}, "between 0 and 0.5"),
])
def test_wrong_arguments_are_errors(digits, settings, words):
    network, x, y = digits
    with pytest.raises(ValueError, match=words):
        attack(network, x, y, **settings)


def test_wrong_shapes_are_errors(digits):
    network, x, y = digits
    with pytest.raises(ValueError, match="images"):
        attack(network, x[:, :4], y)
    with pytest.raises(ValueError, match="at least one"):
        attack(network, np.empty((0, 64)), np.empty(0))
    with pytest.raises(ValueError, match="label"):
        attack(network, x, y[:3])
    with pytest.raises(ValueError, match="label|class"):
        attack(network, x, y + 20)
    with pytest.raises(ValueError, match="class"):
        attack(Network.mlp([64, 4, 1]), x, y)
