"""Does a triangular mask agree with the paper's worked example, in every form of mixing? In float64 (001-1)."""

import pandas as pd

from allmlp.columns import exact
from allmlp.studies.mixers.structure import FORMS, example, future, masked_gradients

RECIPE = 1

COLUMNS = {
    "form": exact("form of the mixing; the worked example has three tokens and one filter per token"),
    "property": exact("masked weights and output against the printed ones, future, gradients of masked weights"),
    "difference_1": exact("largest difference, change or gradient; 0 where the property holds"),
}


def measure() -> pd.DataFrame:
    """One row per form and property."""
    rows = [("worked example", name, difference) for name, difference in example().items()]
    for form, options in FORMS.items():
        rows.append((form, "future", future(options)))
        rows.append((form, "gradients of masked weights", masked_gradients(options)))
    return pd.DataFrame(rows, columns=list(COLUMNS))
