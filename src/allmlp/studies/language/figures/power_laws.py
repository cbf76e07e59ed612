"""Best size and best amount of data against compute: power laws over the minima of the budgets (000-2)."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.report.statistics import t_interval
from allmlp.studies.language.isoflop import BUDGET, exponents, minima

LINES = {
    "size": ("mlp_size_exponent_1", "hoffmann_size_exponent_1"),
    "data": ("mlp_data_exponent_1", "hoffmann_data_exponent_1"),
}  # the paper's own, and the one it compares with


@figure(
    "How the best size and the best amount of data grow with compute",
    where="Figure 1, centre and right",
    claims=["000-2"],
    parts=["scaling"],
)
def power_laws(scaling: pd.DataFrame, paper: Paper) -> Figure:
    """Vertex of the parabola in log N (left), and of one in the log of the supervised targets (right), of each seed and
    budget C = 6 N D. Only minima inside the sizes tried are drawn and fitted; the table of minima names the others.
    Lines: power laws through the geometric means of the drawn points; the exponents are means over seeds, with 95 % t
    intervals where there are several; a seed with fewer than two such minima has none. Grey: lines of the exponents
    that the paper prints (dashed, the same for both models) and quotes for longer sequences (dotted), through the
    middle of the MLP's points.
    """
    found = minima(scaling)
    laws = exponents(found)
    figure, axes = style.canvas(columns=2, height=3.6)
    panels = {"size": ("n_opt", "a", "best number of weights N"), "data": ("d_opt", "b", "best number of targets D")}
    for axis, (name, (column, letter, title)) in zip(axes[0], panels.items(), strict=True):
        inside = found[found["side"] == "inside"].dropna(subset=column)
        _paper(axis, inside[inside["model"] == "mlp"], column, [paper["000-2"][key] for key in LINES[name]])
        for position, model in enumerate(sorted(found["model"].unique(), reverse=True)):
            label = f"{model}: {_exponent(letter, laws.loc[laws['model'] == model, f'{name}_1'])}"
            _model(axis, inside[inside["model"] == model], column, label, style.colour(model, position))
        plots.ticks(axis, sorted(found[BUDGET].unique()), form="{:.2g}")
        axis.set_yscale("log")
        axis.set_xlabel("budget C = 6 N D (operations)")
        axis.set_ylabel(title)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1)
    return figure


def _exponent(letter: str, values: pd.Series) -> str:
    known = values.dropna()
    if known.empty:
        return "no two minima inside"
    interval = t_interval(known.to_numpy())
    ends = f" [{interval.low:.2f}, {interval.high:.2f}]" if math.isfinite(interval.low) else ""
    some = "" if len(known) == len(values) else f" ({len(known)} of {len(values)} seeds)"
    return f"{letter} = {interval.mean:.2f}{ends}{some}"


def _model(axes: Axes, inside: pd.DataFrame, column: str, label: str, colour: str) -> None:
    axes.scatter(inside[BUDGET], inside[column], s=14, color=colour, alpha=0.7, linewidth=0)
    logs = inside[[BUDGET, column]].apply(np.log).groupby(inside[BUDGET]).mean()
    ends = logs[BUDGET].agg(["min", "max"]).to_numpy()
    if len(logs) > 1:
        line = np.polynomial.Polynomial.fit(logs[BUDGET], logs[column], 1)
        axes.plot(np.exp(ends), np.exp(line(ends)), color=colour, label=label)
    else:
        axes.plot([], [], color=colour, marker="o", linestyle="", label=label)


def _paper(axes: Axes, inside: pd.DataFrame, column: str, values: list[float]) -> None:
    if inside.empty:
        return
    budgets = inside[BUDGET].agg(["min", "max"]).to_numpy(dtype=float)
    ends = budgets * [0.7, 1.4]
    middle = np.exp(inside[[BUDGET, column]].apply(np.log).mean())
    for value, dashes in zip(values, ((0, (4, 3)), (0, (1, 2))), strict=True):
        line = middle[column] * (ends / middle[BUDGET]) ** value
        axes.plot(ends, line, color=style.PAPER, linestyle=dashes, linewidth=1.1, label=f"paper: {value:g}")
