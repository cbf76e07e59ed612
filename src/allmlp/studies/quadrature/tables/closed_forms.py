"""The integrals of Section 3 and Appendix B: by hand, as printed, and how far either is off (003-3)."""

import pandas as pd

from allmlp.studies.quadrature.integrals import INTEGRALS

MEASURES = ["closed_forms"]
PAPER = "Section 3 and Appendix B"
CLAIMS = ["003-3"]
TITLE = "The integrals behind the quadrature"
CAPTION = (
    "Each integral over φ from -π to π: its value by hand, its value as the paper prints it (with the "
    "t that it leaves out, E003-3), and the largest difference of either from numerical integration "
    "over the angles kt = 2πt/p, t = 0 .. p-1. Appendix B prints the results of the identity and of "
    "the absolute part in each other's place (E003-1)."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Columns integral, where, by_hand, as_printed, by_hand_difference_1, as_printed_difference_1."""
    rows = tables["closed_forms"]
    table = []
    for integral in INTEGRALS:
        own = rows[rows["integral"] == integral.name]
        by_hand, printed = ((own["value_1"] - own[name]).abs().max() for name in ("closed_form_1", "paper_1"))
        shown = (f"{by_hand:.1e}", f"{printed:.2g}" if printed > 1e-6 else f"{printed:.1e}")
        table.append((integral.name, integral.where, integral.closed_form[0], integral.paper[0], *shown))
    columns = [
        "integral",
        "where",
        "by_hand",
        "as_printed",
        "by_hand_difference_1",
        "as_printed_difference_1",
    ]
    return pd.DataFrame(table, columns=columns)
