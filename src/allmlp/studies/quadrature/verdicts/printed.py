"""Rule on arithmetic with printed numbers (003-13)."""

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding
from allmlp.studies.quadrature.verdicts.common import exact


def half_integral(evidence: Evidence) -> Finding:
    """003-13: do the five printed coefficients add up to the stated half?"""
    rows, limit = evidence.table("printed_numbers"), evidence.margin["difference_1"]
    own = rows[rows["item"] == "003-13"]
    missed = float((own["value_1"] - evidence.paper["coefficient_sum_1"]).abs().max(skipna=False))
    text = f"sum {own['value_1'].iloc[0]:.15g}, {missed:.3g} from the stated one, allowed {limit:g}"
    return exact(rows, missed <= limit, missed, text)
