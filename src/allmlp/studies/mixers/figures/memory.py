"""Memory of one pass forward and backward against context: mixer, transformer, fused attention (001-13, 001-14)."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.mixers.drawing import colour
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIB, MIXER, TRANSFORMER, printed_table

LINES: dict[str, dict[str, Any]] = {
    MIXER: {"color": colour("flat")},
    TRANSFORMER: {"color": colour("llama-4")},
    FUSED: {"color": colour("llama-4"), "linestyle": (0, (2, 1.5))},
}
PRINTED = {"001-13": ("o", "paper: flat mixer"), "001-14": ("s", "paper: transformer")}


@figure("Memory against context", where="Scaling Properties, memory tables", claims=["001-13", "001-14", "001-own-11"])
def memory(memory: pd.DataFrame, paper: Paper) -> Figure:
    """One sequence through models of the paper's width and back, without the head, in float32. Lines: a lower bound for
    every implementation, counted byte by byte without a device: weights, their gradients, and what the forward pass
    keeps for the backward pass. Coloured crosses: the peak on a device, if the runs had one. Grey: the paper's numbers,
    which include the driver's share; it prints none that its GPU could not hold. Fused attention, which the paper's
    tables leave out, keeps nothing of the size of the context squared.
    """
    rows = memory.drop_duplicates(["model", "n_blocks", "context"])
    depths = sorted(rows["n_blocks"].unique())
    figure, axes = style.canvas(columns=len(depths), height=3.0)
    for axis, n_blocks in zip(axes[0], depths, strict=True):
        for model, look in LINES.items():
            of_model = rows[rows["n_blocks"].eq(n_blocks) & rows["model"].eq(model)].sort_values("context")
            axis.plot(of_model["context"], of_model["total_bytes"] / MIB, marker=".", label=model, **look)
            axis.scatter(of_model["context"], of_model["peak_bytes"] / MIB, marker="x", s=22, color=look["color"])
        _printed(axis, paper, int(n_blocks))
        plots.ticks(axis, sorted(rows["context"].unique()), base=2, form="{:,}", rotation=30)
        axis.set(yscale="log", title=f"{n_blocks} layers", xlabel="context (tokens)")
    bottom, top = min(axis.get_ylim()[0] for axis in axes[0]), max(axis.get_ylim()[1] for axis in axes[0])
    for axis in axes[0]:
        axis.set_ylim(bottom, top)
    axes[0, 0].set_ylabel("memory (MB of 2^20 bytes)")
    plots.legend_below(figure, axes[0, :1], ncols=3)
    return figure


def _printed(axis: Axes, paper: Paper, n_blocks: int) -> None:
    for claim, (marker, label) in PRINTED.items():
        table = printed_table(paper[claim])
        of_depth = table[table.index.get_level_values(0) == n_blocks]
        looks: dict[str, Any] = {"s": 18, "marker": marker, "facecolor": "none", "edgecolor": style.PAPER}
        axis.scatter(of_depth.index.get_level_values(1), of_depth, label=label, **looks)
