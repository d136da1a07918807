"""Checks of this build on this machine: correctness and speed."""

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ._tractable import _golden, _physics


@dataclass(frozen=True)
class Checked:
    """One file of reference numbers, recomputed."""

    file: str
    error: float
    """The largest error; NaN if a result is NaN. Relative for golden vectors, absolute for physics."""
    at: str
    """The numbers with that error."""
    tolerance: float
    skipped: str | None = None
    """Why it was not recomputed."""

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance; True for a skipped file."""
        return self.skipped is not None or self.error <= self.tolerance

    def __repr__(self) -> str:
        if self.skipped is not None:
            return f"<{self.file}: skipped, {self.skipped}>"
        return f"<{self.file}: {'ok' if self.ok else 'WRONG'}, {self.error:.1e} at {self.at}>"


class VerificationError(AssertionError):
    """A recomputed number is not the recorded one. `checked` has all results."""

    def __init__(self, message: str, checked: list[Checked]) -> None:
        super().__init__(message)
        self.checked = checked


def verify(
    folder: str | os.PathLike[str] | None = None,
    *,
    kind: Literal["golden", "physics"] = "golden",
    device: Literal["cpu", "reference"] = "cpu",
    tolerance: float | None = None,
) -> list[Checked]:
    """Recomputes a folder of reference numbers with this build; raises VerificationError if one is wrong.

    folder: golden vectors (*.json), or steps and trajectories recorded from MuJoCo if kind is "physics". They are in the
    repository (crates/tractable/tests/data), not in the wheel; None looks for them there, from the current folder
    upwards. device: "cpu" (fast, f32) or "reference" (slow, f64). tolerance: the largest error accepted; unless given
    1e-5, relative, for golden vectors and 1e-9, absolute, for physics.
    """
    if kind not in ("golden", "physics"):
        raise ValueError(f"kind: {kind!r} is not 'golden' or 'physics'")
    if kind == "physics" and device != "cpu":
        raise ValueError("device: physics has no device")
    limit = (1e-5 if kind == "golden" else 1e-9) if tolerance is None else tolerance
    if not limit >= 0.0 or math.isinf(limit):
        raise ValueError(f"tolerance: {limit} is not a number of at least 0")
    path = _own(kind) if folder is None else Path(folder)
    lines = _golden(path, device) if kind == "golden" else _physics(path)
    checked = [Checked(file, error, at, limit, skipped) for file, skipped, error, at in lines]
    wrong = [c for c in checked if not c.ok]
    if wrong:
        first = f"{wrong[0].file} is off by {wrong[0].error:.1e} at {wrong[0].at}"
        raise VerificationError(f"{len(wrong)} of {len(checked)} files are wrong (tolerance {limit:g}): {first}", checked)
    return checked


def _own(kind: str) -> Path:
    """The repository's own folder of this kind."""
    here = Path.cwd()
    for parent in (here, *here.parents):
        folder = parent / "crates" / "tractable" / "tests" / "data" / kind
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"no crates/tractable/tests/data/{kind} in {here} or above; name the folder of {kind} files")


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
