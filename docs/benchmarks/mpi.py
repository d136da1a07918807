"""Several processes under mpirun: speed of shared batches, and the error after a few epochs with 1 to 8 of them.

    cargo build --release -p tractable-cli --features mpi
    python docs/benchmarks/mpi.py --data DIR -o docs/results/mpi.json

Speed: one epoch of the first images of MNIST, batches of 128, one thread per process. Runs with one and two processes alternate, and the
best block of each counts, because other work on the machine can only slow it down. Two processes that share nothing show what two cores can do. Error: the same network and number of epochs,
with shared batches of 16 or merging every N batches. Processes share two cores, so only the error is meaningful.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ENV = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def train(args: argparse.Namespace, ranks: int, words: str) -> list[dict]:
    """Runs one training and returns its JSON lines."""
    with tempfile.TemporaryDirectory() as folder:
        mpirun = ["mpirun", "-q", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
        if ranks > 2:
            mpirun += ["--bind-to", "none"]
        command = f"{args.program} train mnist --data {args.data} {words} --threads 1 --json --quiet -o {folder}/run"
        done = subprocess.run([*mpirun, *command.split()], env=ENV, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join([*mpirun, command])}\n{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def apart(args: argparse.Namespace) -> float:
    """Seconds of the slower of two processes that share nothing, each with half the batch and all images: twice the work."""
    words = f"--batch 64 --epochs 1 --limit {args.speed_images} --calibration 0"
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(lambda _: train(args, 1, words), range(2))
        return max(next(line["seconds"] for line in lines if line["type"] == "epoch") for lines in both)


def speed(args: argparse.Namespace) -> dict:
    words = f"--batch 128 --epochs 1 --limit {args.speed_images} --calibration 0"
    seconds: dict[int, list[float]] = {1: [], 2: []}
    alone = []
    for _ in range(args.blocks):
        for ranks, of in seconds.items():
            of.append(next(line["seconds"] for line in train(args, ranks, words) if line["type"] == "epoch"))
        alone.append(apart(args))
    best = {ranks: min(of) for ranks, of in seconds.items()}
    return {
        "network": "MNIST CNN",
        "batch": 128,
        "images": args.speed_images,
        "blocks": args.blocks,
        "seconds": {str(ranks): of for ranks, of in seconds.items()},
        "images_per_second": {str(ranks): args.speed_images / s for ranks, s in best.items()},
        "two_over_one": best[1] / best[2],
        "seconds_apart": alone,
        "two_apart_over_one": 2 * best[1] / min(alone),
    }


PLANS = [(1, "batch"), (2, "batch"), (4, "batch"), (8, "batch"), (2, "8"), (4, "8"), (8, "8"), (8, "64")]


def errors(args: argparse.Namespace, result: dict) -> None:
    """Adds the missing rows, and saves after each."""
    done = {(row["ranks"], row["sync"]) for row in result["rows"]}
    for ranks, sync in (plan for plan in PLANS if plan not in done):
        of = []
        for seed in range(args.seeds):
            words = f"--net {args.net} --epochs {args.epochs} --batch {args.batch} --limit {args.images} --seed {seed} --sync {sync} --calibration 0"
            lines = train(args, ranks, words)
            of.append([line for line in lines if line["type"] == "epoch"][-1]["test_error"])
            result["weights"] = next(line["parameters"] for line in lines if "parameters" in line)
        result["rows"].append({"ranks": ranks, "sync": sync, "errors": of})
        print(result["rows"][-1], flush=True)
        args.output.write_text(json.dumps(result, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/tractable")
    parser.add_argument("--data", required=True, help="folder with MNIST")
    parser.add_argument("--speed-images", type=int, default=3840)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--net", default="mlp")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=["speed", "errors"])
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    began, load = time.perf_counter(), os.getloadavg()[0]
    old = json.loads(args.output.read_text()) if args.output.exists() else {}
    result = {
        "command": f"python docs/benchmarks/mpi.py --data DIR --speed-images {args.speed_images} --blocks {args.blocks} "
        f"--images {args.images} --net {args.net} --epochs {args.epochs} --seeds {args.seeds}",
        "machine": f"{os.cpu_count()} cores, {platform.system().lower()} {platform.machine()}",
        "load_before": load,
        "speed": speed(args) if args.only != "errors" else old.get("speed"),
        "images": args.images,
        "batch": args.batch,
        "weights": old.get("weights"),
        "network": args.net,
        "epochs": args.epochs,
        "rows": old.get("rows", []),
    }
    args.output.write_text(json.dumps(result, indent=2) + "\n")
    if args.only != "speed":
        errors(args, result)
    result["seconds"] = time.perf_counter() - began
    args.output.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result["speed"], indent=2))


if __name__ == "__main__":
    main()
