"""Where a Llama overtakes the flat mixer at equal counted operations (001-own-12). The unit is the seed."""

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding
from allmlp.studies.crossing import compare
from allmlp.studies.crossing_rule import changes_hands
from allmlp.studies.mixers.courses import curves
from allmlp.studies.mixers.named import FLAT, LLAMA, TRAINING
from allmlp.studies.mixers.parts import of_model
from allmlp.studies.rules import of_part


def lead_changes_hands(evidence: Evidence) -> Finding:
    """001-own-12: the flat mixer leads at the fewest operations, the Llama at the most, and the lead changes once."""
    rows, margin = of_part(evidence.table("learning_curve"), TRAINING), evidence.margin
    mixer, llama = (curves(of_model(rows, name)) for name in (FLAT, LLAMA))
    names = "the flat mixer", "the Llama with 4 heads"
    return changes_hands(compare(mixer, llama), *names, margin=margin["loss_nats"], factor=margin["interval_factor_1"])
