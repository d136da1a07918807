#!/usr/bin/env python3
"""Times training on a GPU, ours in both precisions and PyTorch's in the same run, and writes docs/results/cuda.json.

    python docs/benchmarks/cuda.py target/release/tractable docs/results
"""

import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


def lines(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def ours(program, device):
    said = lines([program, "bench", "--device", device, "--json"])
    name = next(line["device"] for line in said if "device" in line)
    return name, {(line["network"], line["batch"]): line for line in said if "images_per_second" in line}


def main():
    program, folder = sys.argv[1:3]
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
    (pathlib.Path(folder) / "cuda.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
