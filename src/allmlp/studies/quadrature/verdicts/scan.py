"""The rule on settings that the paper leaves open (003-own-5)."""

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding, better
from allmlp.studies.rules import NotPlannedError


def weight_decay(evidence: Evidence) -> Finding:
    """003-own-5: |psi - 2 phi| at weight decay 1 minus at 2, paired by seed."""
    rows = evidence.table("scan")
    rows = rows[rows["part"] != "grid"]
    one, two = (rows[rows["weight_decay"] == decay].set_index("seed")["angle_error_rad"] for decay in (1.0, 2.0))
    paired = sorted(set(one.index) & set(two.index))
    if not paired:
        raise NotPlannedError("no sweep of weight decay")
    return better((one[paired] - two[paired]).to_numpy(), evidence.margin["angle_rad"], unit="rad")
