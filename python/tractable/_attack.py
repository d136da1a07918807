"""Attacks on a network's classes."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._convert import to_numbers
from ._tractable import Network, _attack

Method = Literal["infer", "pgd", "fgsm"]


@dataclass(frozen=True, repr=False)
class Attacked:
    """The outcome of attack(): arrays with one row per attack, and several attacks per image if there are several targets."""

    image: NDArray[np.int64]
    """Which image."""
    label: NDArray[np.int64]
    """Its true class."""
    target: NDArray[np.int64]
    """The wanted class; -1 if any wrong one will do."""
    success: NDArray[np.bool_]
    """Whether the most likely class is the target or, without one, not the label."""
    l_inf: NDArray[np.float64]
    """The largest change of a pixel."""
    l2: NDArray[np.float64]
    """The square root of the sum of the squared changes."""
    iterations: NDArray[np.int64]
    """Iterations taken."""
    images: NDArray[np.float64]
    """The changed images, shaped like the given ones."""
    std: NDArray[np.float64]
    """Standard deviation of every pixel's change; zeros unless it was inferred."""
    before: NDArray[np.float64]
    """Class probabilities of the original images."""
    after: NDArray[np.float64]
    """Class probabilities of the changed images."""

    def __len__(self) -> int:
        return len(self.image)

    def __repr__(self) -> str:
        rate, size = self.success.mean(), np.median(self.l_inf)
        return f"<Attacked: {len(self)} attacks, {rate:.1%} successful, median L-inf {size:.3g}>"


def attack(
    network: Network,
    images: Any,
    labels: Any,
    *,
    targets: Any = "any",
    method: Method = "infer",
    budget: str | None = None,
    prior_std: float = 0.03,
    iterations: int = 100,
    range: tuple[float, float] | None = (0.0, 1.0),
    known_weights: bool = True,
    step: float | None = None,
    random_start: bool = False,
    seed: int = 0,
) -> Attacked:
    """Changes images until the network misclassifies them.

    targets: any wrong class ("any"), every wrong class in turn ("all"), a random one ("random"), the least likely one
    ("least-likely"), or an array with one class per image. method: by inference of the input ("infer"), or by
    projected or single gradient steps ("pgd", "fgsm"), which need a budget. budget: how far an image may be moved,
    "linf:0.1", "linf:8/255" or "l2:0.5". prior_std: standard deviation of a pixel's change before inference. iterations: at
    most. range: lowest and highest value of a pixel; None lets pixels leave it. known_weights: False includes the
    uncertainty of the weights, as in the paper. step, random_start: of pgd; a step is 2.5 budgets over all iterations
    unless given. seed: for random targets and starts.
    """
    given = to_numbers(images, "images")
    wanted = targets if isinstance(targets, str) else to_numbers(targets, "targets")
    found: dict[str, Any] = _attack(network, given, labels, wanted, method, iterations, prior_std, range, budget, known_weights, step,
                    random_start, seed)
    shape = given.shape[1:] if given.ndim > 1 else (found["images"].shape[1],)
    for name in ("images", "std"):
        found[name] = found[name].reshape(-1, *shape)
    for name in ("image", "label", "target", "iterations"):
        found[name] = found[name].astype(np.int64)
    found["success"] = found["success"].astype(np.bool_)
    return Attacked(**{field.name: found[field.name] for field in fields(Attacked)})
