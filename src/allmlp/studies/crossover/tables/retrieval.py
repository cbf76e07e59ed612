"""What retrieval found by what learnt the stories, and how much of the texts it could read."""

import pandas as pd

from allmlp.studies.crossover.families import scored

MEASURES = ["score"]
PAPER = ""
CLAIMS: list[str] = []
TITLE = "Retrieval by what learnt the stories"
CAPTION = (
    "Share of held-out summaries whose own story is the nearest of its group of candidates, mean over seeds; guessed: "
    "the same of a guess. Every model is shown the same pairs, in the same groups. Of a text that is longer than the "
    "context the last tokens are read. Cut: the share of such texts, the same for all, as context and tokenizer are."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per column of the matrix that learnt the stories."""
    rows = scored(tables["score"]).query("task == 'retrieval'")
    of_models = rows.groupby(["family", "model"], sort=False, as_index=False)
    return of_models.agg(
        found_1=("value", "mean"),
        guessed_1=("guess", "first"),
        skill_1=("skill_1", "mean"),
        seeds=("run", "nunique"),
        cut_stories=("cut_stories", "first"),
        cut_summaries=("cut_summaries", "first"),
    )
