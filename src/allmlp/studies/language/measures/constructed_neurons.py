"""The share of constructed neurons that each reading of Appendix H classifies correctly, at several widths (000-19)."""

from itertools import product
from typing import get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.columns import exact, numeric
from allmlp.studies.language.classification import (
    BAG_OF_WORDS,
    N_GRAM,
    OTHER,
    PAPER_WIDTH,
    Reading,
    RowScale,
    SliceScale,
    classify,
)

CONTEXT = 15
NOISES = (0.0, 0.1, 0.3)  # relative to the norm of the equal rows
LONGEST = 4  # recent positions of an n-gram


def n_gram(rng: np.random.Generator, count: int, width: int, positions: int) -> NDArray[np.float64]:
    """(count, T, width): random rows of norm 1 at the last `positions`, 0 elsewhere."""
    neurons_NTD = np.zeros((count, CONTEXT, width))
    neurons_NTD[:, -positions:] = unit_rows(rng, count, positions, width)
    return neurons_NTD


def bag_of_words(rng: np.random.Generator, count: int, width: int, noise: float) -> NDArray[np.float64]:
    """(count, T, width): the same random row of norm 1 at every time, plus a random row of norm `noise` at each
    time."""
    return unit_rows(rng, count, 1, width) + noise * unit_rows(rng, count, CONTEXT, width)


def fresh(rng: np.random.Generator, count: int, width: int) -> NDArray[np.float64]:
    """(count, T, width): PyTorch's initial weights of a linear layer, uniform within 1 / sqrt(inputs)."""
    bound = 1 / np.sqrt(CONTEXT * width)
    return rng.uniform(-bound, bound, (count, CONTEXT, width))


def unit_rows(rng: np.random.Generator, count: int, rows: int, width: int) -> NDArray[np.float64]:
    """(count, rows, width): random directions."""
    w = rng.normal(size=(count, rows, width))
    return w / np.linalg.norm(w, axis=2, keepdims=True)


def kinds(rng: np.random.Generator, count: int, width: int) -> dict[str, tuple[str, NDArray[np.float64]]]:
    """kind -> (its class, neurons)."""
    n_grams = {f"{n} recent": (N_GRAM, n_gram(rng, count, width, n)) for n in range(1, LONGEST + 1)}
    words = {
        f"equal rows, {100 * noise:.0f} % noise": (BAG_OF_WORDS, bag_of_words(rng, count, width, noise))
        for noise in NOISES
    }
    return {**n_grams, **words, "initial weights": (OTHER, fresh(rng, count, width))}


RECIPE = 1
WIDTHS = (64, 128, 512)
COUNT = 200  # neurons of each kind

COLUMNS = {
    "width": exact("embedding width d"),
    "kind": exact("how the neurons are made"),
    "class": exact("the class that they are in"),
    "rows": exact("what row norms are relative to: raw, max-row"),
    "slices": exact("what the variance's rows are relative to: time-slice, mean-slice, rms-row"),
    "variance": exact("the variance's threshold: printed, or scaled to the width"),
    "right_share_1": numeric("share of them that the reading puts there", atol=0.01),
}


def measure() -> pd.DataFrame:
    """One row per width, kind and reading; the run's weights are not used."""
    rows = []
    for width in WIDTHS:
        made = kinds(np.random.default_rng(width), COUNT, width)
        readings = product(get_args(RowScale), get_args(SliceScale), {"printed": None, "scaled": PAPER_WIDTH}.items())
        for rows_by, slices_by, (variance, reference) in readings:
            reading = Reading(f"{rows_by}, {slices_by}", rows_by, slices_by, reference)
            for kind, (right, neurons_NTD) in made.items():
                share = float((classify(neurons_NTD, reading) == right).mean())
                rows.append((width, kind, right, rows_by, slices_by, variance, share))
    return pd.DataFrame(rows, columns=list(COLUMNS))
