"""Training and held-out loss of a run over its steps, in nats per token and per character (004-2 to -5, -7)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.curves import losses
from allmlp.studies.texts import tokens_per_byte

RECIPE = 1
MOST_ROWS = 200

COLUMNS = {
    "step": exact("training steps done"),
    "loss_nats": numeric("training loss of the step's batch per token, before its update", rtol=1e-2, atol=1e-3),
    "validation_nats": numeric("held-out loss per token; nan where it was not taken", rtol=5e-3, atol=1e-3),
    "validation_nats_per_character": numeric("the same per character of text", rtol=5e-3, atol=1e-3),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step of the log, and one for the end, which has a held-out loss only."""
    rows, per = losses(trained, MOST_ROWS), tokens_per_byte(trained)  # of ASCII, whose characters are bytes
    return rows.assign(validation_nats_per_character=per * rows["validation_nats"])[list(COLUMNS)]
