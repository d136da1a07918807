"""Runs us and the peers in turn and writes docs/results/peers.json: medians, and how many times as long as ours.

Called by peers.sh. Every program measures the same networks, batches and threads in a process of its own, several rounds one after another, so
that whatever else the machine does hits all of them. --smoke: one short round, printed, nothing written.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
OURS = os.path.join(ROOT, "target", "release", "tractable")
SMOKE = "--smoke" in sys.argv
ROUNDS = 1 if SMOKE else 3
SECONDS = 0.05 if SMOKE else 2.0
RL_STEPS = 4096 if SMOKE else 40960
TASKS = {"half-cheetah": "HalfCheetah-v5", "inverted-pendulum": "InvertedPendulum-v5"}


def lines(command):
    """The JSON lines that a program prints; none where it fails, which is said."""
    # In a folder of their own: some leave logs behind.
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tempfile.gettempdir())
    if ran.returncode != 0:
        last = ran.stderr.strip().splitlines()[-1:] or ["no reason given"]
        print(f"{' '.join(command[-3:])}: {last[0]}", file=sys.stderr)
        return []
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def key(row):
    return row["network"], row["batch"], row["threads"]


def learn():
    """{(network, batch, threads): {who: [median us of every round]}}"""
    found = {}
    for _ in range(ROUNDS):
        for row in lines([OURS, "bench", "--json", "--seconds", str(SECONDS)]):
            if row["type"] == "bench" and row["verb"] == "learn":
                found.setdefault(key(row), {}).setdefault("ours", []).append(row["median_us"])
        for who, script in [("torch", "peer_torch.py"), ("pytagi", "peer_pytagi.py")]:
            for row in lines([sys.executable, os.path.join(HERE, script), str(SECONDS)]):
                found.setdefault(key(row), {}).setdefault(who, []).append(row["median_us"])
    return found


def with_ratios(times, field, ratio):
    """Medians over the rounds; the peers' with their ratio to ours."""
    medians = {who: statistics.median(all_of_them) for who, all_of_them in times.items()}
    ours = medians.get("ours")
    row = {}
    for who, value in medians.items():
        row[who] = {field: value}
        if who != "ours" and ours:
            row[who]["ratio"] = ratio(value, ours)
    return row


def rl():
    rows = []
    for ours, theirs in TASKS.items():
        speeds = {}
        for _ in range(ROUNDS):
            for row in lines([OURS, "rl", ours, "--steps", str(RL_STEPS), "--json", "--quiet"]):
                if row["type"] == "seed":
                    speeds.setdefault("ours", []).append(row["steps_per_second"])
            for row in lines([sys.executable, os.path.join(HERE, "peer_sb3.py"), theirs, str(RL_STEPS)]):
                speeds.setdefault("sb3", []).append(row["steps_per_second"])
        # As with times: how many times as long a step of theirs takes.
        rows.append({"task": ours, **with_ratios(speeds, "steps_per_second", lambda theirs, ours: ours / theirs)})
    return rows


def main():
    load = os.getloadavg()[0]
    began = time.time()
    found = learn()
    rows = []
    for (network, batch, threads), times in found.items():
        row = {"network": network, "batch": batch, "threads": threads}
        rows.append({**row, **with_ratios(times, "us", lambda theirs, ours: theirs / ours)})
    model = next((l.split(": ", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "")
    results = {
        "command": "docs/benchmarks/peers.sh",
        "machine": f"{model}, {os.cpu_count()} cores, {platform.system().lower()} {platform.machine()}",
        "load_before": load,
        "rounds": ROUNDS,
        "learn": rows,
        "rl": rl(),
        "seconds": time.time() - began,
    }
    text = json.dumps(results, indent=2) + "\n"
    if SMOKE:
        print(text)
    else:
        path = os.path.join(ROOT, "docs", "results", "peers.json")
        with open(path, "w") as file:
            file.write(text)
        print(f"written to {path}; now: cargo xtask reproduce tables --write README.md docs/book/src/speed.md")


main()
