"""Loss and accuracy on each training batch before its update: every batch is fresh strings (002-4)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.curves import of_log

RECIPE = 1
MOST_ROWS = 2000

COLUMNS = {
    "step": exact("training step, counted as in the log"),
    "loss_nats": numeric("cross-entropy of the supervised tokens, before the step's update", rtol=1e-2, atol=1e-3),
    "token_accuracy_1": numeric("share of supervised tokens predicted right", rtol=1e-2, atol=0.02),
    "string_accuracy_1": numeric("share of strings with every token right, EOS included", rtol=1e-2, atol=0.05),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per step of the log; of longer logs MOST_ROWS or fewer, always the same."""
    names = {"loss": "loss_nats", "token_accuracy": "token_accuracy_1", "string_accuracy": "string_accuracy_1"}
    return of_log(trained.log, MOST_ROWS, names)
