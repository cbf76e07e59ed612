"""When does a network with n equally spaced angles add without an error? Every n, prime and offset (003-own-3)."""

import math

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.models.angles import fill, place
from allmlp.primes import odd_primes
from allmlp.studies.quadrature.hand_coded import forward_scores, scores, wobble

RECIPE = 1

COUNTS = range(3, 17)  # angles
OFFSETS = 4  # of the whole grid, drawn uniformly
LARGEST = 400  # p

COLUMNS = {
    "n": exact("equally spaced angles, of equal widths, at one frequency"),
    "offset_seed": exact("which draw of the grid's offset"),
    "p": exact("prime"),
    "wobble_rad": numeric("max over all theta of |arg S - arg of the integral|, in float64", rtol=1e-9),
    "threshold_rad": numeric("pi / p", rtol=1e-12),
    "accuracy_1": numeric("share of all p^2 pairs whose largest logit is the right sum, in float64", atol=1e-9),
    "forward_accuracy_1": numeric(
        "the same by the whole forward pass, at the two primes next to pi / wobble; NaN elsewhere", atol=1e-9
    ),
    "smallest_margin_nats": numeric("right logit minus the largest other, least over all pairs", rtol=1e-6, atol=1e-12),
    "predicted_perfect": exact("is the wobble below pi / p?"),
    "perfect": exact("is every pair right?"),
}


def measure() -> pd.DataFrame:
    """One row per number of angles, offset and prime; the run's weights are not used."""
    rows, every_p = [], odd_primes(LARGEST)
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
                rows.append((n, seed, p, found, limit, accuracy, forward, margin, found < limit, margin > 0))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def neighbours(every_p: list[int], threshold: float) -> list[int]:
    """The largest of the ascending numbers below the threshold, and the smallest not below it."""
    below, above = [p for p in every_p if p < threshold], [p for p in every_p if p >= threshold]
    return below[-1:] + above[:1] if above else []
