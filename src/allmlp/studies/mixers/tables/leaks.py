"""Which hybrids see the token that they are to predict (001-19, E001-10)."""

import pandas as pd

MEASURES = ["leak"]
PARTS = ["training"]
PAPER = "Transformer mixer hybrids"
CLAIMS = ["001-19"]
TITLE = "Hybrids: who sees later tokens"
CAPTION = (
    "Largest change of a trained hybrid's logits before a place where all later tokens of the text are replaced, over "
    "held-out rows and seeds, and the share of rows with any change; a causal model has exactly 0. As published, "
    "attention re-packs rows that are padded on the left, and the mask of the mixing that follows does not. The "
    "article's conclusion that hybrids are the most efficient models does not follow from its own numbers: they were "
    "made with this leak, as its body says (E001-10)."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model and padding."""
    table = (
        tables["leak"]
        .groupby(["variant", "padding"], as_index=False)
        .agg(
            seeds=("run", "nunique"),
            rows=("rows", "sum"),
            rows_changed_1=("changed_share_1", "mean"),
            largest_change_1=("largest_change_1", "max"),
        )
    )
    return table.rename(columns={"variant": "model"})
