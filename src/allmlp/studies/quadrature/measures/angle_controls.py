"""The error of each key frequency's sum, and those with other angles, from a grid to chance (003-own-4).

The comparison shows how much of a small error is due to the trained angles. All have psi = 2 phi, so that only the
angles differ. Jittered and regular grids have a uniform offset.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from allmlp.columns import numeric
from allmlp.models.angles import fill, place
from allmlp.protocols import Trained
from allmlp.studies.quadrature.bounds import lay
from allmlp.studies.quadrature.errors import largest_error
from allmlp.studies.quadrature.frequencies import Floats, Rule, two_phi
from allmlp.studies.quadrature.keys import OF_KEY, Key, a_row_each

RECIPE = 1

Draw = Callable[[np.random.Generator], Rule]

DRAWS = 200
_ERROR = {"rtol": 5e-2, "atol": 5e-3}
_DRAWN = {"rtol": 0.3, "atol": 5e-3}  # another CPU type may have one neuron more or less, which changes all draws
CONTROLS = {
    "random": "the same widths at independent uniform angles",
    "own_box": "the same widths, each at a random point of its own box",
    "jittered": "as many equal widths, each at a random point of its box",
    "regular": "as many equal widths, equally spaced",
}
COLUMNS = {
    **OF_KEY,
    "abs_error_1": numeric("absolute part as trained: max over t of |sum - integral|", **_ERROR),
    "two_phi_error_1": numeric("the same with psi = 2 phi, as the controls have it", **_ERROR),
    **{
        f"{name}_{part}_1": numeric(f"{statistic} of {DRAWS} draws: {meaning}, psi = 2 phi", **_DRAWN)
        for name, meaning in CONTROLS.items()
        for part, statistic in (("error", "mean"), ("low", "2.5 % quantile"), ("high", "97.5 % quantile"))
    },
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per key frequency of the last weights. UserError for an architecture without these circuits."""
    return a_row_each(trained, COLUMNS, partial(_errors, trained.run.seed))


def _errors(seed: int, key: Key) -> dict[str, float]:
    """Of one frequency's neurons, as they are and with other angles."""
    rng = np.random.Generator(np.random.Philox(key=[seed, key.k]))
    row = {
        "abs_error_1": largest_error("abs", key.theta, key.rule),
        "two_phi_error_1": largest_error("abs", key.theta, two_phi(key.rule.phi, key.rule.width)),
    }
    for name, draw in controls(key.rule).items():
        drawn = drawn_errors(draw, key.theta, DRAWS, rng)
        row |= {
            f"{name}_error_1": float(drawn.mean()),
            f"{name}_low_1": float(np.quantile(drawn, 0.025)),
            f"{name}_high_1": float(np.quantile(drawn, 0.975)),
        }
    return row


def drawn_errors(draw: Draw, theta_T: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Largest error over theta of the absolute part's sum, for each of several draws, (draws,)."""
    return np.array([largest_error("abs", theta_T, draw(rng)) for _ in range(draws)])


def controls(rule: Rule) -> dict[str, Draw]:
    """A function that draws a rule, for each of CONTROLS. ValueError unless the widths sum to 2 pi."""
    n, boxes = len(rule.phi), lay(rule.phi, rule.width)
    own = np.diff(boxes.edges)

    def offset(rng: np.random.Generator) -> float:
        return float(rng.uniform(0, 2 * np.pi))

    return {
        "random": lambda rng: two_phi(place(rule.width, "random", rng=rng), rule.width),
        "own_box": lambda rng: two_phi(boxes.edges[:-1] + own * rng.random(n), own),
        "jittered": lambda rng: two_phi(place(fill(n), "jittered", offset(rng), rng), fill(n)),
        "regular": lambda rng: two_phi(place(fill(n), "regular", offset(rng)), fill(n)),
    }
