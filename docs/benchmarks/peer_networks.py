"""The networks that are measured, as the peers' scripts build them, and how a call is timed: as `tractable bench` does it."""

import statistics
import time

# name, batch, threads
WORK = [
    ("1-64-64-1", 1, 1),
    ("23-128-128-128-1", 16, 1),
    ("784-128-128-11", 16, 1),
    ("784-128-128-11", 512, 1),
    ("MNIST", 16, 2),
    ("MNIST", 128, 2),
    ("CIFAR-10", 16, 2),
    ("CIFAR-10", 128, 2),
]
INPUTS = {"MNIST": (1, 28, 28), "CIFAR-10": (3, 32, 32)}


def widths(name):
    """Of a dense network; none for the others."""
    return None if name in INPUTS else [int(n) for n in name.split("-")]


def measure(call, seconds):
    """Median microseconds of a call, over blocks of some milliseconds."""
    began = time.perf_counter()
    call()
    call()
    once = (time.perf_counter() - began) / 2
    block = max(1, int(0.005 / max(once, 1e-9)))
    blocks, began = [], time.perf_counter()
    while time.perf_counter() - began < seconds or len(blocks) < 5:
        start = time.perf_counter()
        for _ in range(block):
            call()
        blocks.append((time.perf_counter() - start) * 1e6 / block)
    return statistics.median(blocks)
