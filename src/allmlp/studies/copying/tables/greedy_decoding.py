"""Fresh strings copied letter by letter, beside the same with the true letters given (002-4)."""

import pandas as pd

from allmlp.studies.seeds import over_seeds

MEASURES = ["greedy_decoding"]
PAPER = "Section 3"
CLAIMS = ["002-4"]
TITLE = "Copying as it is used"
CAPTION = (
    "Share of fresh strings that the trained models copy without an error when they write letter by letter "
    "after their own letters (greedy decoding), and when they are told the true letters before (the accuracy "
    "that training logs): mean over seeds, with the 95 % t interval of the first."
)

BY = ["string_length", "model", "variant"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per string length, model and variant."""
    rows = tables["greedy_decoding"]
    written = over_seeds(rows, BY, "strings_1").rename(
        columns={"mean": "strings_right", "low": "low", "high": "high", "n": "seeds"}
    )
    others = rows.groupby(BY, as_index=False).agg(
        strings_right_if_told=("told_strings_1", "mean"),
        letters_right=("letters_1", "mean"),
        letters_right_if_told=("told_letters_1", "mean"),
    )
    table = written.merge(others, on=BY)
    return table[[*BY, "seeds", "strings_right", "low", "high", *others.columns.drop(BY)]]
