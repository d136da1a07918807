"""Eight other methods on the tables and splits of `cargo xtask reproduce ordinary`; tables.md has the commands.

    python docs/benchmarks/table_peers.py splits.jsonl table-peers.jsonl tables/ tables15/

Needs scikit-learn, catboost, lightgbm, ngboost and pandas. splits.jsonl is what `--export` of that command wrote; its lines are worked
off in their order. One line for each split and method is added to the second file as soon as it is known. Lines that this file, or
a peers.jsonl beside the tables, has already are not repeated, so that a run that was interrupted goes on where it stopped.

Every method has its package's defaults and one thread. Linear methods, the forest, the process and the networks see numbers
standardised, gaps as the median with a flag, and categories as one column for each level; trees that boost see gaps and categories as
they are. A method without a variance of its own takes the mean squared residual of a fifth of the training rows, and as its 90 %
interval the quantile of their absolute residuals, from a fit to the others; then it is fitted to all.
"""

import os

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[variable] = "1"

import csv
import gzip
import json
import math
import sys
import time
import warnings

import catboost
import lightgbm
import ngboost
import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

HELD_OUT = 0.2
# A process takes the cube of its rows: of more than these it sees a random choice.
PROCESS_ROWS = {"reg": 2000, "cls": 500}


class Mean:
    """Several models as one: the mean of what they say.

    Parameters
    ----------
    models : list
        Models with `fit` and `predict` or `predict_proba`.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> Mean([DummyRegressor()]).fit([[0], [1]], [1.0, 3.0]).predict([[0]])
    array([2.])
    """

    def __init__(self, models):
        self.models = models

    def fit(self, x, y):
        for model in self.models:
            model.fit(x, y)
        return self

    def predict(self, x):
        return np.mean([model.predict(x) for model in self.models], axis=0)

    def predict_proba(self, x):
        return np.mean([model.predict_proba(x) for model in self.models], axis=0)


def regressors(seed, categories):
    """New models by name, and whether each wants columns of numbers alone.

    Parameters
    ----------
    seed : int
        For what they draw.
    categories : list of str
        Columns that are no numbers.

    Returns
    -------
    dict
        Name to (model, whether it wants numbers alone).

    Examples
    --------
    >>> regressors(0, [])["ridge"][1]
    True
    """
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return {
        "ridge": (RidgeCV(np.logspace(-3, 3, 25)), True),
        "forest": (RandomForestRegressor(random_state=seed), True),
        "histgb": (HistGradientBoostingRegressor(random_state=seed), False),
        "lightgbm": (lightgbm.LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1), False),
        "catboost": (
            catboost.CatBoostRegressor(
                random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False, cat_features=categories
            ),
            False,
        ),
        "ngboost": (ngboost.NGBRegressor(random_state=seed, verbose=False), True),
        "gp": (GaussianProcessRegressor(kernel, random_state=seed), True),
        "mlp5": (Mean([MLPRegressor(random_state=5 * seed + k) for k in range(5)]), True),
    }


def classifiers(seed, categories, classes):
    """The same for classes.

    Parameters
    ----------
    seed : int
        For what they draw.
    categories : list of str
        Columns that are no numbers.
    classes : int
        How many there are.

    Returns
    -------
    dict
        Name to (model, whether it wants numbers alone).

    Examples
    --------
    >>> sorted(classifiers(0, [], 2))[0]
    'catboost'
    """
    return {
        "logistic": (LogisticRegressionCV(scoring="neg_log_loss", max_iter=1000), True),
        "forest": (RandomForestClassifier(random_state=seed), True),
        "histgb": (HistGradientBoostingClassifier(random_state=seed), False),
        "lightgbm": (lightgbm.LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1), False),
        "catboost": (
            catboost.CatBoostClassifier(
                random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False, cat_features=categories
            ),
            False,
        ),
        "ngboost": (
            ngboost.NGBClassifier(Dist=ngboost.distns.k_categorical(classes), random_state=seed, verbose=False),
            True,
        ),
        "gp": (GaussianProcessClassifier(ConstantKernel() * RBF(), random_state=seed), True),
        "mlp5": (Mean([MLPClassifier(random_state=5 * seed + k) for k in range(5)]), True),
    }


def read(path):
    """A table as the judge reads it: numbers have a decimal point, all others are categories.

    Parameters
    ----------
    path : str
        NAME.csv.gz.

    Returns
    -------
    tuple
        Inputs (a frame), target (an array), and which rows the file itself has for testing.

    Examples
    --------
    >>> inputs, target, test = read("tables/cpus.csv.gz")  # doctest: +SKIP
    """
    with gzip.open(path, "rt", newline="") as file:
        head, *rows = csv.reader(file)
    columns = dict(zip(head, zip(*rows)))
    test = np.array(columns.pop("split")) == "test"
    columns = {name: column(cells) for name, cells in columns.items()}
    target = columns.pop("target")
    if target.dtype != float:
        target = np.unique(target.astype(str), return_inverse=True)[1]
    return pd.DataFrame(columns), target, test


def column(cells):
    """Numbers with empty cells as NaN where every cell is one and one has a point; texts otherwise.

    Parameters
    ----------
    cells : sequence of str
        A column of a file.

    Returns
    -------
    numpy.ndarray
        Of float or of object.

    Examples
    --------
    >>> column(["1.5", ""])
    array([1.5, nan])
    >>> column(["1", "2"])
    array(['1', '2'], dtype=object)
    """
    try:
        if any("." in cell for cell in cells):
            return np.array([float(cell) if cell else math.nan for cell in cells])
    except ValueError:
        pass
    return np.array(cells, dtype=object)


def prepared(train, test, numbers):
    """Inputs as a method wants them, decided by the training rows.

    Parameters
    ----------
    train, test : pandas.DataFrame
        Inputs.
    numbers : bool
        Whether the method wants columns of numbers alone.

    Returns
    -------
    tuple
        The two in that form.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1.0, 2.0]})
    >>> prepared(frame, frame, True)[0].tolist()
    [[-1.0], [1.0]]
    """
    # A column without a single number says nothing.
    train = train.loc[:, [not train[c].isna().all() for c in train]]
    test = test[train.columns]
    texts = list(train.select_dtypes(object))
    if numbers:
        gaps = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
        levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        both = make_column_transformer((gaps, make_column_selector(dtype_include=float)), (levels, texts))
        return both.fit_transform(train), both.transform(test)
    # The training rows decide which levels there are; others are missing.
    kinds = {c: pd.CategoricalDtype(sorted(set(train[c]))) for c in texts}
    train, test = train.astype(kinds), test.astype(kinds)
    return train, test


def for_catboost(frame):
    """It wants its categories as texts.

    Parameters
    ----------
    frame : pandas.DataFrame
        With columns of categories.

    Returns
    -------
    pandas.DataFrame
        With columns of texts.

    Examples
    --------
    >>> for_catboost(pd.DataFrame({"a": pd.Categorical(["x"])}))["a"].dtype == object
    True
    """
    texts = frame.select_dtypes("category").columns
    return frame.assign(**{c: frame[c].astype(object).fillna("").astype(str) for c in texts})


def scores_of_numbers(y, mean, std, half):
    """R2, and NLL, CRPS and the 90 % interval of normal predictions.

    Parameters
    ----------
    y, mean, std, half : numpy.ndarray
        Answers, predictions, their standard deviations and half the width of their intervals, in standard deviations of the training
        targets.

    Returns
    -------
    dict
        Measures by name.

    Examples
    --------
    >>> found = scores_of_numbers(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.ones(2), np.ones(2))
    >>> float(found["r2"]), float(found["cov"])
    (1.0, 1.0)
    """
    error = y - mean
    z = error / std
    return {
        "r2": 1 - np.mean(error**2) / np.var(y),
        "rmse": np.sqrt(np.mean(error**2)),
        "nll": np.mean(0.5 * z**2 + np.log(std) + 0.5 * np.log(2 * np.pi)),
        "crps": np.mean(std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))),
        "cov": np.mean(np.abs(error) <= half),
        "width": np.mean(2 * half),
    }


def scores_of_classes(labels, p):
    """Error, log-loss (probabilities of at least 1e-6) and expected calibration error of ten bins.

    Parameters
    ----------
    labels : numpy.ndarray
        The right classes.
    p : numpy.ndarray
        Probabilities, one row for each.

    Returns
    -------
    dict
        Measures by name.

    Examples
    --------
    >>> scores_of_classes(np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))["err"].item()
    0.0
    """
    right, sure = p.argmax(1) == labels, p.max(1)
    bins = np.minimum((sure * 10).astype(int), 9)
    gaps = [abs(np.sum(right[bins == b]) - np.sum(sure[bins == b])) for b in range(10)]
    chance = np.maximum(p[np.arange(len(labels)), labels], 1e-6)
    return {"err": 1 - np.mean(right), "logloss": -np.mean(np.log(chance)), "ece": sum(gaps) / len(labels)}


def fitted(new, name, kind, categories, x, y, to, seed):
    """A new model, fitted, and the inputs to predict in the form that it wants.

    Parameters
    ----------
    new : callable
        Makes all models from their columns of categories.
    name, kind : str
        Which, and `reg` or `cls`.
    categories : list of str
        Columns that are no numbers.
    x, y : pandas.DataFrame, numpy.ndarray
        Training rows.
    to : pandas.DataFrame
        Rows to predict.
    seed : int
        For the choice of rows.

    Returns
    -------
    tuple
        Model and inputs.

    Examples
    --------
    >>> x = pd.DataFrame({"a": [1.0, 2.0]})
    >>> model, to = fitted(lambda c: regressors(0, c), "ridge", "reg", [], x, np.array([1.0, 2.0]), x, 0)
    >>> model.predict(to).shape
    (2,)
    """
    model, numbers = new([c for c in categories if c in x])[name]
    if name == "gp" and len(x) > PROCESS_ROWS[kind]:
        rows = np.random.default_rng(seed).permutation(len(x))[: PROCESS_ROWS[kind]]
        x, y = x.iloc[rows], y[rows]
    x, to = prepared(x, to, numbers)
    if name == "catboost":
        x, to = for_catboost(x), for_catboost(to)
    if isinstance(x, pd.DataFrame) and name == "histgb":
        model.set_params(categorical_features="from_dtype")
    return model.fit(x, y), to


def regression(name, x, y, new_x, seed):
    """What a method says about new rows.

    Parameters
    ----------
    name : str
        Of the method.
    x, y : pandas.DataFrame, numpy.ndarray
        Training rows; the target is standardised.
    new_x : pandas.DataFrame
        Rows to predict.
    seed : int
        For what it draws.

    Returns
    -------
    tuple
        Mean, standard deviation and half the width of the 90 % interval.

    Examples
    --------
    >>> x = pd.DataFrame({"a": np.arange(20.0)})
    >>> regression("ridge", x, x["a"].to_numpy(), x, 0)[0].round().tolist()[:3]
    [0.0, 1.0, 2.0]
    """
    categories = list(x.select_dtypes(object))
    new = lambda categories: regressors(seed, categories)
    model, to = fitted(new, name, "reg", categories, x, y, new_x, seed)
    if name == "ngboost":
        found = model.pred_dist(to)
        return found.loc, found.scale, norm.ppf(0.95) * found.scale
    if name == "gp":
        mean, std = model.predict(to, return_std=True)
        return mean, std, norm.ppf(0.95) * std
    mean = model.predict(to)
    order = np.random.default_rng(seed).permutation(len(x))
    count = round(HELD_OUT * len(x))
    held, rest = order[:count], order[count:]
    model, to = fitted(new, name, "reg", categories, x.iloc[rest], y[rest], x.iloc[held], seed)
    residuals = np.sort(np.abs(y[held] - model.predict(to)))
    half = residuals[min(math.ceil(0.9 * (count + 1)), count) - 1]
    return mean, np.full(len(mean), np.sqrt(np.mean(residuals**2))), np.full(len(mean), half)


def classification(name, x, y, new_x, seed):
    """Probabilities of the classes of new rows.

    Parameters
    ----------
    name : str
        Of the method.
    x, y : pandas.DataFrame, numpy.ndarray
        Training rows; the labels count from 0.
    new_x : pandas.DataFrame
        Rows to predict.
    seed : int
        For what it draws.

    Returns
    -------
    numpy.ndarray
        One row for each.

    Examples
    --------
    >>> x = pd.DataFrame({"a": np.arange(20.0)})
    >>> classification("logistic", x, (x["a"] > 9).astype(int).to_numpy(), x, 0).shape
    (20, 2)
    """
    classes = int(y.max()) + 1
    # Those of the training rows, counted without gaps.
    known, own = np.unique(y, return_inverse=True)
    new = lambda categories: classifiers(seed, categories, len(known))
    model, to = fitted(new, name, "cls", list(x.select_dtypes(object)), x, own, new_x, seed)
    p = np.zeros((len(new_x), classes))
    p[:, known] = model.predict_proba(to)
    return p


def judged(name, inputs, target, test, seed):
    """The figures of a method on a split.

    Parameters
    ----------
    name : str
        Of the method.
    inputs : pandas.DataFrame
        Of all rows.
    target : numpy.ndarray
        Of all rows.
    test : numpy.ndarray
        Which rows are for testing.
    seed : int
        For what it draws.

    Returns
    -------
    dict
        Measures by name.

    Examples
    --------
    >>> x = pd.DataFrame({"a": np.arange(20.0)})
    >>> judged("ridge", x, x["a"].to_numpy(), x["a"].to_numpy() % 4 == 0, 0)["r2"] > 0.9
    True
    """
    x, y, new_x, new_y = inputs[~test], target[~test], inputs[test], target[test]
    began = time.perf_counter()
    if target.dtype == float:
        mean, std = y.mean(), y.std()
        said = regression(name, x, (y - mean) / std, new_x, seed)
        seconds = time.perf_counter() - began
        found = scores_of_numbers((new_y - mean) / std, *said)
    else:
        if (classes := int(target.max()) + 1) < 2:
            raise ValueError(f"{classes} class")
        p = classification(name, x, y, new_x, seed)
        seconds = time.perf_counter() - began
        found = scores_of_classes(new_y, p)
    if not all(map(math.isfinite, found.values())):
        raise ValueError(f"not finite: {found}")
    return {"seconds": round(seconds, 3), **{k: round(float(v), 5) for k, v in found.items()}}


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    splits, out, *folders = sys.argv[1:]
    warnings.filterwarnings("ignore")
    done = set()
    for path in [out, *(os.path.join(folder, "peers.jsonl") for folder in folders)]:
        if os.path.exists(path):
            with open(path) as file:
                lines = [json.loads(line) for line in file]
            done |= {(line["table"], line.get("split", line.get("round")), line["model"]) for line in lines}
    with open(splits) as file:
        jobs = [json.loads(line) for line in file]
    for job in jobs:
        name, split = job["table"], job["split"]
        path = next(p for f in folders if os.path.exists(p := os.path.join(f, f"{name}.csv.gz")))
        inputs, target, test = read(path)
        if split > 0:
            test = np.zeros(len(target), bool)
        test[job["test"]] = True
        if test.sum() != len(job["test"]):
            sys.exit(f"{splits}: {name}: split {split} is not that of {path}")
        kind = "reg" if target.dtype == float else "cls"
        for method in regressors(0, []) if kind == "reg" else classifiers(0, [], 2):
            if (name, split, method) in done:
                continue
            line = {"table": name, "split": split, "model": method, "kind": kind}
            line |= {"n": len(target), "p": inputs.shape[1]}
            try:
                line |= judged(method, inputs, target, test, split)
            except Exception as error:
                print(f"{name} {split} {method}: {error!r}", file=sys.stderr, flush=True)
                continue
            with open(out, "a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
