"""Hand-coded networks of several frequencies, with angles on a grid, jittered, or random (Appendix D.1)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.models.angles import GRIDS, fill, place
from allmlp.studies.quadrature.hand_coded import forward_scores, wobble

RECIPE = 1

P = 113
KEYS = (1, 3, 4, 5)
COUNTS = (8, 16, 32)
DRAWS = 10

COLUMNS = {
    "grid": exact("regular, jittered (a random point of each box) or random"),
    "keys": exact("frequencies, different ones, drawn"),
    "n": exact("angles per frequency, of equal widths"),
    "draw": exact("which draw of frequencies, offsets and angles"),
    "p": exact("prime"),
    "largest_wobble_rad": numeric("largest wobble of the phase among its frequencies", rtol=1e-9),
    "accuracy_1": numeric("share of all p^2 pairs whose largest logit is the right sum, in float64", atol=1e-9),
    "smallest_margin_nats": numeric("right logit minus the largest other, least over all pairs", rtol=1e-6, atol=1e-12),
}


def measure() -> pd.DataFrame:
    """One row per grid, number of frequencies, number of angles and draw; the run's weights are not used."""
    rows = []
    for number, grid in enumerate(GRIDS):
        for keys in KEYS:
            for n in COUNTS:
                for draw in range(DRAWS):
                    rng = np.random.Generator(np.random.Philox(key=[draw, (number * 100 + keys) * 100 + n]))
                    frequencies = (1 + rng.permutation((P - 1) // 2)[:keys]).tolist()
                    width = fill(n)
                    phi = np.stack([place(width, grid, rng.uniform(0, 2 * np.pi), rng) for _ in frequencies])
                    worst = max(wobble(row, width) for row in phi)
                    found = forward_scores(P, frequencies, phi, np.tile(width, (keys, 1)))
                    rows.append((grid, keys, n, draw, P, worst, *found))
    return pd.DataFrame(rows, columns=list(COLUMNS))
