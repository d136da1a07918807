"""River's models, and ours with River's interface, on the streams of `cargo xtask reproduce streams`: the same rows, each predicted before it is learned.

    cargo xtask reproduce streams --export DIR
    python docs/benchmarks/streams.py DIR docs/results/streams-river.json [seeds] [model]

If a model is given, only its rows are replaced. Settings are River's defaults. Scores start at row 200, as for tractable's networks.
"""

import csv
import json
import platform
import sys
import time
from pathlib import Path

import river
import tractable
from river import compose, forest, linear_model, preprocessing, tree

WARM = 200  # rows before the first score
AFTER = 2000  # rows after a change
WORLDS = {  # where a stream changes, as shares of its rows
    "friedman-still": [],
    "friedman-abrupt": [0.25, 0.5, 0.75],
    "friedman-gradual": [0.4],
    "friedman-recurring": [0.2, 0.4, 0.6, 0.8],
    "sea": [0.25, 0.5, 0.75],
    "hyperplane": [0.5],
}


def models(classes: bool):
    if classes:
        return {
            "linear": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
            "adaptive tree": tree.HoeffdingAdaptiveTreeClassifier(seed=0),
            "adaptive forest": forest.ARFClassifier(seed=0),
            "tractable": tractable.OnlineClassifier(),
        }
    linear = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LinearRegression())
    return {
        "linear": preprocessing.TargetStandardScaler(regressor=linear),
        "adaptive tree": tree.HoeffdingAdaptiveTreeRegressor(seed=0),
        "adaptive forest": forest.ARFRegressor(seed=0),
        "tractable": tractable.OnlineRegressor(),
    }


def run(model, rows, classes, changes):
    regret, after, n, n_after = 0.0, 0.0, 0, 0
    for t, (x, y, truth) in enumerate(rows):
        said = model.predict_one(x)
        if t >= WARM:
            # Compared with the noise-free truth, as for tractable.
            off = float(bool(said) != bool(truth)) if classes else (said - truth) ** 2
            regret, n = regret + off, n + 1
            if any(c <= t < c + AFTER for c in changes):
                after, n_after = after + off, n_after + 1
        model.learn_one(x, bool(y) if classes else y)
    return regret / n, after / n_after if n_after else None


def main():
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    names = sys.argv[4:] or list(models(True))
    old = json.loads(out.read_text()) if sys.argv[4:] else {"seconds": 0, "rows": []}
    old["rows"] = [row for row in old["rows"] if row["way"] not in names]
    found, began = {}, time.time() - old["seconds"]
    for seed, name in ((seed, name) for seed in range(seeds) for name in names):
        for world, shares in WORLDS.items():
            classes = world in ("sea", "hyperplane")
            with open(folder / f"{world}-{seed}.csv") as file:
                table = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
            rows = [({k: v for k, v in r.items() if k[0] == "x"}, r["y"], r["truth"]) for r in table]
            changes = [int(share * len(rows)) for share in shares]
            start = time.process_time()
            regret, after = run(models(classes)[name], rows, classes, changes)
            us = (time.process_time() - start) / len(rows) * 1e6
            found.setdefault((world, name), []).append((regret, after, us))
            print(f"{seed} {world:20} {name:16} {regret:.4f} {after} {us:.0f} us/row", flush=True)
            write(out, old["rows"], found, began)


def write(out, rows, found, began):
    def mean(values):
        return None if values[0] is None else sum(values) / len(values)

    rows = list(rows)
    for (world, name), scores in found.items():
        regret, after, us = (mean(list(v)) for v in zip(*scores, strict=True))
        rows.append(
            {"stream": world, "way": name, "seeds": len(scores), "regret": regret, "regret_after": after, "us_a_row": us}
        )
    result = {
        "command": "python docs/benchmarks/streams.py DIR docs/results/streams-river.json",
        "versions": {"river": river.__version__, "python": platform.python_version()},
        "seconds": round(time.time() - began),
        "rows": rows,
    }
    out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
