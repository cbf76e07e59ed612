"""Perplexities of DCT-MLPs and GPT-2s beside their sizes (000-13)."""

import pandas as pd

from allmlp.studies.language.crossings import of_part
from allmlp.studies.seeds import over_seeds

MEASURES = ["perplexity"]
PARTS = ["perplexity"]
PAPER = "Figure 9"
CLAIMS = ["000-13"]
TITLE = "DCT-MLPs and GPT-2s"
CAPTION = (
    "Weights without and with embeddings, training tokens and perplexity per token on held-out documents at the end of "
    "training: mean over seeds and 95 % t interval."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Columns model, blocks, weights, all_weights, tokens, perplexity_1, low_1, high_1, seeds; empty for one seed."""
    rows = of_part(tables["perplexity"])
    by = ["model", "tokens", "n_blocks", "weights", "all_weights"]
    table = over_seeds(rows, by, "perplexity_1")
    names = {"n_blocks": "blocks", "mean": "perplexity_1", "low": "low_1", "high": "high_1", "n": "seeds"}
    table = table.rename(columns=names)
    return table[["model", "blocks", "weights", "all_weights", "tokens", "perplexity_1", "low_1", "high_1", "seeds"]]
