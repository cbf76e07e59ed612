"""Size, data, compute by both counts, and held-out loss of a run (000-1 to 000-4)."""

from typing import cast

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.shared import cost
from allmlp.tasks.last_token import LastToken

RECIPE = 1

COUNTS = ("parameters", "non_embedding_parameters", "supervised_tokens", "six_nd_flops", "counted_flops", "diverged")
COLUMNS = {
    **{name: cost.COLUMNS[name] for name in COUNTS},
    "epochs_1": exact("how often each training sequence was seen, on average"),
    "validation_nats": numeric("cross-entropy on held-out documents at the end", rtol=5e-3),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row."""
    row = cost.measure(trained)
    task = cast(LastToken, trained.task())
    return row.assign(epochs_1=row["steps_done"] / task.batches_per_epoch)[list(COLUMNS)]
