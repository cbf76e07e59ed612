"""How first-layer neurons spread over time at every kept step, without thresholds (000-5, 000-7)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language import profiles

RECIPE = 2

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


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step. Raises UserError for an architecture without a first layer."""
    rows, recent = [], min(profiles.RECENT, trained.run.hyperparameters["context"] - 1)
    for step, profile in profiles.over_training(trained):
        rows.append(
            {
                "step": step,
                "l1_l2_median_1": np.nanmedian(profile.time_ratio),
                "sarle_1": profiles.bimodality(profile.time_ratio),
                "constant_share_median_1": np.nanmedian(profiles.constant_share(profile.energies, recent)),
                "window_share_median_1": np.nanmedian(profiles.window_share(profile.energies, recent)),
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))
