"""What the triangular masks leave of an expanded mixing, and how exactly masking holds (001-1, 001-9)."""

import pandas as pd

MEASURES = ["hidden_units"]
PAPER = "Flat Mixers Train Faster"
CLAIMS = ["001-9"]
TITLE = "Hidden units under the triangular masks"
CAPTION = (
    "An expanded mixing over a context of so many inputs, both of its matrices lower triangular: which hidden units, "
    "inputs and weights take part in an output, by the gradients of random weights. Above a factor of 1 the further "
    "units are never read; below it the last inputs are read by none (the residual stream still carries them at their"
    " own position)."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per expansion."""
    rows = tables["hidden_units"].drop_duplicates("expansion_1")
    return rows[["expansion_1", "hidden", "hidden_used", "inputs", "inputs_lost", "weights", "weights_used"]].rename(
        columns={"expansion_1": "expansion"}
    )
