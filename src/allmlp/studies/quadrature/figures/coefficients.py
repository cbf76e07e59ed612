"""C_k against what the integral predicts, and D_k against C_k (003-10)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.verdicts.logits import paper_ratio

MEASURES = ["coefficients"]
PAPER = "Table in Appendix B"
CLAIMS = ["003-10"]
TITLE = "How strongly each frequency enters the logits"
CAPTION = (
    "One point per key frequency and seed, the larger the larger its share of the weight. Left: C, the coefficient of "
    "|cos k(x-y)/2| cos k(x+y-z) in the absolute part's logits, against (2/3) R / 2π, what it would be were the "
    "sum over neurons its integral (line: equal). Right: D, the coefficient of cos k(x-y) cos k(x+y-z) in the "
    "identity part's logits, against C; and the amplitude of cos(kz - 2kx) in W_out OV / 2 alone, which the paper's "
    "text also calls D (E003-6). Grey: the paper's four frequencies, and the line of their mean ratio."
)

COLOUR = style.colour("constant-attention")
ALONE = style.NEUTRAL[3]


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Two scatters; tables["coefficients"] with run and seed, tables["paper"]."""
    rows = tables["coefficients"]
    stated = tables["paper"][tables["paper"]["claim"] == "003-10"]
    paper = dict(zip(stated["key"].astype(str), stated["value"].astype(float), strict=True))
    C, D = ([v for key, v in paper.items() if key.startswith(f"{name}_coefficient_k")] for name in ("abs", "identity"))
    figure, axes = style.canvas(columns=2, height=3.2)
    left, right = axes[0]
    _points(left, rows, "predicted_abs_nats", "abs_coefficient_nats", COLOUR, "a key frequency")
    style.mark_paper(left, C)
    end = 1.08 * float(rows[["predicted_abs_nats", "abs_coefficient_nats"]].to_numpy().max())
    left.plot([0, end], [0, end], color="black", linewidth=0.8, label="equal")
    left.set_xlabel("(2/3) R / 2π (nats)")
    left.set_ylabel("C, absolute part (nats)")
    left.set_title(f"{rows['seed'].nunique()} seeds, {len(rows)} key frequencies")
    _points(right, rows, "abs_coefficient_nats", "identity_coefficient_nats", COLOUR, "D, identity part")
    _points(right, rows, "abs_coefficient_nats", "ov_cosine_nats", ALONE, "amplitude in W_out OV / 2")
    reach = max(end, *C)
    ratio, _ = paper_ratio(paper)
    right.plot([0, reach], [0, -ratio * reach], color=style.PAPER, linestyle="--", linewidth=1.0)
    right.plot(C, D, linestyle="none", marker="x", color=style.PAPER, markeredgewidth=1.6, label="paper's four")
    right.axhline(0, color="black", linewidth=0.8)
    right.set_xlabel("C, absolute part (nats)")
    right.set_ylabel("D (nats)")
    for axis in (left, right):
        axis.set_xlim(left=0)
        axis.legend(loc="best")
    return figure


def _points(axes: Axes, rows: pd.DataFrame, x: str, y: str, colour: str, label: str) -> None:
    sizes = 4 + 60 * rows["weight_share_1"].clip(lower=0)
    axes.scatter(rows[x], rows[y], s=np.asarray(sizes), color=colour, alpha=0.6, linewidths=0, label=label)
