"""Weights at the paper's size (002-10)."""

import numpy as np
import pandas as pd

MEASURES = ["parameter_counts"]
PAPER = "Appendix D"
CLAIMS = ["002-10"]
TITLE = "Weights at the paper's size"
CAPTION = "Weights of blocks and classifier head, as the paper counts, and all weights, embeddings among them."


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per architecture, beside the paper's number where it has one (millions)."""
    rows, paper = tables["parameter_counts"], tables["paper"]
    printed = paper[paper["claim"] == "002-10"].set_index("key")["value"]
    named = rows["model"].str.replace("-", "_") + "_parameters_millions"
    return pd.DataFrame(
        {
            "model": rows["model"],
            "blocks_and_head": rows["blocks_and_head"],
            "paper_millions": [printed.get(name, np.nan) for name in named],
            "total": rows["total"],
        }
    )
