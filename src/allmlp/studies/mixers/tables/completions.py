"""Names kept and sequences repeated in greedy completions (001-29)."""

import pandas as pd

from allmlp.studies.seeds import over_seeds

MEASURES = ["completions"]
PAPER = "Mixer Inference"
CLAIMS = ["001-29"]
TITLE = "Coherence of greedy completions"
CAPTION = (
    "The last tokens of validation stories, written by each model, the likeliest token after the likeliest: share of "
    "the names in them that occur in their prompt, and share of four-word sequences that they have said before; mean "
    "over seeds with its 95 % t interval. The last row is the stories as they go on."
)

VALUES = {"names_kept_1": "names_kept", "repeated_1": "repeated"}


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model and kept step; the text itself at the end."""
    rows = tables["completions"]
    by = ["variant", "step"]
    parts = []
    for column, name in VALUES.items():
        found = over_seeds(rows, by, column).set_index(by)
        called = {"mean": name, "low": f"{name}_low", "high": f"{name}_high"}
        parts.append(found[list(called)].rename(columns=called))
    table = pd.concat([*parts, found["n"].rename("seeds")], axis=1).reset_index().round(4)
    truth = {
        "variant": "the stories",
        "names_kept": rows["true_names_kept_1"].mean(),
        "repeated": rows["true_repeated_1"].mean(),
    }
    return pd.concat([table, pd.DataFrame([truth])], ignore_index=True)
