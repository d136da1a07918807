"""Class probabilities from the features of a backbone."""

import pickle

import numpy as np
import pytest
import tractable as tr


@pytest.fixture(scope="module")
def features() -> tuple[np.ndarray, np.ndarray]:
    """Correlated features in 12 dimensions; three classes with text labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1500)
    place = rng.normal(size=(3, 12)) * 1.5
    x = (place[y] + rng.normal(size=(1500, 12))) @ rng.normal(size=(12, 12))
    return np.maximum(x, -3), np.array(["ant", "bee", "cow"])[y]


def test_calibrated_probabilities(features: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = features
    head = tr.Head().fit(x[:1000], y[:1000])
    p = head.predict_proba(x[1000:])
    assert np.allclose(p.sum(1), 1)
    assert head.score(x[1000:], y[1000:]) > 0.9
    assert list(head.classes_) == ["ant", "bee", "cow"]
    gap = abs(p.max(1).mean() - (head.predict(x[1000:]) == y[1000:]).mean())
    assert gap < 0.04
    same = pickle.loads(pickle.dumps(head))
    assert np.array_equal(same.predict_proba(x[1000:]), p)


def test_more_rows_help(features: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = features
    head = tr.Head(seed=1).fit(x[:60], y[:60])
    few = np.log(head.predict_proba(x[1000:])[np.arange(500), np.searchsorted(head.classes_, y[1000:])]).mean()
    head.partial_fit(x[60:1000], y[60:1000])
    more = np.log(head.predict_proba(x[1000:])[np.arange(500), np.searchsorted(head.classes_, y[1000:])]).mean()
    assert more > few
    with pytest.raises(ValueError, match="dog"):
        head.partial_fit(x[:1], ["dog"])


def test_tensors_of_a_torch_backbone(features: tuple[np.ndarray, np.ndarray]) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, y = features
    backbone = torch.nn.Sequential(torch.nn.Linear(12, 20), torch.nn.ReLU())
    out = backbone(torch.tensor(x, dtype=torch.float32))  # with a gradient, in single precision
    head = tr.Head().fit(out[:1000], y[:1000])
    assert head.score(out[1000:], y[1000:]) > 0.8


def test_bad_input(features: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = features
    with pytest.raises(ValueError, match="call fit first"):
        tr.Head().predict(x)
    with pytest.raises(ValueError, match="too few"):
        tr.Head().fit(x[:5], y[:5])
    with pytest.raises(ValueError, match="expected 100, one per row, got 99"):
        tr.Head().fit(x[:100], y[:99])
    with pytest.raises(ValueError, match="at least two classes"):
        tr.Head().fit(x[:100], ["ant"] * 100)
    with pytest.raises(ValueError, match="same in every row"):
        tr.Head().fit(np.ones((100, 3)), y[:100])
    with pytest.raises(ValueError, match="held_out: 0.5"):
        tr.Head(held_out=0.5)
    with pytest.raises(ValueError, match="rows of 12, got 3"):
        tr.Head().fit(x[:200], y[:200]).predict(np.zeros((1, 3)))
