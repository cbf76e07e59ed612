"""Memory against context for the page: the counts of study 001, beside which the page draws its closed forms."""

from typing import Any

from allmlp.report import evidence, exhibits, style
from allmlp.studies.mixers.named import SIZES
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIXER, TRANSFORMER

STUDY, FIGURE, MEASURE = "mixers", "memory", "memory"  # the figure that this enlarges


def of(study: str, figure: str) -> dict[str, Any]:
    """The counted bytes of a figure, and the width and vocabulary that they were counted at. Empty for other figures.

    rows: model, n_blocks, context, total_bytes.
    """
    if (study, figure) != (STUDY, FIGURE):
        return {}
    found = evidence.largest(STUDY, exhibits.of(STUDY, "figures")[FIGURE])
    if found is None:
        return {}
    rows = found.table(MEASURE).drop_duplicates(["model", "n_blocks", "context"])
    columns = ["model", "n_blocks", "context", "total_bytes"]
    found_rows = rows[columns].to_dict("records")
    colours = {MIXER: style.colour("flat")} | dict.fromkeys((TRANSFORMER, FUSED), style.colour("llama"))
    return {"vocabulary": SIZES["vocabulary"], "width": SIZES["d_model"], "rows": found_rows, "colours": colours}
