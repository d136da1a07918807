"""Progress of long calls: a bar on a terminal, nothing in a pipe."""

import sys
import time
from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int, str], Any]


class Bar:
    """One line on stderr that is written over and over, and wiped at the end."""

    WIDTH = 24

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.shown = False

    def __call__(self, done: int, of: int, what: str) -> None:
        spent = time.monotonic() - self.began
        if spent < 0.5:  # short work needs no bar
            return
        share = done / of if of else 1.0
        full = int(share * self.WIDTH)
        left = f"{spent / share - spent:.0f} s left" if share > 0.02 else ""
        bar = "█" * full + "·" * (self.WIDTH - full)
        sys.stderr.write(f"\r\x1b[K{what} {bar} {share:4.0%} {left}")
        sys.stderr.flush()
        self.shown = True

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.shown = False


def start(progress: "Progress | bool | None") -> "Progress | None":
    """What to call: the given function, nothing for False, a bar for True or, on a terminal, for None."""
    if progress is False:
        return None
    if progress is None or progress is True:
        return Bar() if progress or sys.stderr.isatty() else None
    return progress
