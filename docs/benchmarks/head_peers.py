"""A head on frozen features: tractable.Head beside laplace-torch, VBLL, logistic regression and a trained softmax layer.

    python docs/benchmarks/head_peers.py MNIST_FOLDER [FASHION_MNIST_FOLDER]      # folders with the usual idx files

A backbone (784-256-128, ReLU) is trained with torch on the first 20,000 images; its 128 features are then frozen. Heads learn from
images 20,000 to 30,000, which it has not seen, and are judged on the 10,000 test images. Settings of Head were chosen on images 40,000 to
50,000. Writes docs/results/head.json.
"""

import glob
import gzip
import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
import tractable as tr
from torch import nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
SEEDS = 3


def idx(folder, part):
    path = next(p for p in glob.glob(os.path.join(folder, "*")) if part in p)
    data = (gzip.open if path.endswith("gz") else open)(path, "rb").read()
    dims = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(dims)


def train(net, x, y, epochs, loss=nn.functional.cross_entropy, rate=1e-3):
    optimiser = torch.optim.Adam(net.parameters(), rate)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(128):
            optimiser.zero_grad()
            loss(net(x[rows]), y[rows]).backward()
            optimiser.step()
    return net


def ours(passes):
    def run(x, y, test, seed):
        return tr.Head(passes=passes, seed=seed).fit(x, y).predict_proba(test)

    return run


def softmax(x, y, test, seed):
    x, test = torch.tensor(x), torch.tensor(test)
    head = train(nn.Linear(x.shape[1], 10), x, torch.tensor(y), 20)
    return torch.softmax(head(test), 1).detach().numpy()


def logistic(x, y, test, seed):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(x, y).predict_proba(test)


def laplace(x, y, test, seed):
    from laplace import Laplace

    x, y, test = torch.tensor(x), torch.tensor(y), torch.tensor(test)
    head = train(nn.Linear(x.shape[1], 10), x, y, 20)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=500)
    la = Laplace(head, "classification", subset_of_weights="all", hessian_structure="kron")
    la.fit(loader)
    la.optimize_prior_precision(method="marglik")
    return torch.cat([la(part, link_approx="probit") for part in test.split(1000)]).detach().numpy()


def vbll(x, y, test, seed):
    import vbll

    x, y, test = torch.tensor(x), torch.tensor(y), torch.tensor(test)
    head = vbll.DiscClassification(x.shape[1], 10, 1.0 / len(x), parameterization="diagonal")
    train(head, x, y, 20, loss=lambda out, labels: out.train_loss_fn(labels), rate=3e-3)
    return head(test).predictive.probs.detach().numpy()


HEADS = {
    "tractable.Head, one pass": ours(1),
    "tractable.Head, ten passes": ours(10),
    "laplace-torch, last layer, Kronecker": laplace,
    "VBLL, discriminative": vbll,
    "softmax layer, 20 epochs of Adam": softmax,
    "scikit-learn LogisticRegression": logistic,
}


def scores(p, y):
    confidence, right = p.max(1), p.argmax(1) == y
    at = np.minimum((15 * confidence).astype(int), 14)
    gaps = [abs(right[at == i].mean() - confidence[at == i].mean()) * (at == i).mean() for i in set(at)]
    nll = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-12)).mean()
    return {"error": float(np.mean(~right)), "nll": float(nll), "ece": float(sum(gaps))}


def main():
    model = next((l.split(": ", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "")
    results = {
        "command": "python docs/benchmarks/head_peers.py",
        "machine": f"{model}, {os.cpu_count()} cores, {platform.system().lower()} {platform.machine()}",
        "load_before": os.getloadavg()[0],
        "seeds": SEEDS,
        "sets": {},
    }
    for folder in sys.argv[1:]:
        images = {part: idx(folder, f"{part}-images").reshape(-1, 784).astype(np.float32) / 255 for part in ("train", "t10k")}
        labels = {part: idx(folder, f"{part}-labels").astype(np.int64) for part in ("train", "t10k")}
        rows = {name: [] for name in HEADS}
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            backbone = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
            train(backbone, torch.tensor(images["train"][:20000]), torch.tensor(labels["train"][:20000]), 8)
            with torch.no_grad():
                x = backbone[:-1](torch.tensor(images["train"][20000:30000])).numpy()
                test = backbone[:-1](torch.tensor(images["t10k"])).numpy()
            for name, head in HEADS.items():
                began = time.perf_counter()
                try:
                    p = head(x, labels["train"][20000:30000], test, seed)
                except ImportError as e:
                    print(f"{name}: left out: {e}", file=sys.stderr)
                    continue
                rows[name].append({**scores(np.asarray(p), labels["t10k"]), "seconds": time.perf_counter() - began})
                print(Path(folder).name, seed, name, rows[name][-1], flush=True)
        results["sets"][Path(folder).name] = {
            name: {key: [float(np.mean([r[key] for r in all_of_them])), float(np.std([r[key] for r in all_of_them]))] for key in all_of_them[0]}
            for name, all_of_them in rows.items()
            if all_of_them
        }
    path = Path(__file__).resolve().parent.parent / "results/head.json"
    path.write_text(json.dumps(results, indent=2) + "\n")


main()
