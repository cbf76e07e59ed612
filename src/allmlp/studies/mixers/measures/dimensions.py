"""Dimensions that hold m points by the Johnson-Lindenstrauss lemma, as the paper estimates them (001-2, E001-1)."""

import math

import pandas as pd

from allmlp.columns import exact, numeric

RECIPE = 1
POINTS = {  # what is counted -> (the key of its printed number in claims.yaml, mantissa, power of ten)
    "English sentences": ("sentences_dimensions", 1.0, 570),
    "tokens of the largest dataset": ("tokens_dimensions", 15.0, 12),
    "tokens of a dataset a million times larger": ("generalised_tokens_dimensions", 15.0, 18),
    "tokens of TinyStories": ("tinystories_dimensions", 512.0, 6),
}

COLUMNS = {
    "points": exact("what the m points are"),
    "key": exact("the printed number's name in claims.yaml"),
    "log10_points": numeric("log10(m)", rtol=1e-12),
    "logarithm_nats": numeric("ln(m)", rtol=1e-12),
    "dimensions": numeric("8 ln(m), the lemma's bound at an error of 1", rtol=1e-12),
}


def measure() -> pd.DataFrame:
    """One row per number of points. Arithmetic; the run is not used."""
    rows = []
    for points, (key, mantissa, power) in POINTS.items():
        logarithm = math.log(mantissa) + power * math.log(10)
        rows.append((points, key, logarithm / math.log(10), logarithm, 8 * logarithm))
    return pd.DataFrame(rows, columns=list(COLUMNS))
