"""A matcher's training and held-out loss over its steps (001-22, 001-23)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.curves import with_end, with_held_out

RECIPE = 1
MOST_ROWS = 60
SMOOTHED = 25  # steps; a single batch has few queries, and a noisy loss

COLUMNS = {
    "step": exact("training steps done"),
    "loss_nats": numeric("mean training loss of the steps before, up to 25; nan at the end", rtol=2e-2, atol=5e-3),
    "held_out_nats": numeric("loss on held-out pairs; nan where it was not taken", rtol=2e-2, atol=5e-3),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step, and one for the end."""
    smooth = trained.log["loss"].rolling(SMOOTHED, min_periods=1).mean()
    rows = with_held_out(trained.log.assign(loss=smooth), MOST_ROWS, "held_out_nats")
    return with_end(rows, trained, held_out_nats=trained.ending["validation_loss"])


def held_out(trained: Trained) -> pd.DataFrame:
    """Columns step, held_out_nats: where the loss on held-out pairs was taken, the end last."""
    log = trained.log
    taken = log.loc[log["validation_loss"].notna(), ["step", "validation_loss"]]
    taken = taken.rename(columns={"validation_loss": "held_out_nats"})
    end = {"step": trained.ending["steps_done"], "held_out_nats": trained.ending["validation_loss"]}
    return pd.concat([taken, pd.DataFrame([end])], ignore_index=True)
