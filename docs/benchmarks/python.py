"""What the Python package costs: beside Rust, and beside scikit-learn, River, pytagi and Stable-Baselines3, in one run.

    pip install . scikit-learn river stable-baselines3 gymnasium && python docs/benchmarks/python.py

Writes docs/results/python.json; docs/benchmarks/python.md is made from it. Peers that are not installed are left out, and it says
so (pytagi needs libmpi on the system and NCCL's folder in LD_LIBRARY_PATH). Leave the machine alone while it runs. --smoke: short, printed, nothing written.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[name] = "1"

import numpy as np
import tractable as tr

ROOT = Path(__file__).resolve().parent.parent.parent
SMOKE = "--smoke" in sys.argv
SECONDS = 0.05 if SMOKE else 2.0
ROWS = 20_000 if SMOKE else 1_000_000
CALLS = 10_000 if SMOKE else 1_000_000
rng = np.random.default_rng(0)


def per_call(f, seconds=SECONDS):
    """Best and median time of a call in microseconds, over blocks."""
    f()
    began = time.perf_counter()
    f()
    n = max(1, int(0.01 / (time.perf_counter() - began)))
    blocks, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(blocks) < 3:
        began = time.perf_counter()
        for _ in range(n):
            f()
        blocks.append((time.perf_counter() - began) / n * 1e6)
    return {"best_us": min(blocks), "median_us": statistics.median(blocks)}


def in_rust():
    """One learn of 23-128-128-128-1 at batch 16, in the same build."""
    for row in tr.bench(seconds=SECONDS):
        if row.get("verb") == "learn" and row["network"] == "23-128-128-128-1":
            return {"best_us": row["best_us"], "median_us": row["median_us"]}
    raise RuntimeError("bench has no such line")


def beside_rust():
    net = tr.Network.mlp([23, 128, 128, 128, 1], "relu", noise=0.1, seed=0, device="cpu:1")
    x, y = rng.normal(size=(16, 23)), rng.normal(size=16)
    rounds = [(in_rust(), per_call(lambda: net.learn(x, y))) for _ in range(1 if SMOKE else 3)]
    rust = min(r["best_us"] for r, _ in rounds)
    ours = min(p["best_us"] for _, p in rounds)
    one = x[:1].copy()
    return {
        "learn_rust_us": rust,
        "learn_python_us": ours,
        "learn_more_us": ours - rust,
        "predict_one_row_us": per_call(lambda: net.predict(one))["best_us"],
        "predict_one_row_and_read_us": per_call(lambda: net.predict(one).mean)["best_us"],
    }


def million_rows():
    """One epoch over many rows: `fit` here, and the program's own time for the same epoch."""
    x = np.round(rng.normal(size=(ROWS, 23)), 3)
    y = np.round(x[:, 0] + 0.1 * rng.normal(size=ROWS), 3)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rows.csv"
        header = ",".join([f"x{i}" for i in range(23)] + ["y"])
        np.savetxt(table, np.c_[x, y], fmt="%.3f", delimiter=",", header=header, comments="")
        times = {"rust": [], "python": []}
        for _ in range(1 if SMOKE else 3):
            run = Path(folder) / "run"
            command = f"train {table} --target y --hidden 128,128,128 --activation relu --noise-std 0.1 --epochs 1 --batch 16 -q --force -o {run} --threads 1"
            subprocess.run([sys.executable, "-m", "tractable", *command.split()], check=True, capture_output=True)
            lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
            epoch = next(line for line in lines if line["type"] == "epoch")
            # The program keeps some rows to calibrate on.
            times["rust"].append(epoch["seconds"] / epoch["learned"]["rows"] * ROWS)
            net = tr.Network.mlp([23, 128, 128, 128, 1], "relu", noise=0.1, seed=0, device="cpu:1")
            began = time.perf_counter()
            net.fit(x, y, epochs=1, batch=16, progress=False)
            times["python"].append(time.perf_counter() - began)
    rust, python = min(times["rust"]), min(times["python"])
    return {"rows": ROWS, "rust_seconds": rust, "python_seconds": python, "ratio": python / rust}


def side_by_side():
    """Two threads on two networks, as a multiple of one thread on one."""
    x, y = rng.normal(size=(16, 23)), rng.normal(size=16)
    count = 200 if SMOKE else 10_000

    def learn(net):
        for _ in range(count):
            net.learn(x, y)

    def run(n):
        threads = [threading.Thread(target=learn, args=(tr.Network.mlp([23, 128, 128, 128, 1]),)) for _ in range(n)]
        began = time.perf_counter()
        [t.start() for t in threads]
        [t.join() for t in threads]
        return time.perf_counter() - began

    rounds = [(run(1), run(2)) for _ in range(3)]
    return {"two_threads_over_one": min(two for _, two in rounds) / min(one for one, _ in rounds)}


def leak():
    net = tr.Network.mlp([4, 8, 1], seed=0)
    x, y = np.zeros((2, 4)), np.zeros(2)

    def work(n):
        for _ in range(n):
            net.learn(x, y)
            net.predict(x).mean
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = work(CALLS // 20)
    return {"calls": 2 * CALLS, "grown_kb": work(CALLS) - before}


def importing():
    code = "import numpy, time; t = time.perf_counter(); import tractable; print(time.perf_counter() - t)"
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(5))


def updates():
    """One update with 16 rows of 23 inputs, and one row of 10 features, by everyone who has it."""
    x, y = rng.normal(size=(16, 23)), rng.normal(size=16)
    rows = []

    def add(who, what, make):
        try:
            rows.append({"what": what, "who": who, **per_call(make())})
        except Exception as e:
            print(f"{who}: left out: {type(e).__name__}: {e}", file=sys.stderr)

    def ours():
        net = tr.Network.mlp([23, 128, 128, 128, 1], "relu", noise=0.1)
        return lambda: net.learn(x, y)

    def sklearn():
        from sklearn.neural_network import MLPRegressor

        net = MLPRegressor(hidden_layer_sizes=(128, 128, 128)).partial_fit(x, y)
        return lambda: net.partial_fit(x, y)

    def pytagi():
        from pytagi.nn import Linear, OutputUpdater, ReLU, Sequential

        net = Sequential(Linear(23, 128), ReLU(), Linear(128, 128), ReLU(), Linear(128, 128), ReLU(), Linear(128, 1))
        net.set_threads(1)
        updater = OutputUpdater(net.device)
        xs, ys, var = x.ravel().astype(np.float32), y.astype(np.float32), np.full(16, 0.01, np.float32)

        def update():
            net(xs)
            updater.update(net.output_z_buffer, ys, var, net.input_delta_z_buffer)
            net.backward()
            net.step()

        return update

    what = "23-128-128-128-1, 16 rows"
    for who, make in [("tractable", ours), ("scikit-learn MLPRegressor", sklearn), ("pytagi", pytagi)]:
        add(who, what, make)

    features = {f"f{i}": float(v) for i, v in enumerate(rng.normal(size=10))}
    stream = [({k: float(rng.normal()) for k in features}, float(rng.normal())) for _ in range(600)]

    def one(model):
        for row, target in stream:
            model.learn_one(row, target)
        return lambda: model.learn_one(features, 0.5)

    def river_linear():
        from river import linear_model, preprocessing

        return one(preprocessing.StandardScaler() | linear_model.LinearRegression())

    def river_tree():
        from river import tree

        return one(tree.HoeffdingAdaptiveTreeRegressor())

    def river_forest():
        from river import forest

        return one(forest.ARFRegressor(seed=0))

    what = "learn_one, 10 features"
    add("tractable OnlineRegressor", what, lambda: one(tr.OnlineRegressor()))
    add("River linear regression, scaled", what, river_linear)
    add("River Hoeffding adaptive tree", what, river_tree)
    add("River adaptive random forest", what, river_forest)
    return rows


def steps_per_second():
    """Training InvertedPendulum: ours on our task, ours on Gymnasium's, PPO of Stable-Baselines3 on Gymnasium's."""
    steps = 4096 if SMOKE else 40_960
    rows = []
    own = tr.Task("inverted-pendulum", limit=1000)
    jobs = [("tractable, embedded task", lambda: tr.Agent(own, settings="gentle").learn(own, steps, progress=False))]
    try:
        import gymnasium

        env = gymnasium.make("InvertedPendulum-v5")
        jobs.append(("tractable, Gymnasium's task", lambda: tr.Agent(env, settings="gentle").learn(env, steps, progress=False)))
        from stable_baselines3 import PPO

        jobs.append(("Stable-Baselines3 PPO", lambda: PPO("MlpPolicy", gymnasium.make("InvertedPendulum-v5"), device="cpu").learn(steps)))
    except Exception as e:
        print(f"Gymnasium, Stable-Baselines3: left out: {e}", file=sys.stderr)
    for who, job in jobs:
        began = time.perf_counter()
        job()
        rows.append({"who": who, "steps_per_second": steps / (time.perf_counter() - began)})
    return rows


def main():
    load, began = os.getloadavg()[0], time.time()
    model = next((l.split(": ", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "")
    results = {
        "command": "python docs/benchmarks/python.py",
        "machine": f"{model}, {os.cpu_count()} cores, {platform.system().lower()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load_before": load,
        "import_seconds": importing(),
        "beside_rust": beside_rust(),
        "million_rows": million_rows(),
        "threads": side_by_side(),
        "leak": leak(),
        "updates": updates(),
        "rl": steps_per_second(),
    }
    results["seconds"] = time.time() - began
    text = json.dumps(results, indent=2) + "\n"
    if SMOKE:
        print(text)
    else:
        (ROOT / "docs/results/python.json").write_text(text)


if __name__ == "__main__":
    main()
