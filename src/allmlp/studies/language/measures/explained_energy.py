"""How much of a neuron's energy a window of n last rows and one constant explain, for every n: spread over neurons."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language import profiles

RECIPE = 1
QUANTILES = (0.05, 0.5, 0.95)

COLUMNS = {
    "moment": exact("start, half or end of training"),
    "step": exact("training steps done"),
    "window_rows": exact("n, the last time rows that are free"),
    "quantile_1": exact("of the neurons"),
    "explained_1": numeric("share of a neuron's energy that they and one constant explain", rtol=1e-2, atol=0.02),
    "by_chance_1": numeric("the same of random weights, (n + 1) / context", rtol=1e-9),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per moment, n from 0 to context - 1 and quantile. Raises UserError as `first_layer`."""
    rows = []
    for moment, step in profiles.moments(trained).items():
        energies = profiles.at(trained, step).energies
        for window in range(energies.context):
            explained = np.nanquantile(energies.explained(window), QUANTILES)
            head = {"moment": moment, "step": step, "window_rows": window}
            chance = (window + 1) / energies.context
            for quantile, value in zip(QUANTILES, explained.tolist(), strict=True):
                rows.append({**head, "quantile_1": quantile, "explained_1": value, "by_chance_1": chance})
    return pd.DataFrame(rows, columns=list(COLUMNS))
