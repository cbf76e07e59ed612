"""The share of constructed neurons that each reading of Appendix H classifies correctly, at several widths (000-19)."""

from itertools import product
from typing import get_args

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.studies.language.classification import PAPER_WIDTH, Reading, RowScale, SliceScale, classify
from allmlp.studies.language.constructed import kinds

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
