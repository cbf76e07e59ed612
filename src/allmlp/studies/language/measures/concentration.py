"""How first-layer neurons spread over time at every kept step, without thresholds (000-5, 000-7)."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.studies.language import concentration, neurons

if TYPE_CHECKING:
    from allmlp.training.checkpoint import Trained

RECIPE = 1

COLUMNS = {
    "step": exact("training steps done"),
    "l1_l2_median_1": numeric("median over neurons of l1 over l2 norm over time", rtol=1e-2),
    "sarle_1": numeric("Sarle's bimodality coefficient of l1/l2 over neurons; 0.556 if uniform", rtol=1e-2, atol=0.02),
    "constant_share_median_1": numeric(
        "median over neurons: share of the energy of all rows but the last 3 that is constant in time; "
        "1 / (context - 3) for random weights",
        rtol=1e-2,
        atol=0.02,
    ),
    "window_share_median_1": numeric(
        "median over neurons: share of the energy that the last 3 rows and one constant before them explain; "
        "4 / context for random weights",
        rtol=1e-2,
        atol=0.02,
    ),
}


def measure(trained: "Trained") -> pd.DataFrame:
    """One row per kept step. Raises UserError for an architecture without a first layer."""
    rows = []
    for step, layer_NTD in neurons.layers(trained):
        ratio_N = concentration.l1_l2(layer_NTD)
        rows.append(
            {
                "step": step,
                "l1_l2_median_1": np.nanmedian(ratio_N),
                "sarle_1": concentration.bimodality(ratio_N),
                "constant_share_median_1": np.nanmedian(concentration.constant_share(layer_NTD)),
                "window_share_median_1": np.nanmedian(concentration.window_share(layer_NTD)),
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))
