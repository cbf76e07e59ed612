"""What the models write beside the paper's own sample, copied runs marked (004-7, E004-5)."""

import pandas as pd

from allmlp.studies.overlap import one_line
from allmlp.studies.triangular.printed import OF_THE_PAPER

MEASURES = ["samples"]
PAPER = "Figure 6"
CLAIMS = ["004-7"]
TITLE = "What the models write, and what of it is copied"
CAPTION = (
    "The first sample of the first seed of each part, chosen by its number and not for its looks, and the paper's "
    "Figure 6. Between ⟦ and ⟧ stands the longest run of words that occurs word for word in the training text of the "
    "row's corpus, in eight million characters of a longer one (for the paper's sample in the held-out text too: the "
    "paper holds nothing out). Beside it the run's words, and the mean over all samples and seeds. Samples change with "
    "one bit of a weight, so another machine writes other words."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per part and corpus, and one for the paper's sample on each corpus."""
    rows = tables["samples"]
    rows = rows.assign(part=rows["part"].where(rows["sample"] != OF_THE_PAPER, "the paper's Figure 6"))
    keys = ["part", "corpus"]
    first = rows.sort_values([*keys, "seed", "sample"]).drop_duplicates(keys).reset_index(drop=True)
    means = rows.groupby(keys, as_index=False).agg(
        seeds=("seed", "nunique"), samples=("run", "size"), mean_copied_words=("copied_words", "mean")
    )
    paper = means["part"] == "the paper's Figure 6"  # one text, whatever the runs that it was counted beside
    means.loc[paper, ["seeds", "samples"]] = 1
    marked = [marked_run(*row) for row in first[["text", "copied_from", "copied_to"]].itertuples(index=False)]
    table = first.assign(written=marked)[[*keys, "prompt", "written", "copied_words"]].merge(means, on=keys)
    return table.assign(prompt=table["prompt"].map(one_line), written=table["written"].map(one_line))


def marked_run(text: str, start: int, stop: int) -> str:
    """The text with ⟦ and ⟧ around its copied run."""
    return f"{text[:start]}⟦{text[start:stop]}⟧{text[stop:]}"
