"""Common to the rules on neurons: the deciding reading, and initial weights that have not worn off."""

import pandas as pd

from allmlp.judging.rules import premise
from allmlp.judging.statistics import Finding, Verdict
from allmlp.studies.language.classification import PAPER_WIDTH, deciding_reading


def deciding_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the deciding reading: "paper" at the paper's width, "relative" at any other."""
    at_paper_width = "d_model" in rows and (rows["d_model"] == PAPER_WIDTH).all()
    return rows[rows["reading"] == deciding_reading(PAPER_WIDTH if at_paper_width else 0).name]


def withhold_fresh(finding: Finding, rows: pd.DataFrame, margin: dict[str, float]) -> Finding:
    """Undecided rather than contradicted if the initial weights of some run have not worn off."""
    return require_worn(finding, rows, margin, of="contradicted")


def require_worn(finding: Finding, rows: pd.DataFrame, margin: dict[str, float], of: Verdict | None = None) -> Finding:
    """The finding; the premise of the verdict `of` (None: of both) is that the initial weights of every run have worn
    off."""
    worn = rows.groupby("run" if "run" in rows else "seed")["wear_1"].max().min()
    unmet = f"the initial weights have worn by {worn:.2g} of {margin['wear_efoldings']:g} e-foldings only"
    return premise(finding, unmet, holds=worn >= margin["wear_efoldings"], of=of)
