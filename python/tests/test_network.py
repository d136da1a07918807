"""The three verbs of a network on arrays."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import tractable as tr


def f(x: np.ndarray) -> np.ndarray:
    return x**3 - 3 * x


def test_learns_a_curve(net: tr.Network) -> None:
    x = np.linspace(-1.8, 1.8, 50)
    p = net.predict(x)
    assert p.mean.shape == (50,)
    assert np.abs(p.mean - f(x)).mean() < 0.2
    assert np.allclose(p.var, p.model_var + p.noise_var)
    assert np.allclose(p.std**2, p.var)
    lower, upper = p.interval(0.9)
    assert np.allclose(upper - lower, 2 * 1.6448536 * p.std)
    assert np.allclose(p.quantile(0.5), p.mean)
    assert p.cov.shape == (50, 1, 1)
    assert np.allclose(p.cov[:, 0, 0], p.var)


def test_log_prob_and_samples_are_those_of_a_gaussian(net: tr.Network) -> None:
    p = net.predict(np.array([0.3, 1.0]))
    y = np.array([0.1, -1.5])
    expected = -0.5 * ((y - p.mean) / p.std) ** 2 - np.log(p.std * np.sqrt(2 * np.pi))
    assert np.allclose(p.log_prob(y), expected)
    drawn = p.sample(20_000, seed=1)
    assert drawn.shape == (20_000, 2)
    assert np.allclose(drawn.mean(0), p.mean, atol=5 * p.std.max() / np.sqrt(20_000))
    assert np.allclose(drawn.std(0), p.std, rtol=0.05)


def test_the_layout_of_an_array_does_not_matter(net: tr.Network) -> None:
    wide = tr.Network.mlp([3, 8, 2], seed=1)
    x = np.random.default_rng(0).normal(size=(6, 3))
    expected = wide.predict(x).mean
    assert expected.shape == (6, 2)
    for other in [np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, axis=1)[:, ::2], x.tolist(), x.astype(">f8")]:
        assert np.array_equal(wide.predict(other).mean, expected)
    narrow = x.astype(np.float32)
    assert np.array_equal(wide.predict(narrow).mean, wide.predict(narrow.astype(float)).mean)
    assert np.array_equal(wide.predict(x[0]).mean, expected[:1])  # one row
    whole = np.array([[1, 2, 3]])
    assert np.array_equal(wide.predict(whole).mean, wide.predict(whole.astype(float)).mean)


def test_doubles_in_c_order_are_read_where_they_are() -> None:
    from tractable._convert import to_numbers

    x = np.random.default_rng(0).normal(size=(6, 3))
    assert np.shares_memory(to_numbers(x, "x"), x)
    assert np.shares_memory(to_numbers(x[2:4], "x"), x)


def test_frames_and_tensors(net: tr.Network) -> None:
    x = np.linspace(-1, 1, 5)
    expected = net.predict(x).mean
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert np.array_equal(net.predict(pd.DataFrame({"x": x})).mean, expected)
    pl = pytest.importorskip("polars", reason="polars is not installed")
    assert np.array_equal(net.predict(pl.DataFrame({"x": x})).mean, expected)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.tensor(x[:, None], requires_grad=True)
    assert np.array_equal(net.predict(tensor).mean, expected)
    assert np.allclose(net.predict(tensor.float()).mean, expected, atol=1e-5)


def test_uncertain_inputs_widen_a_prediction(net: tr.Network) -> None:
    sure, unsure = net.predict([[0.3]]), net.predict([[0.3]], std=0.3)
    assert unsure.std[0] > sure.std[0]
    assert net.predict([[0.3]], std=0.0).mean == pytest.approx(sure.mean)


def test_covariance_of_outputs_is_given_on_request() -> None:
    wide = tr.Network.mlp([3, 8, 2], seed=1)
    x = np.random.default_rng(0).normal(size=(4, 3))
    p = wide.predict(x, std=0.1, cov=True)
    assert p.cov.shape == (4, 2, 2)
    assert np.allclose(np.diagonal(p.cov, axis1=1, axis2=2), p.var, rtol=1e-3)
    assert np.all(np.linalg.eigvalsh(p.cov) > 0)
    with pytest.raises(ValueError, match="cov=True"):
        wide.predict(x).cov


def test_condition_finds_the_input(net: tr.Network) -> None:
    x = net.condition([[0.5]], -1.5, std=0.3, noise_std=0.05)
    assert x.mean.shape == (1, 1)
    assert net.predict(x.mean).mean[0] == pytest.approx(-1.5, abs=0.2)
    assert x.std[0, 0] < 0.3
    assert x.cov().shape == (1, 1)
    assert x.found()["effective"] > 10
    assert net.predict(x).std[0] > 0  # a posterior is an uncertain input


def test_condition_reports_several_answers(net: tr.Network) -> None:
    x = net.condition([[0.0]], 0.0, std=1.5, noise_std=0.1)
    modes = x.modes()
    assert len(modes) >= 2
    assert sum(m.weight for m in modes) == pytest.approx(1.0, abs=1e-6)


def test_condition_on_a_maximum(net: tr.Network) -> None:
    tanh = tr.Network.mlp([1, 32, 1], "tanh", seed=0)
    x = np.linspace(-2, 2, 200)
    tanh.fit(x, f(x), epochs=60, batch=1, noise_std=0.1, progress=False)
    best = tanh.condition([[-0.5]], "max", std=0.7)
    assert max(best.modes(), key=lambda m: m.weight).mean[0] == pytest.approx(-1.0, abs=0.25)
    with pytest.raises(ValueError, match="`top` is not max, min, stationary or numbers"):
        tanh.condition([[0.0]], "top", std=0.1)


def test_what_is_not_a_number_is_left_free() -> None:
    wide = tr.Network.mlp([2, 16, 2], "tanh", seed=1)
    one = wide.condition([[0.1, 0.2]], [0.5, np.nan], std=0.5, noise_std=0.1)
    both = wide.condition([[0.1, 0.2]], [0.5, 0.5], std=0.5, noise_std=0.1)
    assert not np.allclose(one.mean, both.mean)
    missing = wide.copy()
    missing.learn([[0.1, 0.2]], [[1.0, np.nan]])
    first = wide.copy()
    first.learn([[0.1, 0.2]], [[1.0, 2.0]])
    assert not np.allclose(missing.predict([[0.1, 0.2]]).mean, first.predict([[0.1, 0.2]]).mean)


def test_search_moves_towards_the_output(net: tr.Network) -> None:
    x = net.search([[0.5]], -1.6, std=0.1, rounds=20)
    assert net.predict(x.mean).mean[0] == pytest.approx(-1.6, abs=0.3)


def test_derivatives() -> None:
    tanh = tr.Network.mlp([2, 16, 1], "tanh", seed=3)
    rows = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    tanh.fit(rows, rows[:, 0] ** 2 + rows[:, 1], epochs=50, batch=1, noise_std=0.05, progress=False)
    x, step = np.array([[0.2, -0.1]]), 1e-4
    d = tanh.derivative(x)
    assert d.mean.shape == (1, 2) and np.all(d.var > 0) and d.cov.shape == (1, 2)
    differences = [
        (tanh.predict(x + step * e).mean[0] - tanh.predict(x - step * e).mean[0]) / (2 * step) for e in np.eye(2)
    ]
    assert np.allclose(d.mean[0], differences, atol=0.1)
    assert tanh.second_derivative(x).shape == (1, 2)


def test_a_softmax() -> None:
    x = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]])
    net = tr.Network.mlp([2, 16, 3], classes=3, head="softmax", seed=0)
    for _ in range(50):
        net.learn(x, [0, 1, 2])
    assert net.predict_proba(x).argmax(axis=1).tolist() == [0, 1, 2]
    assert np.all(net.predict(x).noise_var == 0.0) and net.predict(x).mean.shape == (3, 3)
    with pytest.raises(ValueError, match="`most` is not tree or softmax"):
        tr.Network.mlp([2, 3], classes=3, head="most")
    with pytest.raises(ValueError, match="a softmax needs classes"):
        tr.Network.mlp([2, 3], head="softmax")
    with pytest.raises(ValueError, match="a softmax has no noise"):
        tr.Network.mlp([2, 3], classes=3, head="softmax", noise=0.5)


def test_residual_networks() -> None:
    for name in ["resnet18", "resnet20", "wrn-16-4"]:
        net = tr.Network.residual(name, (2, 8, 8), 5, width=4, seed=1)
        assert net.classes == 5 and net.predict_proba(np.zeros((2, 128))).shape == (2, 5)
    assert tr.Network.residual("resnet20", (3, 32, 32), 10).parameters == 272_474
    with pytest.raises(ValueError, match="`alexnet` is not resnet18"):
        tr.Network.residual("alexnet", (3, 32, 32), 10)
    layers = [tr.Layer.conv2d(4, 3).without_bias(), "relu", tr.Layer.linear(1)]
    assert tr.Network((1, 5, 5), layers).parameters == 4 * 9 + 4 * 9 + 1


def test_classes() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    net = tr.Network.mlp([2, 32, 3], classes=3, seed=0)
    net.fit(x, y, epochs=20, progress=False)
    p = net.predict_proba(x)
    assert p.shape == (300, 3)
    assert np.allclose(p.sum(1), 1)
    assert (p.argmax(1) == y).mean() > 0.9
    assert net.classes == 3
    net.learn(x[:4], y[:4])
    with pytest.raises(ValueError, match="0.5 is not a class"):
        net.learn(x[:1], [0.5])
    with pytest.raises(ValueError, match="noise_std: classes have a setting of their own"):
        net.learn(x[:1], [0], noise_std=0.1)
    other = net.search(x[:1], other_than=[int(p[0].argmax())], std=0.5, rounds=30, known_weights=True)
    assert net.predict_proba(other.mean).argmax() != p[0].argmax()


def test_layers_by_name() -> None:
    layers = [
        tr.Layer.conv2d(4, 3).padding(1),
        "mixture_relu",
        tr.Layer.max_pool2d(2).stride(2),
        tr.Layer.batch_norm(),
        tr.Layer.linear(16).named("features"),
        tr.Layer.activation("leaky_relu", slope=0.2),
        tr.Layer.linear(10),
    ]
    net = tr.Network((1, 8, 8), layers, classes=10, seed=0)
    images = np.random.default_rng(0).uniform(size=(5, 1, 8, 8))
    net.learn(images, [0, 1, 2, 3, 4])
    assert net.predict_proba(images).shape == (5, 10)
    assert net.input_shape == [1, 8, 8]
    assert "features" in net.layers
    hidden = net.condition(images[:1], [3], std=0.1, layer="features")
    assert hidden.mean.shape == (1, 16)
    weights, biases = net.weights("features") or (None, None)
    assert weights is not None and biases is not None and np.all(weights.var > 0)


def test_branches() -> None:
    layers = [
        tr.Layer.linear(8).named("a"),
        tr.Layer.activation("tanh").of("a").named("b"),
        tr.Layer.add().of("a", "b"),
        tr.Layer.linear(1),
    ]
    assert tr.Network(3, layers).predict(np.zeros((2, 3))).mean.shape == (2,)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"noise": "loud"}, "`loud` is not inferred, per_input or a standard deviation"),
        ({"noise": -1.0}, "-1 is not a positive number"),
        ({"update": "fast"}, "`fast` is not capped, plain, \\(paced, rows\\) or the number of rows"),
        ({"scheme": "random"}, "`random` is not he, xavier or even"),
        ({"activation": "swish"}, "`swish` is not known"),
        ({"device": "abacus"}, "abacus"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tr.Network.mlp([1, 4, 1], **settings)


def test_bad_input_is_refused_with_words(net: tr.Network) -> None:
    before = net.to_bytes()
    for bad, says in [
        ([[1.0, 2.0]], "expected rows of 1"),
        ([[float("nan")]], "row 0, column 0 is NaN"),
        ("text", "expected numbers"),
        ([[1 + 2j]], "expected numbers|complex"),
        (np.zeros((0, 1)), "at least one row"),
    ]:
        with pytest.raises(ValueError, match=says):
            net.predict(bad)
    for x, y, says in [([[1.0]], [1.0, 2.0], "expected 1 rows, got 2"), ([[1.0]], [float("inf")], "inf")]:
        with pytest.raises(ValueError, match=says):
            net.learn(x, y)
    with pytest.raises(ValueError, match="-1 is not a standard deviation"):
        net.predict([[1.0]], std=-1)
    with pytest.raises(ValueError, match="std: expected"):
        net.predict([[1.0]], std=[1.0, 2.0, 3.0])
    assert net.to_bytes() == before


def test_saved_copied_and_pickled(net: tr.Network, tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 9)
    expected = net.predict(x)
    net.save(tmp_path / "net.safetensors")
    net.save(str(tmp_path / "net.safetensors"))
    for same in [
        tr.Network.load(tmp_path / "net.safetensors"),
        tr.Network.from_bytes(net.to_bytes()),
        pickle.loads(pickle.dumps(net)),
        copy.deepcopy(net),
        copy.copy(net),
    ]:
        assert np.array_equal(same.predict(x).mean, expected.mean)
        same.learn([[0.0]], [5.0])
        assert not np.array_equal(same.predict(x).mean, expected.mean)
    assert np.array_equal(net.predict(x).mean, expected.mean)
    assert net.to_bytes() == (tmp_path / "net.safetensors").read_bytes()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tr.Network.load("nowhere")
    with pytest.raises(ValueError, match="safetensors"):
        tr.Network.from_bytes(b"not a model")
    with pytest.raises(ValueError, match="predict_proba: this is a regression model"):
        net.predict_proba(x)


def test_what_it_says_of_itself(net: tr.Network) -> None:
    assert repr(net) == "<Network 1 -> linear1, mixture_relu1, linear2 -> 1 output; 97 parameters>"
    assert "Prediction of 2 x 1" in repr(net.predict([0.1, 0.2]))
    assert repr(net.learn([0.1], [0.2])).startswith("LearnInfo(rows=1")


def test_fit_stops_early_and_reports() -> None:
    x = np.linspace(-1, 1, 100)
    net = tr.Network.mlp([1, 8, 1], seed=0)
    seen = []
    report = net.fit(x, x, epochs=30, validation=0.2, patience=2, progress=lambda done, of, what: seen.append((done, of)))
    assert report["epochs"] <= 30 and len(report["validation_nll"]) == report["epochs"]
    assert report["best_epoch"] is not None


def test_what_a_progress_function_raises_ends_the_fit_and_keeps_the_work() -> None:
    x = np.linspace(-1, 1, 2000)
    net = tr.Network.mlp([1, 64, 64, 1], seed=0)
    before = net.to_bytes()

    def stop(done: int, of: int, what: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        net.fit(x, x, epochs=100_000, progress=stop)
    assert net.to_bytes() != before


def test_the_same_seed_gives_the_same_bits() -> None:
    def trained(seed: int) -> bytes:
        net = tr.Network.mlp([1, 16, 1], seed=seed)
        net.fit(np.linspace(-1, 1, 50), np.linspace(0, 1, 50), epochs=3, progress=False)
        return net.to_bytes()

    assert trained(3) == trained(3)
    assert trained(3) != trained(4)


def test_progress_cannot_use_the_network_that_learns() -> None:
    net, said = tr.Network.mlp([1, 8, 1]), []
    other = net.copy()

    def look(done: int, of: int, what: str) -> None:
        assert len(other.predict([0.5])) == 1
        for use in (lambda: net.predict([0.5]), lambda: net.learn([0.5], [1.0]), lambda: net.seed, lambda: repr(net)):
            with pytest.raises(ValueError, match="network: it is learning") as error:
                use()
            said.append(error)

    net.fit([0.0, 1.0], [0.0, 1.0], epochs=3, batch=1, progress=look)
    assert len(said) >= 4
    assert len(net.predict([0.5])) == 1  # free again
