"""Training and validation loss over a run, from its log, thinned, beside the corpus's entropy (000-5)."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.corpora.stories.floor import entropy_per_token
from allmlp.studies.curves import kept_rows

if TYPE_CHECKING:
    from allmlp.training.checkpoint import Trained

RECIPE = 1
MOST_ROWS = 600

COLUMNS = {
    "step": exact("training steps done"),
    "loss_nats": numeric("training loss of the step's batch, before its update", rtol=1e-2, atol=1e-3),
    "validation_nats": numeric("loss on held-out documents; nan where it was not taken", rtol=1e-2, atol=1e-3),
    "floor_nats": numeric("entropy of the corpus per token, which no model can pass; nan where unknown", rtol=1e-6),
}


def thinned(log: pd.DataFrame) -> pd.DataFrame:
    """About MOST_ROWS of the log's losses, and every row with a validation loss."""
    validation = log["validation_loss"] if "validation_loss" in log else pd.Series(np.nan, index=log.index)
    keep = validation.notna().to_numpy(copy=True)
    keep[kept_rows(len(log), MOST_ROWS)] = True
    rows = pd.DataFrame({"step": log["step"], "loss_nats": log["loss"], "validation_nats": validation})
    return rows[keep].reset_index(drop=True)


def measure(trained: "Trained") -> pd.DataFrame:
    """One row per kept step of the log, and one for the end, which has a validation loss only."""
    at_end = trained.ending["validation_loss"]
    end = {
        "step": trained.ending["steps_done"],
        "loss_nats": np.nan,
        "validation_nats": np.nan if at_end is None else at_end,
    }
    rows = pd.concat([thinned(trained.log), pd.DataFrame([end])], ignore_index=True)
    floor = entropy_per_token(Path("results/tokens") / trained.run.tokens) if trained.run.tokens else None
    return rows.assign(floor_nats=np.nan if floor is None else floor)
