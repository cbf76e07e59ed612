"""Training and validation loss over a run, from its log, thinned, beside the corpus's entropy (000-5)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.curves import losses

RECIPE = 1
MOST_ROWS = 600

COLUMNS = {
    "step": exact("training steps done"),
    "loss_nats": numeric("training loss of the step's batch, before its update", rtol=1e-2, atol=1e-3),
    "validation_nats": numeric("loss on held-out documents; nan where it was not taken", rtol=1e-2, atol=1e-3),
    "floor_nats": numeric("entropy of the corpus per token, which no model can pass; nan where unknown", rtol=1e-6),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step of the log, and one for the end, which has a validation loss only."""
    return losses(trained, MOST_ROWS)
