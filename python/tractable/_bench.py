"""The speed of this build on this machine."""

import json
import math
import subprocess
import sys
from typing import Any


def bench(*, seconds: float = 2.0, threads: int | None = None) -> list[dict[str, Any]]:
    """Measures the speed on this machine, as `tractable bench` does: one dictionary per line of its table.

    The first one describes the machine. seconds: for every line. threads: None or 0 for one per core. Runs in a process
    of its own; do not use the machine for anything else meanwhile.
    """
    if not 0.0 < seconds < math.inf:
        raise ValueError(f"seconds: {seconds} is not a positive number")
    command = [sys.executable, "-m", "tractable", "bench", "--json", "--quiet", f"--seconds={seconds}"]
    if threads is not None:
        command.append(f"--threads={threads}")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"bench: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
