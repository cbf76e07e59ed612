"""The rule on settings that the paper leaves open (003-own-5)."""

from typing import TYPE_CHECKING

from allmlp.report.statistics import Finding, better
from allmlp.studies.rules import NotPlannedError

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence


def weight_decay(evidence: "Evidence") -> Finding:
    """003-own-5: |psi - 2 phi| at weight decay 1 minus at 2, paired by seed."""
    rows = evidence.table("scan")
    of_decay = rows[rows["part"] != "grid"].pivot_table(index="seed", columns="weight_decay", values="angle_error_rad")
    if not {1.0, 2.0} <= set(of_decay.columns):
        raise NotPlannedError("no sweep of weight decay")
    pairs = of_decay[[1.0, 2.0]].dropna()
    return better((pairs[1.0] - pairs[2.0]).to_numpy(), evidence.margin["angle_rad"], unit="rad")
