"""The regression peers, each with its package's defaults. One call fits and predicts: (x, y, new x, seed, threads) -> mean and variance.

x and y come standardised, and so do the answers. Nothing here sees the test targets. `ready` imports a package before the clock runs.
"""

import importlib
import warnings

import numpy as np

HELD_OUT = 0.1
GP_ROWS = 2000


def parts(rows, seed):
    """Row numbers to fit on, and those held out."""
    order = np.random.default_rng(seed).permutation(rows)
    out = max(1, round(HELD_OUT * rows))
    return order[out:], order[:out]


def forest(x, y, new, seed, threads):
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(oob_score=True, n_jobs=threads, random_state=seed).fit(x, y)
    trees = np.stack([tree.predict(new) for tree in model.estimators_])
    return trees.mean(0), trees.var(0) + np.mean((y - model.oob_prediction_) ** 2)


def mlp(x, y, new, seed, threads):
    from sklearn.neural_network import MLPRegressor

    fit, out = parts(len(x), seed)
    model = MLPRegressor(random_state=seed).fit(x[fit], y[fit])
    var = np.mean((y[out] - model.predict(x[out])) ** 2)
    return model.predict(new), np.full(len(new), var)


def process(x, y, new, seed, threads):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    rows = np.random.default_rng(seed).permutation(len(x))[:GP_ROWS]
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    model = GaussianProcessRegressor(kernel, random_state=seed).fit(x[rows], y[rows])
    mean, std = model.predict(new, return_std=True)
    return mean, std**2


def boosting(x, y, new, seed, threads):
    from ngboost import NGBRegressor

    np.random.seed(seed)  # its trees draw from there
    fit, out = parts(len(x), seed)
    model = NGBRegressor(random_state=seed, verbose=False)
    model.fit(x[fit], y[fit], X_val=x[out], Y_val=y[out], early_stopping_rounds=20)
    found = model.pred_dist(new, max_iter=model.best_val_loss_itr + 1)
    return found.loc, found.scale**2


def ensemble(x, y, new, seed, threads):
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    tensor = lambda a: torch.tensor(a, dtype=torch.float32)
    x, y, new = tensor(x), tensor(y), tensor(new)
    hidden = 100 if len(x) > 40_000 else 50

    def heads(net, x):
        mean, raw = net(x).unbind(1)
        return mean, nn.functional.softplus(raw) + 1e-6

    def mixture(x, y, new, rate):
        """Mean and variance of five networks together."""
        found = []
        for _ in range(5):
            net = nn.Sequential(nn.Linear(x.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, 2))
            adam = torch.optim.Adam(net.parameters(), lr=rate)
            for _ in range(40):
                for rows in torch.randperm(len(x)).split(100):
                    mean, var = heads(net, x[rows])
                    adam.zero_grad()
                    nn.functional.gaussian_nll_loss(mean, y[rows], var).backward()
                    adam.step()
            with torch.no_grad():
                found.append(heads(net, new))
        means, variances = (torch.stack(part).double() for part in zip(*found))
        return means.mean(0), variances.mean(0) + means.var(0, correction=0)

    fit, out = parts(len(x), seed)

    def held_out(rate):
        mean, var = mixture(x[fit], y[fit], x[out], rate)
        return np.nan_to_num(float(nn.functional.gaussian_nll_loss(mean, y[out], var)), nan=np.inf)

    mean, var = mixture(x, y, new, min([0.1, 0.01, 0.001], key=held_out))
    return mean.numpy(), var.numpy()


# name: call, module, package, what it is
PEERS = {
    "random forest": (
        forest, "sklearn", "scikit-learn",
        "RandomForestRegressor, 100 trees; variance: spread of the trees plus mean squared out-of-bag residual",
    ),
    "MLP": (
        mlp, "sklearn", "scikit-learn",
        "MLPRegressor, 100 ReLU, at most 200 epochs, fitted on 90 % of the training rows; variance: mean squared residual of the other 10 %",
    ),
    "Gaussian process": (
        process, "sklearn", "scikit-learn",
        f"GaussianProcessRegressor, constant * RBF of one length + white, at most {GP_ROWS} training rows drawn at random",
    ),
    "NGBoost": (
        boosting, "ngboost", "ngboost",
        "NGBRegressor, normal, at most 500 rounds, fitted on 90 % of the training rows, stopped by the other 10 % (patience 20)",
    ),
    "deep ensemble": (
        ensemble, "torch", "torch",
        "five networks of 50 ReLU (protein 100), mean and variance heads, Gaussian likelihood, 40 epochs of batches of 100, as "
        "Lakshminarayanan et al. 2017 but without adversarial training; Adam's rate is 0.1, 0.01 or 0.001, for every split the one whose five "
        "networks, trained on 90 % of the training rows, give the other 10 % the highest likelihood; the seconds include that choice",
    ),
}


def ready(name):
    """Imports the peer's package and calls it once, as a first call loads more; its version."""
    module = importlib.import_module(PEERS[name][1])
    # Fits that stop at the default number of steps are part of the defaults.
    warnings.filterwarnings("ignore")
    x = np.random.default_rng(0).normal(size=(50, 2))
    fit_predict(name, x, x[:, 0], x, 0, 1)
    return module.__version__


def fit_predict(name, x, y, new, seed, threads):
    """In the target's own units; everything is standardised by the training rows, columns that do not vary are left alone."""

    def scale(a):
        std = a.std(0)
        return a.mean(0), np.where(std > 1e-9 * np.maximum(1, np.abs(a.mean(0))), std, 1.0)

    (x_mean, x_std), (y_mean, y_std) = scale(x), scale(y)
    mean, var = PEERS[name][0]((x - x_mean) / x_std, (y - y_mean) / y_std, (new - x_mean) / x_std, seed, threads)
    return y_mean + y_std * mean, y_std**2 * var
