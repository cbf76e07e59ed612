"""What the bounds and the check by brute force cost as p and the number of neurons grow (003-8)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature import growth
from allmlp.studies.quadrature.moments import TERMS
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND

MEASURES = ["bound_cost"]
PAPER = "Section 4"
CLAIMS = ["003-8"]
TITLE = "Cost of the bounds and of brute force"
CAPTION = (
    "Top: multiplications and comparisons, counted exactly. Bottom: time on one core, the shortest of several. "
    "Left: over p at the number of neurons named; right: over the neurons of one frequency at p = "
    f"{growth.P}. In brackets the growth exponent by least squares through the logarithms; of time over "
    f"neurons only from {growth.TIMED_FROM:,} on, as below NumPy's own time per call hides it. Grey: the "
    "growth that the paper states for its bound and for brute force, from the first fitted point. A "
    "bound saves something only where its line is below that of brute force. The moment bound has "
    f"{2 * TERMS + 1} terms. Cosines, which brute force takes once per sum and neuron, are in the time, "
    "not in the operations."
)

COLOURS = dict(zip((PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND), style.NEUTRAL, strict=False))
STATED = {  # the paper's exponents: procedure -> by p, by neurons
    PAPER_BOUND: {"p": 0, "neurons": 1},
    BRUTE_FORCE: {"p": 1, "neurons": 1},
}
VALUES = {"operations_1": "operations (1)", "time_s": "time (s)"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Two rows of two panels; tables["bound_cost"]."""
    rows = tables["bound_cost"]
    figure, axes = style.canvas(columns=2, rows=2, height=2.9)
    lines = {"p": growth.over_p(rows), "neurons": growth.over_neurons(rows)}
    for row, (value, unit) in zip(axes, VALUES.items(), strict=True):
        for axis, (by, shown) in zip(row, lines.items(), strict=True):
            _panel(axis, shown, by, value)
            axis.set_ylabel(unit)
    axes[0, 0].set_title(f"{int(lines['p']['neurons'].iloc[0])} neurons")
    axes[0, 1].set_title(f"p = {growth.P}")
    for axis, label in zip(axes[1], ("p", "neurons of one frequency"), strict=True):
        axis.set_xlabel(label)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, by: str, value: str) -> None:
    for procedure, colour in COLOURS.items():
        line = rows[rows["procedure"] == procedure]
        used = growth.fitted(line, by, value)
        slope = growth.exponent(used, by, value)
        axes.plot(line[by], line[value], "o-", markersize=3, color=colour, label=f"{procedure} ({slope:.2f})")
        if procedure in STATED:
            start = used.iloc[0]
            guide = start[value] * (used[by] / start[by]) ** STATED[procedure][by]
            axes.plot(used[by], guide, color=style.PAPER, linestyle=(0, (4, 3)), linewidth=1.2, zorder=1)
    axes.plot([], [], color=style.PAPER, linestyle=(0, (4, 3)), label="growth as the paper states")
    axes.set_xscale("log")
    axes.set_yscale("log")
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** 0.45)  # room for the legend
    ticks = sorted(rows[by].unique())[:: 1 if by == "p" else 3]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(fontsize=7, loc="upper left")
