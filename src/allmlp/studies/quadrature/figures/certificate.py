"""What each level of the certificate proves against what it costs, one point per seed and level (D.2)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from allmlp.report import style
from allmlp.studies.quadrature.certificate.describe import described, order

MEASURES = ["certificate"]
PAPER = ""  # Appendix D.2 asks for such a bound, and gives none
CLAIMS = ["003-own-2", "003-own-6"]
TITLE = "Certified accuracy against the cost of the certificate"
CAPTION = (
    "Each point: one level of one seed's certificate, at its counted operations (tables of the network included) as "
    "a share of brute force. Left: share of the p² pairs whose margin is proved to be above 0. Right: the smallest "
    "lower bound over pairs, linear within ±10 nats and logarithmic beyond; above 0 (black) all pairs are "
    "certified. A line joins the structured levels of one seed, from one Fourier term of the sum over neurons to "
    "all terms; the numbers are terms, where there is room. The paper shows no such bound."
)

LOOKS = {  # level -> colour and mark
    "truth": ("black", "s"),
    "hidden": (style.NEUTRAL[0], "D"),
    "structured": (style.colour("constant-attention"), "o"),
    "story": (style.NEUTRAL[1], "v"),
}
ROOM = 1.05  # of one label's cost to the next's
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Two panels over one axis of cost; tables["certificate"] with run and seed."""
    rows = tables["certificate"].assign(share=lambda r: r["operations"] / r["brute_operations"])
    figure, axes = style.canvas(columns=2, height=3.4)
    for axis, column in zip(axes[0], ("certified_accuracy_1", "smallest_bound_nats"), strict=True):
        _points(axis, rows, column)
        _number(axis, rows, column)
        _cost(axis, rows["share"])
    axes[0, 0].set_ylabel("certified accuracy (share of pairs)")
    axes[0, 0].set_ylim(-0.04, 1.08)
    axes[0, 1].set_yscale("symlog", linthresh=10)
    axes[0, 1].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes[0, 1].set_ylabel("smallest margin bound (nats)")
    axes[0, 1].axhline(0, color="black", linewidth=0.8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _points(axis: Axes, rows: pd.DataFrame, column: str) -> None:
    for level, group in sorted(rows.groupby("level"), key=lambda item: order(str(item[0]), 0)):
        colour, mark = LOOKS[str(level)]
        axis.plot(
            group["share"],
            group[column],
            mark,
            color=colour,
            alpha=0.45,
            markersize=5,
            linewidth=0,
            label=described(str(level)),
        )
    for _, run in rows[rows["level"] == "structured"].sort_values("terms").groupby("run"):
        axis.plot(run["share"], run[column], "-", color=LOOKS["structured"][0], alpha=0.45, linewidth=0.8)


def _number(axis: Axes, rows: pd.DataFrame, column: str) -> None:
    """Write the number of terms at the structured levels of the run with the best bounds, where there is room."""
    structured = rows[rows["level"] == "structured"]
    best = structured["run"].to_numpy()[structured["smallest_bound_nats"].argmax()]
    of_best = structured[structured["run"] == best].sort_values("terms")
    last = 0.0
    for terms, *at in of_best[["terms", "share", column]].to_numpy().tolist():
        if at[0] > ROOM * last:
            axis.annotate(f"{terms:g}", at, (0, 6), textcoords="offset points", ha="center", fontsize=7)
            last = at[0]


def _cost(axis: Axes, shares: pd.Series) -> None:
    low, high = 0.85 * shares.min(), 1.15 * shares.max()
    ticks = [share for share in SHARES if low <= share <= high]
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    axis.set_xticks(ticks, [f"{share:g}" for share in ticks])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("operations (share of brute force)")
