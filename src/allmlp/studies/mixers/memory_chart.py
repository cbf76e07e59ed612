"""Memory against context for the page: the counts of study 001, beside which the page draws its closed forms."""

from typing import Any

from allmlp.judging import evidence
from allmlp.report import style
from allmlp.spec import exhibits
from allmlp.studies.mixers.names import SIZES
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIXER, TRANSFORMER

STUDY, FIGURE, MEASURE = "mixers", "memory", "memory"  # the figure that this enlarges


def memory() -> dict[str, Any]:
    """The counted bytes of a figure, and the width and vocabulary that they were counted at.

    rows: model, n_blocks, context, total_bytes.
    """
    found = evidence.largest_evidence(STUDY, exhibits.study_exhibits(STUDY, "figures")[FIGURE])
    if found is None:
        return {}
    rows = found.table(MEASURE).drop_duplicates(["model", "n_blocks", "context"])
    columns = ["model", "n_blocks", "context", "total_bytes"]
    found_rows = rows[columns].to_dict("records")
    colours = {MIXER: style.colour("flat")} | dict.fromkeys((TRANSFORMER, FUSED), style.colour("llama"))
    return {"vocabulary": SIZES["vocabulary"], "width": SIZES["d_model"], "rows": found_rows, "colours": colours}
