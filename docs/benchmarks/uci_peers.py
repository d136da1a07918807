"""Regression peers on the UCI sets: the rows and splits of `cargo xtask reproduce uci`. Called by uci_peers.sh.

Prints a table and, with --out, writes a JSON file anew after every split. Splits are the outer loop, so that a run that is
short of time has fewer splits of every set. --show prints the table of such a file and runs nothing.
"""

import argparse
import json
import math
import os
import platform
import shlex
import statistics
import sys
import time

SETS = ["boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine_red", "yacht"]
MEASURES = ["rmse", "nll", "coverage_90", "seconds"]


def arguments():
    parser = argparse.ArgumentParser(prog="uci_peers.sh", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--data", metavar="DIR", help="folder of NAME.csv (target in the last column) and NAME_splits.json")
    add("--sets", metavar="NAMES", default=",".join(SETS), help="only these, with commas between")
    add("--splits", metavar="N", default="20", help="only the first splits; `5,protein=1`: of some sets others")
    add("--threads", metavar="N", type=int, default=2, help="of every peer [2]")
    add("--minutes", metavar="M", type=float, default=math.inf, help="begin nothing after that; the file says what was left out")
    add("--alone", action="store_true", help="nothing else runs on this machine: seconds can be trusted")
    add("--out", metavar="FILE", help="results, for keeps docs/results/uci-peers.json")
    add("--tractable", metavar="FILE", help="uci.json of `cargo xtask reproduce uci -o`, shown beside the peers")
    add("--show", metavar="FILE", help="show these results of --out, run nothing")
    args = parser.parse_args()
    if not args.data and not args.show:
        parser.error("--data or --show is needed")
    args.sets = args.sets.split(",")
    if unknown := set(args.sets) - set(SETS):
        parser.error(f"--sets: {', '.join(sorted(unknown))} not known; there are {', '.join(SETS)}")
    try:
        numbers = {name: int(n) for name, _, n in (part.rpartition("=") for part in args.splits.split(","))}
    except ValueError:
        parser.error("--splits: a number, or `5,protein=1`")
    args.splits = {name: numbers.get(name, numbers.get("", 20)) for name in args.sets}
    return args


def ours(path):
    """Rows of the default model, in the form of the peers'. All that is known here of the file of `cargo xtask reproduce uci`."""
    with open(path) as file:
        rows = json.load(file)["default"]["rows"]
    for row in rows:
        likelihood = row["log_likelihood"]
        yield {
            "set": row["set"],
            "peer": "tractable",
            "splits": row["splits"],
            "rmse": row["rmse"],
            "nll": {"mean": -likelihood["mean"], "standard_error": likelihood["standard_error"]},
            "coverage_90": row["coverage_90"],
            "seconds": {"mean": row["seconds"], "standard_error": None},
        }


def table(rows):
    def cell(value, digits=None):
        if value is None:
            return "-"
        size = abs(value["mean"])
        digits = digits or (3 if size >= 0.1 else 5 if size >= 0.001 else 7)
        error = value["standard_error"]
        return f"{value['mean']:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")

    lines = [["set", "peer", "RMSE", "NLL", "coverage of 90 %", "seconds", "splits"]]
    for name in SETS:
        for row in rows:
            if row["set"] == name:
                cells = [cell(row["rmse"]), cell(row["nll"]), cell(row["coverage_90"], 3), cell(row["seconds"], 2)]
                lines.append([name, row["peer"], *cells, str(row["splits"])])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)


def show(results, path):
    shown = {row["set"] for row in results["rows"]}
    rows = results["rows"] + [row for row in (ours(path) if path else []) if row["set"] in shown]
    print(table(rows))
    print("mean ± standard error over the first splits; rows with other numbers of splits are of other test rows")
    print(f"seconds to fit and predict one split, {results['timing']}; threads of the peers: {results['threads']}")
    for kind in ["skipped", "failed"]:
        for name, reason in results[kind].items():
            print(f"{kind}: {name}: {reason}")
    for name in results["left_out"]:
        print(f"left out: {name}")


def summary(each):
    """The row of a peer and a set from its splits."""

    def mean(values):
        n = len(values)
        error = statistics.stdev(values) / math.sqrt(n) if n > 1 else None
        return {"mean": statistics.fmean(values), "standard_error": error}

    return {"splits": len(each), **{m: mean([e[m] for e in each]) for m in MEASURES}, "each": each}


def test(peer, x, y, split, seed, threads):
    """What a peer makes of one split."""
    import numpy as np
    from uci_peer_models import fit_predict

    train, held = split["train"], split["test"]
    began = time.perf_counter()
    mean, var = fit_predict(peer, x[train], y[train], x[held], seed, threads)
    seconds = time.perf_counter() - began
    error = y[held] - mean
    found = {
        "split": seed,
        "rmse": float(np.sqrt(np.mean(error**2))),
        "nll": float(np.mean(0.5 * np.log(2 * np.pi * var) + 0.5 * error**2 / var)),
        "coverage_90": float(np.mean(np.abs(error) <= statistics.NormalDist().inv_cdf(0.95) * np.sqrt(var))),
        "seconds": seconds,
    }
    if not all(map(math.isfinite, found.values())):
        raise ValueError(f"not finite: {found}")
    return found


def load(folder, name):
    import numpy as np

    columns = np.loadtxt(os.path.join(folder, f"{name}.csv"), delimiter=",", skiprows=1)
    with open(os.path.join(folder, f"{name}_splits.json")) as file:
        return columns[:, :-1], columns[:, -1], json.load(file)["splits"]


def versions(say):
    """What is there, and why the rest is skipped."""
    from uci_peer_models import PEERS, ready

    found, skipped = {"python": platform.python_version()}, {}
    for peer, (_, _, package, _) in PEERS.items():
        try:
            found[package] = ready(peer)
        except Exception as error:
            failed = os.path.join(sys.prefix, f"{package}.failed")
            skipped[peer] = open(failed).read().strip() if os.path.exists(failed) else str(error)
            say(f"{peer} is skipped: {skipped[peer]}")
    return found, skipped


def run(args):
    began = time.time()
    load_before = os.getloadavg()[0]
    say = lambda text: print(f"{time.time() - began:6.0f} s  {text}", file=sys.stderr, flush=True)
    # Before NumPy is imported.
    for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
        os.environ[variable] = str(args.threads)
    found, skipped = versions(say)
    from uci_peer_models import PEERS

    model = next((l.split(": ", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "")
    peers = [peer for peer in PEERS if peer not in skipped]
    data = {name: load(args.data, name) for name in args.sets}
    wanted = {name: min(n, len(data[name][2])) for name, n in args.splits.items()}
    each = {(name, peer): [] for name in args.sets for peer in peers}
    left_out, failed = [], {}

    def results():
        return {
            "command": shlex.join(["docs/benchmarks/uci_peers.sh", "--data", "DIR", *without(sys.argv[1:], "--data")]),
            "machine": f"{model}, {os.cpu_count()} cores, {platform.system().lower()} {platform.machine()}",
            "load_before": load_before,
            "threads": args.threads,
            "timing": "alone" if args.alone else "beside other work",
            "versions": found,
            "peers": {peer: PEERS[peer][3] for peer in peers},
            "skipped": skipped,
            "failed": failed,
            "splits": {name: f"first {n} of {len(data[name][2])}" for name, n in wanted.items()},
            "left_out": left_out,
            "seconds": time.time() - began,
            "rows": [{"set": s, "peer": p, **summary(done)} for (s, p), done in each.items() if done],
        }

    def write():
        if args.out:
            with open(args.out + ".tmp", "w") as file:
                file.write(json.dumps(results(), indent=2) + "\n")
            os.replace(args.out + ".tmp", args.out)

    for k in range(max(wanted.values())):
        for name in (name for name in args.sets if k < wanted[name]):
            if time.time() - began > 60 * args.minutes:
                left_out.append(f"{name}, split {k}: no time")
                continue
            x, y, splits = data[name]
            for peer in peers:
                try:
                    tested = test(peer, x, y, splits[k], k, args.threads)
                    each[name, peer].append(tested)
                    say(f"{name} {k}, {peer}: " + ", ".join(f"{m} {tested[m]:.4g}" for m in MEASURES))
                except Exception as error:
                    failed[f"{peer}, {name}, split {k}"] = f"{type(error).__name__}: {error}"
                    say(f"{name} {k}, {peer} failed: {error}")
            write()
    write()
    return results()


def without(words, option):
    """The words of a command without an option and its value."""
    kept, words = [], iter(words)
    for word in words:
        if word == option:
            next(words, None)
        elif not word.startswith(option + "="):
            kept.append(word)
    return kept


def main():
    args = arguments()
    if args.show:
        with open(args.show) as file:
            results = json.load(file)
    else:
        results = run(args)
    show(results, args.tractable)


main()
