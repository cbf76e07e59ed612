"""What is written at which iteration, in numbers (004-6)."""

import pandas as pd

MEASURES = ["milestones"]
PAPER = "Section 4"
CLAIMS = ["004-6"]
TITLE = "What samples hold, iteration by iteration"
CAPTION = (
    "Means over seeds of what the samples of the model in training hold: share of words, pairs and sequences of four "
    "words that occur in the training text (in four million characters of a longer one), mean length of words spelled "
    "right, different pairs of words, ends of sentences per 1,000 characters, and the held-out loss that the own "
    "document's context saves. The paper's words stand beside the iterations that it names."
)
SAID = {
    "words_iterations": "meaningful words",
    "phrases_iterations": "some phrases",
    "sentences_iterations": "small sentences",
    "understanding_iterations": "understanding of the past context",
}
COLUMNS = (
    "word_share_1",
    "pair_share_1",
    "four_word_share_1",
    "known_word_characters",
    "distinct_pairs",
    "sentence_ends",
    "context_nats",
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per kept step."""
    rows, paper = tables["milestones"], tables["paper"]
    table = rows.groupby("step", as_index=False)[list(COLUMNS)].mean()
    seeds = rows.groupby("step")["seed"].nunique()
    printed = paper[paper["claim"] == "004-6"]
    said = {float(value): SAID[key] for key, value in zip(printed["key"], printed["value"], strict=True)}
    return table.assign(seeds=table["step"].map(seeds), paper_says=[said.get(float(s), "") for s in table["step"]])
