"""Held-out loss of text runs at the end of training, beside weights and operations (002-7)."""

import pandas as pd

from allmlp.studies.copying.verdicts.text import ends
from allmlp.studies.seeds import over_seeds

MEASURES = ["text_curve", "cost"]
PAPER = "Figure 6, left"
CLAIMS = ["002-7", "002-own-2"]
TITLE = "Text by characters: the loss at the end"
CAPTION = (
    "Loss on held-out documents after the last step: mean over seeds and 95 % t interval, in nats and in bits per "
    "byte of text, and the entropy of the text where it is known. Weights are those of the blocks, and all of "
    "them; operations those of the whole training, forward and backward, as counted. The paper gives a "
    "drawing, no numbers."
)

BY = ["corpus", "model"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per corpus and model; interval ends are empty for a single seed."""
    rows = ends(tables["text_curve"]).merge(
        tables["cost"][["run", "parameters", "non_embedding_parameters", "steps_done", "counted_flops"]], on="run"
    )
    nats = over_seeds(rows, BY, "nats_per_byte").rename(columns={"mean": "nats_per_byte", "n": "seeds"})
    bits = over_seeds(rows, BY, "validation_bits_per_byte").rename(columns={"mean": "bits_per_byte"})
    same = rows.groupby(BY, as_index=False).agg(
        entropy_bits_per_byte=("floor_bits_per_byte", "first"),
        weights=("non_embedding_parameters", "first"),
        weights_with_embeddings=("parameters", "first"),
        steps=("steps_done", "max"),
        counted_flops=("counted_flops", "max"),
    )
    table = nats.merge(bits[[*BY, "bits_per_byte"]], on=BY).merge(same, on=BY)
    shown = [*BY, "seeds", "nats_per_byte", "low", "high", "bits_per_byte", "entropy_bits_per_byte"]
    return table[[*shown, "weights", "weights_with_embeddings", "steps", "counted_flops"]]
