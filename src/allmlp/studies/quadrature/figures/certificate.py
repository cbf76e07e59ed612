"""The certificate's levels: certified accuracy against cost, one point per seed and level (D.2)."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from allmlp.report import plots, style
from allmlp.spec.exhibits import figure
from allmlp.studies.quadrature.certificate import NAMES, order_levels

LOOKS = {  # level -> colour and mark
    "truth": ("black", "s"),
    "hidden": (style.NEUTRAL[0], "D"),
    "structured": (style.colour("constant-attention"), "o"),
    "story": (style.NEUTRAL[1], "v"),
}
ROOM = 1.09  # smallest ratio of the costs of neighbouring labels
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5)


@figure("Certified accuracy against the cost of the certificate", claims=["003-own-2", "003-own-6"])
def certificate(certificate: pd.DataFrame) -> Figure:
    """A point per level of one seed's certificate, at its counted operations (tables of the network included) as a
    share of brute force. Left: share of the p² pairs whose margin is proved to be above 0. Right: the smallest lower
    bound over pairs, linear within ±10 nats and logarithmic beyond; above 0 (black) all pairs are certified. A line
    joins the structured levels of one seed, from one Fourier term of the sum over neurons to all. Above the panels: the
    terms of the seed with the best bound, at the cost of each, if there is room. The paper shows no such bound.
    """
    rows = certificate.assign(share=lambda r: r["operations"] / r["brute_operations"])
    figure, ((share, margin),) = style.canvas(columns=2, height=3.4)
    for axis, column in ((share, "certified_accuracy_1"), (margin, "smallest_bound_nats")):
        _points(axis, rows, column)
        _number(axis, rows)
        _cost(axis, rows["share"])
    share.set(ylabel="certified accuracy (share of pairs)", ylim=(-0.04, 1.08))
    margin.set_yscale("symlog", linthresh=10)
    margin.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    margin.set_ylabel("smallest margin bound (nats)")
    margin.axhline(0, color="black", linewidth=0.8)
    plots.add_legend(figure, [share], ncols=2)
    return figure


def _points(axis: Axes, rows: pd.DataFrame, column: str) -> None:
    for level, group in order_levels(rows).groupby("level", observed=True):
        colour, mark = LOOKS[str(level)]
        looks: dict[str, Any] = {"color": colour, "alpha": 0.35, "markersize": 4, "markeredgewidth": 0, "linewidth": 0}
        axis.plot(group["share"], group[column], mark, label=NAMES[str(level)], **looks)
    for _, run in rows[rows["level"] == "structured"].sort_values("terms", kind="stable").groupby("run"):
        axis.plot(run["share"], run[column], "-", color=LOOKS["structured"][0], alpha=0.3, linewidth=0.6)


def _number(axis: Axes, rows: pd.DataFrame) -> None:
    """Write above the panel the number of terms at the structured levels of the run with the best bounds, where there
    is room: within the panel they would lie on the points of other seeds.
    """
    structured = rows[rows["level"] == "structured"]
    best = structured["run"].to_numpy()[structured["smallest_bound_nats"].argmax()]
    of_best = structured[structured["run"] == best].sort_values("terms", kind="stable")
    last = 0.0
    looks: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": style.SMALLEST}
    for terms, share in of_best[["terms", "share"]].to_numpy().tolist():
        if share > ROOM * last:
            axis.text(share, 1.01, f"{terms:g}", transform=axis.get_xaxis_transform(), **looks)
            last = share
    axis.text(1, 1.01, "terms", transform=axis.transAxes, **{**looks, "ha": "right"})


def _cost(axis: Axes, shares: pd.Series) -> None:
    low, high = 0.85 * shares.min(), 1.15 * shares.max()
    ticks = [share for share in SHARES if low <= share <= high]
    axis.set(xscale="log", xlim=(low, high))
    axis.set_xticks(ticks, [f"{share:g}" for share in ticks])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("operations (share of brute force)")
