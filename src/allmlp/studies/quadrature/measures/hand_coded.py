"""Networks and sums with angles that are placed by hand."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from allmlp.models.angles import GRIDS, fill, place
from allmlp.models.primes import odd_primes
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.quadrature.bounds import lay
from allmlp.studies.quadrature.errors import largest_error
from allmlp.studies.quadrature.frequencies import Floats, Rule, two_phi
from allmlp.studies.quadrature.hand_coded import forward_scores, scores, wobble
from allmlp.studies.quadrature.keys import OF_KEY, Key, key_rows

Draw = Callable[[np.random.Generator], Rule]

CONTROL_DRAWS = 200
_ERROR = {"rtol": 5e-2, "atol": 5e-3}
_DRAWN = {"rtol": 0.3, "atol": 5e-3}  # another CPU type may have one neuron more or less, which changes all draws
CONTROLS = {
    "random": "the same widths at independent uniform angles",
    "own_box": "the same widths, each at a random point of its own box",
    "jittered": "as many equal widths, each at a random point of its box",
    "regular": "as many equal widths, equally spaced",
}


@measure(
    recipe=1,
    **OF_KEY,
    abs_error_1=numeric("absolute part as trained: max over t of |sum - integral|", **_ERROR),
    two_phi_error_1=numeric("the same with psi = 2 phi, as the controls have it", **_ERROR),
    **{
        f"{name}_{part}_1": numeric(f"{statistic} of {CONTROL_DRAWS} draws: {meaning}, psi = 2 phi", **_DRAWN)
        for name, meaning in CONTROLS.items()
        for part, statistic in (("error", "mean"), ("low", "2.5 % quantile"), ("high", "97.5 % quantile"))
    },
)
def angle_controls(trained: TrainedRun) -> Rows:
    """The error of each key frequency's sum, and those with other angles, from a grid to chance (003-own-4).

    The comparison shows how much of a small error is due to the trained angles. All have psi = 2 phi, so that only the
    angles differ. Jittered and regular grids have a uniform offset.

    One row per key frequency of the last weights. UserError for an architecture without these circuits.
    """
    return key_rows(trained, partial(_errors, trained.run.seed))


def _errors(seed: int, key: Key) -> dict[str, float]:
    """Of one frequency's neurons, as they are and with other angles."""
    rng = np.random.Generator(np.random.Philox(key=[seed, key.k]))
    row = {
        "abs_error_1": largest_error("abs", key.theta, key.rule),
        "two_phi_error_1": largest_error("abs", key.theta, two_phi(key.rule.phi, key.rule.width)),
    }
    for name, draw in controls(key.rule).items():
        drawn = drawn_errors(draw, key.theta, CONTROL_DRAWS, rng)
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


P = 113
KEYS = (1, 3, 4, 5)
GRID_COUNTS = (8, 16, 32)
GRID_DRAWS = 10


@measure(
    recipe=1,
    grid=exact("regular, jittered (a random point of each box) or random"),
    keys=exact("frequencies, different ones, drawn"),
    n=exact("angles per frequency, of equal widths"),
    draw=exact("which draw of frequencies, offsets and angles"),
    p=exact("prime"),
    largest_wobble_rad=numeric("largest wobble of the phase among its frequencies", rtol=1e-9),
    accuracy_1=numeric("share of all p^2 pairs whose largest logit is the right sum, in float64", atol=1e-9),
    smallest_margin_nats=numeric("right logit minus the largest other, least over all pairs", rtol=1e-6, atol=1e-12),
)
def hand_coded_grids() -> Rows:
    """Hand-coded networks of several frequencies, with angles on a grid, jittered, or random (Appendix D.1).

    One row per grid, number of frequencies, number of angles and draw; the run's weights are not used.
    """
    for number, grid in enumerate(GRIDS):
        for keys in KEYS:
            for n in GRID_COUNTS:
                for draw in range(GRID_DRAWS):
                    rng = np.random.Generator(np.random.Philox(key=[draw, (number * 100 + keys) * 100 + n]))
                    frequencies = (1 + rng.permutation((P - 1) // 2)[:keys]).tolist()
                    width = fill(n)
                    phi = np.stack([place(width, grid, rng.uniform(0, 2 * np.pi), rng) for _ in frequencies])
                    worst = max(wobble(row, width) for row in phi)
                    found = forward_scores(P, frequencies, phi, np.tile(width, (keys, 1)))
                    yield (grid, keys, n, draw, P, worst, *found)


COUNTS = range(3, 17)  # angles
OFFSETS = 4  # of the whole grid, drawn uniformly
LARGEST = 400  # p


@measure(
    recipe=1,
    n=exact("equally spaced angles, of equal widths, at one frequency"),
    offset_seed=exact("which draw of the grid's offset"),
    p=exact("prime"),
    wobble_rad=numeric("max over all theta of |arg S - arg of the integral|, in float64", rtol=1e-9),
    threshold_rad=numeric("pi / p", rtol=1e-12),
    accuracy_1=numeric("share of all p^2 pairs whose largest logit is the right sum, in float64", atol=1e-9),
    forward_accuracy_1=numeric(
        "the same by the whole forward pass, at the two primes next to pi / wobble; NaN elsewhere", atol=1e-9
    ),
    smallest_margin_nats=numeric("right logit minus the largest other, least over all pairs", rtol=1e-6, atol=1e-12),
    predicted_perfect=exact("is the wobble below pi / p?"),
    perfect=exact("is every pair right?"),
)
def hand_coded_law() -> Rows:
    """When does a network with n equally spaced angles add without an error? Every n, prime and offset (003-own-3).

    One row per number of angles, offset and prime; the run's weights are not used.
    """
    every_p = odd_primes(LARGEST)
    for n in COUNTS:
        width = fill(n)
        for seed in range(OFFSETS):
            offset = np.random.Generator(np.random.Philox(key=[seed, n])).uniform(0, 2 * math.pi)
            phi = place(width, "regular", offset)
            found = wobble(phi, width)
            beside = neighbours(every_p, math.pi / found)
            for p in every_p:
                accuracy, margin = scores(p, phi, width)
                forward = forward_scores(p, [1], phi, width).accuracy if p in beside else math.nan
                limit = math.pi / p
                yield (n, seed, p, found, limit, accuracy, forward, margin, found < limit, margin > 0)


def neighbours(every_p: list[int], threshold: float) -> list[int]:
    """The largest of the ascending numbers below the threshold, and the smallest not below it."""
    below, above = [p for p in every_p if p < threshold], [p for p in every_p if p >= threshold]
    return below[-1:] + above[:1] if above else []
