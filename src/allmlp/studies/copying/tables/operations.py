"""How the operations of a training pass and of a generated token grow with the length (002-11)."""

import numpy as np
import pandas as pd

MEASURES = ["operations"]
PAPER = "Equation 5"
CLAIMS = ["002-11"]
TITLE = "Operations against length"
CAPTION = (
    "Counted operations of a forward and backward pass over one sequence, and of one more token after so many "
    "others: matrix products by their size, pairs of the relation by theirs, everything else by the numbers it "
    "writes. The exponents are the slopes of their logarithms over the logarithm of the length."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per architecture: operations at each length, and the exponents."""
    rows = []
    for model, of_model in tables["operations"].groupby("model"):
        row: dict[str, object] = {"model": model}
        for kind in ("training", "generation"):
            for length, count in zip(of_model["length"], of_model[kind], strict=True):
                row[f"{kind}_{length}"] = count
            slope = np.polyfit(np.log(of_model["length"]), np.log(of_model[kind]), 1)[0]
            row[f"{kind}_exponent"] = round(float(slope), 6) + 0.0  # a constant's: 0 on any machine
        rows.append(row)
    return pd.DataFrame(rows)
