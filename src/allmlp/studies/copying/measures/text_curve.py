"""Training and validation loss of a text run over its steps, in nats per token and bits per byte (002-7)."""

import math

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.curves import losses
from allmlp.studies.texts import tokens_per_byte

RECIPE = 1
MOST_ROWS = 600

COLUMNS = {
    "step": exact("training steps done"),
    "loss_nats": numeric("training loss of the step's batch per token, before its update", rtol=1e-2, atol=1e-3),
    "validation_nats": numeric(
        "loss per token on held-out documents; nan where it was not taken", rtol=5e-3, atol=1e-3
    ),
    "training_bits_per_byte": numeric("the training loss per byte of text", rtol=1e-2, atol=1e-3),
    "validation_bits_per_byte": numeric("the loss on held-out documents per byte of text", rtol=5e-3, atol=1e-3),
    "floor_bits_per_byte": numeric("entropy of the corpus, which no model can pass; nan where unknown", rtol=1e-6),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step of the log, and one for the end, which has a validation loss only."""
    rows, bits = losses(trained, MOST_ROWS), tokens_per_byte(trained) / math.log(2)
    return rows.assign(
        training_bits_per_byte=bits * rows["loss_nats"],
        validation_bits_per_byte=bits * rows["validation_nats"],
        floor_bits_per_byte=bits * rows["floor_nats"],
    )[list(COLUMNS)]
