"""Networks for the quadrature playground: the phases and widths of some key frequencies, as the runs were measured."""

from typing import Any

from allmlp.judging import evidence
from allmlp.spec import exhibits
from allmlp.studies.quadrature.example import heaviest_keys
from allmlp.studies.quadrature.frequencies import FADING_SHARE

STUDY, FIGURE, MEASURE = "quadrature", "sums", "neurons"  # the figure that the playground enlarges
MOST = 4  # key frequencies
DECIMALS = 6  # of an angle or a width in rad; the page makes the widths fill the period again


def networks() -> list[dict[str, Any]]:
    """The heaviest key frequencies of the run that a figure shows: p, and a phase in, a phase out and a width for each
    neuron, in rad."""
    found = evidence.largest_evidence(STUDY, exhibits.study_exhibits(STUDY, "figures")[FIGURE])
    if found is None:
        return []
    return [
        {
            "name": f"trained: {example.title}",
            "p": example.p,
            "phi": example.rule.phi.round(DECIMALS).tolist(),
            "psi": example.rule.psi.round(DECIMALS).tolist(),
            "width": example.rule.width.round(DECIMALS).tolist(),
        }
        for example in heaviest_keys(found.table(MEASURE), MOST, FADING_SHARE)
    ]
