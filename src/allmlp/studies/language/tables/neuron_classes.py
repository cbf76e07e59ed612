"""Share of first-layer neurons in each class at the end of training (000-5)."""

import pandas as pd

from allmlp.studies.language.classification import CLASSES, share_column
from allmlp.studies.seeds import over_seeds

MEASURES = ["neuron_classes"]
PARTS = ["neurons"]
PAPER = "Figure 4, left, at its right end"
CLAIMS = ["000-5", "000-10", "000-12"]
TITLE = "Classes of first-layer neurons at the end of training"
CAPTION = (
    "Share of first-layer neurons in each class of Appendix H after the last step, under each reading of its "
    "norms (E000-2, E000-3); mean over seeds and 95 % t interval. The paper gives a drawing, no numbers."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Columns reading, class, share_1, low_1, high_1, seeds; low and high are empty for a single seed."""
    rows = tables["neuron_classes"]
    last = rows[rows["step"] == rows.groupby("run")["step"].transform("max")]
    parts = [over_seeds(last, ["reading"], share_column(name)).assign(**{"class": name}) for name in CLASSES]
    table = pd.concat(parts, ignore_index=True).sort_values("reading", kind="stable", ignore_index=True)
    table = table.rename(columns={"mean": "share_1", "low": "low_1", "high": "high_1", "n": "seeds"})
    return table[["reading", "class", "share_1", "low_1", "high_1", "seeds"]]
