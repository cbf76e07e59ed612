"""A text run's losses over training, from its log: thinned, with every held-out loss, and the end."""

from pathlib import Path

import numpy as np
import pandas as pd

from allmlp.corpora.stories.floor import entropy_per_token
from allmlp.protocols import Trained
from allmlp.studies.curves import kept_rows


def thinned(log: pd.DataFrame, most: int) -> pd.DataFrame:
    """About `most` of the log's losses, and every row with a validation loss."""
    validation = log["validation_loss"] if "validation_loss" in log else pd.Series(np.nan, index=log.index)
    keep = validation.notna().to_numpy(copy=True)
    keep[kept_rows(len(log), most)] = True
    rows = pd.DataFrame({"step": log["step"], "loss_nats": log["loss"], "validation_nats": validation})
    return rows[keep].reset_index(drop=True)


def losses(trained: Trained, most: int) -> pd.DataFrame:
    """Columns step, loss_nats, validation_nats, floor_nats (per token): the log's, and a last row for the end.

    The last row has a validation loss only. floor_nats: entropy of the corpus, nan where unknown.
    """
    at_end = trained.ending["validation_loss"]
    end = {
        "step": trained.ending["steps_done"],
        "loss_nats": np.nan,
        "validation_nats": np.nan if at_end is None else at_end,
    }
    rows = pd.concat([thinned(trained.log, most), pd.DataFrame([end])], ignore_index=True)
    floor = entropy_per_token(Path("results/tokens") / trained.run.tokens) if trained.run.tokens else None
    return rows.assign(floor_nats=np.nan if floor is None else floor)
