#!/usr/bin/env python3
"""Times training on a GPU in both of our precisions and in PyTorch, in the same run, and writes docs/results/cuda.json.

    python docs/benchmarks/cuda.py target/release/tractable docs/results [DATA]
    python docs/benchmarks/cuda.py --held-out target/release/tractable DATA

With a folder that has mnist/, and cifar-10-batches-bin/ if CIFAR-10 is to be trained too, it also trains whole tasks on all training images
and tests them on the test images, and compares the devices. Parts that were not run keep their old results, if those are of the same kind of GPU.

--held-out repeats how the settings were chosen: it trains on fewer images, prints the errors on held-out training images, and writes nothing. They
are the last 10,000 of MNIST and the last file of CIFAR-10 (its first file is then used twice, because the program reads five).
"""

import gzip
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
SEEDS = (1, 2, 3)

MNIST = "--net paper-norm --augment --batch 128 --epochs 24 --calibration 0.02 --noise-decay 0.9 --noise-floor 0.2 --settle-after 18 --settle-noise 0.6"
CIFAR = "--net paper-norm --augment=flip,crop --noise-start 1 --noise-decay 0.87 --noise-floor 0.17 --settle-after 28 --settle-noise 0.6 --epochs 36 --batch 32 --calibration 0.02"
# Name of the set, its folder, what is trained, and how.
TRAINED = (
    ("mnist", "mnist", "MNIST, batch normalisation, crops", MNIST),
    ("cifar10", "cifar-10-batches-bin", "CIFAR-10, batch normalisation, flips and crops", CIFAR),
)
ATTACKS = ("9,000 attacks on MNIST by inference", "attack RUN --images 1000 --device cuda-fast")
# The same short training on every device.
DEVICES = ("cpu", "cuda", "cuda-fast")
COMPARED = (
    ("784-128-128", "train mnist --net mlp --hidden 128,128 --epochs 1 --batch 128"),
    ("convolutions", "train mnist --net paper --epochs 1 --batch 128"),
)


def lines(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def ours(program, device):
    said = lines([program, "bench", "--device", device, "--json"])
    name = next(line["device"] for line in said if "device" in line)
    return name, {(line["network"], line["batch"]): line for line in said if "images_per_second" in line}


def rates(program):
    """The device's name, and images per second of every network."""
    name, fast = ours(program, "cuda-fast")
    _, precise = ours(program, "cuda")
    torch = {(line["network"], line["batch"]): line for line in lines([sys.executable, str(HERE / "torch_cuda.py")])}
    rows = [
        {
            "network": network,
            "batch": batch,
            "fast": round(fast[network, batch]["images_per_second"]),
            "precise": round(precise[network, batch]["images_per_second"]),
            "torch": torch[network, batch]["images_per_second"],
            "fast_step_us": fast[network, batch]["step_us"],
        }
        for network, batch in fast
    ]
    return name.split(", ", 1)[1], rows


def held_out(data, folder):
    """Writes the data sets with held-out training images in place of the test images."""
    mnist, cifar = folder / "mnist", folder / "cifar-10-batches-bin"
    if (data / mnist.name).is_dir():
        mnist.mkdir()
        images = gzip.open(data / "mnist/train-images-idx3-ubyte.gz").read()[16:]
        labels = gzip.open(data / "mnist/train-labels-idx1-ubyte.gz").read()[8:]
        for name, first, last in (("train", 0, 50000), ("t10k", 50000, 60000)):
            head = struct.pack(">IIII", 2051, last - first, 28, 28)
            gzip.open(mnist / f"{name}-images-idx3-ubyte.gz", "wb", 1).write(head + images[784 * first : 784 * last])
            head = struct.pack(">II", 2049, last - first)
            gzip.open(mnist / f"{name}-labels-idx1-ubyte.gz", "wb", 1).write(head + labels[first:last])
    source = data / cifar.name
    if source.is_dir():
        cifar.mkdir()
        for to, batch in enumerate((1, 2, 3, 4, 1), 1):
            shutil.copy(source / f"data_batch_{batch}.bin", cifar / f"data_batch_{to}.bin")
        shutil.copy(source / "data_batch_5.bin", cifar / "test_batch.bin")


def train(program, data, words, run):
    """Error on the test images in per cent, and seconds from the start to a saved model."""
    began = time.perf_counter()
    said = lines([program, *words.split(), "--data", str(data), "-o", str(run), "--json", "--quiet"])
    seconds = time.perf_counter() - began
    return 100 * next(line["error_rate"] for line in reversed(said) if "error_rate" in line), seconds


def trained(program, data, runs):
    """Every task there is data for, over all seeds. Runs are left in `runs`."""
    out = []
    for name, folder, task, words in TRAINED:
        if not (data / folder).is_dir():
            print(f"skipped: {task}: there is no {data / folder}", file=sys.stderr)
            continue
        command = f"train {name} {words} --device cuda-fast"
        of = [train(program, data, f"{command} --seed {seed}", runs / f"{name}-{seed}") for seed in SEEDS]
        errors, seconds = zip(*of)
        out.append({"task": task, "command": f"tractable {command}", "seeds": SEEDS, "errors_percent": errors, "seconds": seconds})
    return out


def attacks(program, data, run):
    task, command = ATTACKS
    began = time.perf_counter()
    said = lines([program, *command.replace("RUN", str(run)).split(), "--data", str(data), "--json", "--quiet"])
    seconds = time.perf_counter() - began
    success = next(line["success"] for line in reversed(said) if "success" in line)
    return {"task": task, "command": f"tractable {command}", "success_percent": 100 * success, "seconds": [seconds]}


def tasks(program, data):
    with tempfile.TemporaryDirectory() as made:
        runs = pathlib.Path(made)
        out = trained(program, data, runs)
        run = runs / f"mnist-{SEEDS[0]}"
        return out + ([attacks(program, data, run)] if run.is_dir() else [])


def agreement(program, data):
    """Test errors of the same training on every device, one per seed."""
    out = []
    with tempfile.TemporaryDirectory() as made:
        for number, (network, command) in enumerate(COMPARED):
            errors = {
                device: [
                    train(program, data, f"{command} --device {device} --seed {seed}", pathlib.Path(made) / f"{number}-{device}-{seed}")[0]
                    for seed in SEEDS
                ]
                for device in DEVICES
            }
            out.append({"network": network, "command": f"tractable {command}", "seeds": SEEDS, "errors_percent": errors})
    return out


def merged(new, old):
    """The new tasks, and old ones that were not run, in the order of the old ones."""
    found = {task["task"]: task for task in new}
    return [found.pop(task["task"], task) for task in old] + list(found.values())


def print_held_out(program, data):
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        held_out(data, folder)
        print(json.dumps(trained(program, folder, folder), indent=1))


def main():
    if sys.argv[1:2] == ["--held-out"]:
        program, data = sys.argv[2:]
        return print_held_out(program, pathlib.Path(data))
    program, folder, *data = sys.argv[1:]
    path = pathlib.Path(folder) / "cuda.json"
    old = json.loads(path.read_text()) if path.exists() else {}
    began = time.strftime("%Y-%m-%d")
    device, rows = rates(program)
    if old.get("device") != device:
        old = {}  # measured elsewhere
    result = {"command": "python docs/benchmarks/cuda.py", "date": began, "device": device, "rows": rows}
    result |= {part: old[part] for part in ("tasks", "agreement") if part in old}
    if data:
        data = pathlib.Path(data[0])
        result["tasks"] = merged(tasks(program, data), old.get("tasks", []))
        if (data / "mnist").is_dir():
            result["agreement"] = agreement(program, data)
    text = json.dumps(result, indent=1) + "\n"
    path.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
