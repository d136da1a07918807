"""The package as a whole: import, stubs, types, threads, processes, memory, command line."""

import doctest
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tractable as tr
from tractable import _tractable as native

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def run(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, **more)  # type: ignore[call-overload,no-any-return]


def test_import_is_fast_and_needs_numpy_alone() -> None:
    code = """
import sys, time, numpy
before = set(sys.modules)
began = time.perf_counter()
import tractable
spent = time.perf_counter() - began
others = {m.split(".")[0] for m in set(sys.modules) - before} - {"tractable"} - set(sys.stdlib_module_names)
print(spent, sorted(others))
"""
    said = [run("-c", code).stdout.split(maxsplit=1) for _ in range(3)]
    assert {others.strip() for _, others in said} == {"[]"}
    assert min(float(spent) for spent, _ in said) < 0.1


def test_everything_listed_is_there() -> None:
    for name in tr.__all__:
        if name.startswith("Tractable"):
            pytest.importorskip("sklearn", reason="scikit-learn is not installed")
        assert getattr(tr, name) is not None, name
    assert set(tr.__all__) <= set(dir(tr))
    with pytest.raises(AttributeError, match="nothing"):
        tr.nothing  # noqa: B018


def test_examples_of_the_native_part_hold() -> None:
    runner, names = doctest.DocTestRunner(), []
    for kind in vars(native).values():
        for name in vars(kind) if isinstance(kind, type) else ():
            text = getattr(kind, name).__doc__ or ""
            if ">>>" in text and not name.startswith("__"):
                names.append(f"{kind.__name__}.{name}")
                runner.run(doctest.DocTestParser().get_doctest(text, {}, names[-1], None, 0))
    assert {"Ensemble.fit", "Ensemble.learn", "Network.learn", "Prediction.quantile"} <= set(names)
    assert runner.summarize().failed == 0


# --- stubs ---------------------------------------------------------------------------------------------------


def stubs() -> dict[str, dict[str, list[str] | None]]:
    """Classes of the stub file, with their members: arguments with their defaults, or None for a property."""
    import ast

    tree = ast.parse((ROOT / "python/tractable/_tractable.pyi").read_text())
    found: dict[str, dict[str, list[str] | None]] = {"": {}}

    def signature(node: ast.FunctionDef) -> list[str]:
        a = node.args
        plain = [*a.posonlyargs, *a.args]
        defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
        shown = [argument(x.arg, default) for x, default in zip(plain, defaults)]
        shown += [f"*{a.vararg.arg}"] if a.vararg else []
        shown += [f"only {argument(x.arg, default)}" for x, default in zip(a.kwonlyargs, a.kw_defaults)]
        return [x for x in shown if x not in ("self", "cls")]

    def argument(name: str, default: ast.expr | None) -> str:
        return name if default is None else f"{name}={ast.literal_eval(default)!r}"

    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[""][node.name] = signature(node)
        if isinstance(node, ast.ClassDef):
            members: dict[str, list[str] | None] = {}
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in member.decorator_list)
                    members[member.name] = None if is_property else signature(member)
            found[node.name] = members
    return found


def arguments(function: object) -> list[str]:
    """As the stub file's are shown."""
    shown = []
    for name, p in inspect.signature(function).parameters.items():  # type: ignore[arg-type]
        text = name if p.default is p.empty else f"{name}={p.default!r}"
        text = f"*{name}" if p.kind is p.VAR_POSITIONAL else f"only {text}" if p.kind is p.KEYWORD_ONLY else text
        shown += [text] if name not in ("self", "cls") else []
    return shown


def members(thing: object) -> dict[str, list[str] | None]:
    """The same of the compiled module."""
    out: dict[str, list[str] | None] = {}
    special = {"__new__", "__add__", "__len__", "__copy__", "__deepcopy__", "_repr_html_"}
    for name, member in vars(thing).items():
        if isinstance(member, type) or (name.startswith("__") and name not in special):
            continue
        if inspect.isgetsetdescriptor(member):
            out[name] = None
        elif name == "__new__":
            if not inspect.isclass(thing) or getattr(thing, "__text_signature__", None) is None:
                continue
            out[name] = arguments(thing)
        elif name == "__len__":
            out[name] = []
        elif callable(member) or isinstance(member, staticmethod):
            function = member.__func__ if isinstance(member, staticmethod) else member
            out[name] = arguments(function)
    return out


def test_stubs_and_compiled_module_agree() -> None:
    said = stubs()
    classes = {name: thing for name, thing in vars(native).items() if isinstance(thing, type)}
    assert set(classes) == set(said) - {""}
    functions = {n: members(native)[n] for n in members(native)}
    assert functions == said[""]
    for name, thing in classes.items():
        assert members(thing) == said[name], name


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types_check(checker: str) -> None:
    pytest.importorskip(checker, reason=f"{checker} is not installed")
    args = ["mypy", "--strict", "python/tractable", "python/tests/typical_use.py"] if checker == "mypy" else ["pyright", "--pythonpath", sys.executable]
    said = run("-m", *args, cwd=ROOT)
    if checker == "pyright" and "error" not in said.stdout and said.returncode != 0:
        pytest.skip(f"pyright does not run here: {(said.stderr.strip() or 'no reason').splitlines()[-1]}")
    assert said.returncode == 0, said.stdout + said.stderr


def test_typical_use_runs() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    said = run(str(HERE / "typical_use.py"))
    assert said.returncode == 0, said.stderr


# --- threads and processes -----------------------------------------------------------------------------------


def busy(net: tr.Network) -> None:
    x = np.zeros((64, 23))
    for _ in range(60):
        net.learn(x, x[:, 0])


def in_threads(*jobs: tuple[object, ...]) -> None:
    threads = [threading.Thread(target=f, args=args) for f, *args in jobs]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
def test_python_goes_on_while_a_network_learns() -> None:
    """The lock is released. How fast two networks learn side by side is in docs/benchmarks/python.md."""
    net = tr.Network.mlp([23, 256, 256, 1], seed=0)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.perf_counter()
    net.learn(np.zeros((20_000, 23)), np.zeros(20_000))  # one long call
    spent = time.perf_counter() - began
    done.set()
    ticker.join()
    assert ticks > 0.1 * spent / 0.002, f"{ticks} ticks in {spent:.2f} s"


def test_one_network_from_two_threads_waits() -> None:
    net = tr.Network.mlp([23, 32, 1], seed=0)
    alone = tr.Network.mlp([23, 32, 1], seed=0)
    in_threads((busy, net), (busy, net), (lambda: [net.predict(np.zeros((8, 23))) for _ in range(50)],))
    busy(alone)
    busy(alone)
    assert np.allclose(net.predict(np.zeros((1, 23))).mean, alone.predict(np.zeros((1, 23))).mean)


def test_a_question_during_a_fit_waits_and_does_not_hang() -> None:
    """The fit needs Python's lock now and then, which whoever waits for the network must not hold."""
    net = tr.Network.mlp([4, 32, 1], seed=0)
    x = np.zeros((2000, 4))
    fit = threading.Thread(target=lambda: net.fit(x, x[:, 0], epochs=40, progress=lambda *_: None))
    fit.start()
    while fit.is_alive():
        assert net.parameters == 4 * 32 + 32 + 32 + 1
        repr(net)
    fit.join(timeout=60)
    assert not fit.is_alive()


def predicted(net: tr.Network) -> float:
    return float(net.predict([[0.5]]).mean[0])


wide: list[tr.Network] = []


def inherited(seed: int) -> float:
    """Uses the parent's network, drops it, and makes another."""
    said = float(wide[0].predict(np.ones((64, 64))).mean.sum())
    wide.clear()
    net = tr.Network.mlp([64, 512, 512, 1], seed=seed)
    net.learn(np.ones((64, 64)), np.ones(64))
    return said + float(net.predict(np.ones((64, 64))).mean.sum())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method: str, net: tr.Network) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    wide[:] = [tr.Network.mlp([64, 512, 512, 1])]
    wide[0].learn(np.zeros((64, 64)), np.zeros(64))  # starts threads, which a fork does not have
    with multiprocessing.get_context(method).Pool(1) as pool:
        said = pool.map_async(predicted, [net] * 4).get(timeout=60)
        assert said == [predicted(net)] * 4
        if method == "fork":
            there = pool.apply_async(inherited, (2,)).get(timeout=60)
            assert there == pytest.approx(inherited(2))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_ends_a_long_call_and_keeps_the_work() -> None:
    code = """
import numpy as np, tractable as tr
net = tr.Network.mlp([4, 64, 64, 1])
before = net.to_bytes()
x = np.random.default_rng(0).normal(size=(5000, 4))
print("ready", flush=True)
try:
    net.fit(x, x[:, 0], epochs=1_000_000)
except KeyboardInterrupt:
    print("interrupted", net.to_bytes() != before)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert out == "interrupted True\n", err
    assert err == ""  # no progress in a pipe


def test_no_leak() -> None:
    resource = pytest.importorskip("resource", reason="needs Unix")
    net = tr.Network.mlp([4, 8, 2], seed=0)
    x, y = np.zeros((4, 4)), np.zeros((4, 2))

    def work(n: int) -> int:
        for _ in range(n):
            p = net.predict(x)
            p.mean, p.std, p.interval()  # noqa: B018
            net.learn(x, y)
            net.learn(x.tolist(), y)
            try:
                net.predict([[1.0]])
            except ValueError:
                pass
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = work(2000)
    assert work(20_000) - before < 2000  # kB


# --- the command line ----------------------------------------------------------------------------------------


def test_the_same_command_line(tmp_path: Path) -> None:
    assert run("-m", "tractable", "--version").stdout.strip() == f"tractable {tr.__version__}"
    (tmp_path / "data.csv").write_text("x,y\n" + "".join(f"{i / 10},{i / 5}\n" for i in range(60)))
    said = run("-m", "tractable", "train", "data.csv", "--target", "y", "-o", "run", "--single", "-q", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    model = tr.Ensemble.load(tmp_path / "run/model.safetensors")
    assert model.predict([2.0]).mean[0] == pytest.approx(4.0, abs=0.3)
    typed = json.loads((tmp_path / "run/commands.jsonl").read_text().splitlines()[0])["args"]
    assert typed[0] == "train"
    said = run("-m", "tractable", "train", "nowhere.csv", "--target", "y", cwd=tmp_path)
    assert (said.returncode, said.stderr.startswith("error: nowhere.csv")) == (2, True)
    # And a model of Python's in the program.
    frame = tmp_path / "new.csv"
    frame.write_text("x\n1\n")
    model.save(tmp_path / "python.safetensors")
    said = run("-m", "tractable", "predict", "python.safetensors", "new.csv", cwd=tmp_path)
    assert said.returncode == 0 and re.search(r"^\S*2\.\d|^1?\S*,?2\.", said.stdout, re.M), said.stdout + said.stderr
