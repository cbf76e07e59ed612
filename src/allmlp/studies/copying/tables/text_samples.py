"""What each model writes after the paper's prompt (002-7)."""

import pandas as pd

from allmlp.studies.overlap import one_line

MEASURES = ["text_samples"]
PAPER = "Figure 6, right"
CLAIMS = ["002-7"]
TITLE = "What the models write"
CAPTION = (
    "The first sample of the first seed of each model, after the paper's prompt, at the temperature of the published "
    "code (the paper states none): chosen by its number, not for its looks. Beside it, means over all samples and "
    "seeds: the share of words that occur in the training text searched, and the longest part that stands there word "
    "for word, in bytes. Samples change with one bit of a weight, so another machine writes other words. The paper "
    "prints two samples of its Linear CausalRN."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model."""
    rows = tables["text_samples"]
    first = rows.sort_values(["model", "seed", "sample"]).groupby("model", as_index=False).first()
    means = rows.groupby("model", as_index=False).agg(
        samples=("sample", "size"),
        known_words_1=("known_words_1", "mean"),
        longest_copy_bytes=("longest_copy_bytes", "mean"),
    )
    table = first[["model", "corpus", "temperature_1", "prompt", "text"]].merge(means, on="model")
    return table.assign(text=table["text"].map(one_line))
