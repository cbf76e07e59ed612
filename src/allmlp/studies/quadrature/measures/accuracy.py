"""Does the network add? Accuracy and margin over all p^2 pairs at every kept step (assumed by 003)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits

RECIPE = 1

COLUMNS = {
    "step": exact("training steps done"),
    "accuracy_1": numeric("share of all pairs whose largest logit is the right sum", atol=0.02),
    "smallest_margin_nats": numeric("right logit minus the largest other, least over all pairs", rtol=0.05, atol=0.1),
    "mean_margin_nats": numeric("the same, mean over all pairs", rtol=0.05, atol=0.1),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step. Raises UserError for an architecture without these circuits."""
    rows = []
    for step in sorted(set(trained.steps)):  # a run that diverged at a kept step names it twice
        margin_XY = circuits.margins(circuits.logits(circuits.weights(trained, step)))
        rows.append((step, (margin_XY > 0).mean(), margin_XY.min(), margin_XY.mean()))
    return pd.DataFrame(rows, columns=list(COLUMNS))
