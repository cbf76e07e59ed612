"""An early GPT's training loss with and without its dropout (E001-8)."""

import pandas as pd

from allmlp.studies.seeds import over_seeds

MEASURES = ["dropout"]
PARTS = ["training"]
PAPER = "Masked Mixers outperform early CLM Transformers"
CLAIMS = ["001-20"]
TITLE = "A training loss above the held-out loss"
CAPTION = (
    "Mean loss (nats per token) of a trained early GPT on its last training batches, with its dropout as in training "
    "and without, and on held-out documents; mean over seeds and 95 % t interval. The article prints a training loss "
    "above the test loss: a training loss has the dropout in it, a test loss has not (E001-8)."
)

COLUMNS = {"with_dropout_nats": "with", "without_dropout_nats": "without", "validation_nats": "held_out"}


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model."""
    rows = tables["dropout"]
    table = rows.groupby("variant", as_index=False).agg(seeds=("run", "nunique"))
    for column, name in COLUMNS.items():
        means = over_seeds(rows, ["variant"], column).drop(columns="n")
        table = table.merge(means.rename(columns={"mean": name, "low": f"{name}_low", "high": f"{name}_high"}))
    return table.rename(columns={"variant": "model"})
