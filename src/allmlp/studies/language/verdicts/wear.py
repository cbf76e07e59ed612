"""Common to the rules on neurons: the deciding reading, and initial weights that have not worn off."""

from dataclasses import replace

import pandas as pd

from allmlp.report.statistics import Finding
from allmlp.studies.language.classification import PAPER_WIDTH, deciding
from allmlp.studies.rules import withheld


def of_deciding(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the deciding reading: "paper" at the paper's width, "relative" at any other."""
    at_paper_width = "d_model" in rows and (rows["d_model"] == PAPER_WIDTH).all()
    return rows[rows["reading"] == deciding(PAPER_WIDTH if at_paper_width else 0).name]


def unless_fresh(finding: Finding, rows: pd.DataFrame, margin: dict[str, float]) -> Finding:
    """Undecided rather than contradicted if the initial weights of some run have not worn off."""
    worn = rows.groupby("run" if "run" in rows else "seed")["wear_1"].max().min()
    reason = f"the initial weights have worn by {worn:.2g} of {margin['wear_efoldings']:g} e-foldings only"
    return withheld(finding, "contradicted", reason, when=worn < margin["wear_efoldings"])


def not_judged(finding: Finding, reason: str, *, when: bool) -> Finding:
    """The finding, undecided and without a test, for the `reason`, when `when` holds."""
    if not when:
        return finding
    return replace(finding, verdict="undecided", text=f"{finding.text}; not judged: {reason}", p=None, p_against=None)
