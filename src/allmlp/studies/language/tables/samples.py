"""What the models write after the paper's prompts (000-17)."""

import pandas as pd

from allmlp.studies.overlap import one_line

MEASURES = ["samples"]
PAPER = "Appendix A"
CLAIMS = ["000-17"]
TITLE = "What the models write"
CAPTION = (
    "The continuation by the first seed of each model after each of the paper's six prompts, at the paper's "
    "temperature: chosen by its number, not for its looks. Beside it, means over seeds: the share of runs of three "
    "tokens that occur in the training text, the longest part that stands there word for word, in bytes, and how much"
    " more likely the prompt's last word is in context than after the word before it alone, in nats. Samples change "
    "with one bit of a weight, so another machine writes other words."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per prompt and model."""
    rows = tables["samples"]
    key = ["prompt", "model", "d_model", "d_mlp"]
    first = rows.sort_values([*key, "seed"]).groupby(key, as_index=False).first()
    means = rows.groupby(key, as_index=False).agg(
        seeds=("seed", "nunique"),
        known_trigrams_1=("known_trigrams_1", "mean"),
        longest_copy_bytes=("longest_copy_bytes", "mean"),
        context_gain_nats=("context_gain_nats", "mean"),
    )
    table = first[[*key, "corpus", "prompt_text", "text"]].merge(means, on=key)
    return table.drop(columns="prompt").assign(text=table["text"].map(one_line))
