"""Rules on single neurons: one frequency, and psi = 2 phi (003-1, 003-2)."""

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.quadrature.verdicts.common import of_key_neurons
from allmlp.studies.rules import below


def single_frequency(evidence: Evidence) -> Finding:
    """003-1: neurons of key frequencies have one frequency in, one out, and it is the same."""
    rows, margin = evidence.table("neurons"), evidence.margin
    clean = {
        "(a) one frequency in": rows["share_in_1"] >= margin["variance_share_1"],
        "(b) one frequency out": rows["share_out_1"] >= margin["variance_share_1"],
        "(c) the same in and out": rows["frequency"] == rows["frequency_out"],
    }
    return whole(
        {
            name: better(of_key_neurons(rows, holds), margin["neuron_share_1"], unit="of neurons")
            for name, holds in clean.items()
        }
    )


def phase_relation(evidence: Evidence) -> Finding:
    """003-2: psi is twice phi, and with which sign (E003-2)."""
    rows, limit = evidence.table("neurons"), evidence.margin["angle_rad"]
    plus, minus = (rows[f"angle_error_{sign}_rad"].abs() for sign in ("plus", "minus"))
    return whole(
        {
            "(a) psi = +2 phi, as the definitions need": below(of_key_neurons(rows, plus), limit, "rad"),
            "(b) psi = -2 phi, as printed": below(of_key_neurons(rows, minus), limit, "rad"),
        }
    )
