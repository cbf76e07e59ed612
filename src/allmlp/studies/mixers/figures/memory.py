"""Memory of one pass forward and backward against context: mixer, transformer, fused attention (001-13, 001-14)."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from allmlp.report import style
from allmlp.studies.mixers.drawing import colour
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIB, MIXER, TRANSFORMER, printed_table

MEASURES = ["memory"]
PAPER = "Scaling Properties, memory tables"
CLAIMS = ["001-13", "001-14", "001-own-11"]
TITLE = "Memory against context"
CAPTION = (
    "One sequence through models of the paper's width and back, without the head, in float32. Lines: what no "
    "implementation goes below, counted byte by byte without a device: weights, their gradients, and what the forward"
    " pass keeps for the backward pass. Coloured crosses: the most that was allocated on a device, where the runs had"
    " one. Grey: the numbers that the paper prints, which hold its driver's share too; it prints none that its GPU "
    "could not hold. Fused attention, which the paper's tables leave out, keeps nothing of the size of the context "
    "squared."
)

LINES: dict[str, dict[str, Any]] = {
    MIXER: {"color": colour("flat")},
    TRANSFORMER: {"color": colour("llama-4")},
    FUSED: {"color": colour("llama-4"), "linestyle": (0, (2, 1.5))},
}
PRINTED = {"001-13": ("o", "paper: flat mixer"), "001-14": ("s", "paper: transformer")}


def _printed(axes: Axes, paper: pd.DataFrame, n_blocks: int) -> None:
    for claim, (marker, label) in PRINTED.items():
        table = printed_table(paper[paper["claim"].eq(claim)].set_index("key")["value"].to_dict())
        of_depth = table[table.index.get_level_values(0) == n_blocks]
        contexts = of_depth.index.get_level_values(1)
        axes.scatter(contexts, of_depth, s=18, marker=marker, facecolor="none", edgecolor=style.PAPER, label=label)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """One axis per number of layers; tables["memory"] in bytes, tables["paper"] in MB."""
    rows = tables["memory"].drop_duplicates(["model", "n_blocks", "context"])
    depths = sorted(rows["n_blocks"].unique())
    figure, axes = style.canvas(columns=len(depths), height=3.0)
    for axis, n_blocks in zip(axes[0], depths, strict=True):
        for model, look in LINES.items():
            of_model = rows[rows["n_blocks"].eq(n_blocks) & rows["model"].eq(model)].sort_values("context")
            axis.plot(of_model["context"], of_model["total_bytes"] / MIB, marker=".", label=model, **look)
            axis.scatter(of_model["context"], of_model["peak_bytes"] / MIB, marker="x", s=22, color=look["color"])
        _printed(axis, tables["paper"], int(n_blocks))
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        contexts = sorted(rows["context"].unique())
        axis.set_xticks(contexts, [f"{context:,}" for context in contexts], rotation=30)
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_title(f"{n_blocks} layers")
        axis.set_xlabel("context (tokens)")
    bottom, top = min(axis.get_ylim()[0] for axis in axes[0]), max(axis.get_ylim()[1] for axis in axes[0])
    for axis in axes[0]:
        axis.set_ylim(bottom, top)
    axes[0, 0].set_ylabel("memory (MB of 2^20 bytes)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure
