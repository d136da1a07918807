#!/usr/bin/env python3
"""Times training on a GPU in both of our precisions and in PyTorch, in the same run, and writes docs/results/cuda.json.

    python docs/benchmarks/cuda.py target/release/tractable docs/results [DATA]

With a folder that has mnist/ and cifar-10-batches-bin/, it also times whole tasks. Their errors are measured on held-out training images: the last
10,000 of MNIST, the last file of CIFAR-10 (its first file is then used twice, because the program reads five).
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


def lines(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def ours(program, device):
    said = lines([program, "bench", "--device", device, "--json"])
    name = next(line["device"] for line in said if "device" in line)
    return name, {(line["network"], line["batch"]): line for line in said if "images_per_second" in line}


def held_out(data, folder):
    """Writes the data sets with held-out training images in place of the test images."""
    mnist, cifar = folder / "mnist", folder / "cifar-10-batches-bin"
    mnist.mkdir()
    cifar.mkdir()
    images = gzip.open(data / "mnist/train-images-idx3-ubyte.gz").read()[16:]
    labels = gzip.open(data / "mnist/train-labels-idx1-ubyte.gz").read()[8:]
    for name, first, last in (("train", 0, 50000), ("t10k", 50000, 60000)):
        head = struct.pack(">IIII", 2051, last - first, 28, 28)
        gzip.open(mnist / f"{name}-images-idx3-ubyte.gz", "wb", 1).write(head + images[784 * first : 784 * last])
        head = struct.pack(">II", 2049, last - first)
        gzip.open(mnist / f"{name}-labels-idx1-ubyte.gz", "wb", 1).write(head + labels[first:last])
    source = data / "cifar-10-batches-bin"
    for to, batch in enumerate((1, 2, 3, 4, 1), 1):
        shutil.copy(source / f"data_batch_{batch}.bin", cifar / f"data_batch_{to}.bin")
    shutil.copy(source / "data_batch_5.bin", cifar / "test_batch.bin")


CIFAR = "--augment=flip,crop --noise-start 1 --noise-decay 0.85 --noise-floor 0.19 --settle-after 20 --settle-noise 0.6 --epochs 25 --batch 32"


def tasks(program, data):
    out = []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        held_out(pathlib.Path(data), folder)
        for name, words, what in (
            ("mnist", "--augment --batch 128 --epochs 20", "MNIST, batch normalisation, crops"),
            ("cifar10", CIFAR, "CIFAR-10, batch normalisation, flips and crops"),
        ):
            command = f"train {name} --net paper-norm {words} --device cuda-fast"
            began = time.perf_counter()
            said = lines([program, *command.split(), "--data", made, "-o", f"{made}/{name}-run", "--json", "--quiet"])
            seconds = time.perf_counter() - began
            error = next(line["error_rate"] for line in reversed(said) if "error_rate" in line)
            out.append({"task": what, "command": f"tractable {command}", "error_percent": 100 * error, "seconds": seconds})
        command = "attack RUN --images 1000 --device cuda-fast"
        began = time.perf_counter()
        said = lines([program, *command.replace("RUN", f"{made}/mnist-run").split(), "--data", data, "--json", "--quiet"])
        seconds = time.perf_counter() - began
        success = next(line["success"] for line in reversed(said) if "success" in line)
        what = "9,000 attacks on MNIST by inference"
        out.append({"task": what, "command": f"tractable {command}", "success_percent": 100 * success, "seconds": seconds})
    return out


def main():
    program, folder, *data = sys.argv[1:]
    began = time.strftime("%Y-%m-%d")
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
    device = name.split(", ", 1)[1]
    result = {"command": "python docs/benchmarks/cuda.py", "date": began, "device": device, "rows": rows}
    if data:
        result["tasks"] = tasks(program, data[0])
    (pathlib.Path(folder) / "cuda.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
