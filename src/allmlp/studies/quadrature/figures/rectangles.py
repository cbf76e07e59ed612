"""The weighted sum over neurons as rectangles under the integrand (003-4)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.bounds import Boxes, lay
from allmlp.studies.quadrature.example import Example, heaviest_key

MEASURES = ["neurons"]
PAPER = "Figure 3"
CLAIMS = ["003-4"]
TITLE = "A weighted sum over neurons as rectangles"
CAPTION = (
    "One rectangle per neuron of one key frequency (of the first seed, the one with the most weight), "
    "laid end to end in the order of their phases: as wide as the neuron's share of the weight, all "
    "together 2π, and as high as what the neuron puts in, |cos(kt/2 + φ)| cos ψ. Their area is the "
    "network's sum, the area under the black curve |cos(kt/2 + φ)| cos 2φ the integral that it stands "
    "for, (4/3) cos kt, here for two angles kt. Rectangles are shifted together to where they lie "
    "nearest to their phases; points mark the phases. The paper's figure has no number to set beside."
)

ANGLES = ((0.0, "0"), (np.pi / 2, "π/2"))
COLOUR = style.colour("constant-attention")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """One panel per angle kt; tables["neurons"] with run and seed."""
    example = heaviest_key(tables["neurons"])
    boxes = lay(example.phi, example.width)
    figure, axes = style.canvas(rows=len(ANGLES), height=2.3)
    for axis, (kt, name) in zip(axes[:, 0], ANGLES, strict=True):
        total = _panel(axis, example, boxes, kt)
        exact = 4 / 3 * np.cos(kt)
        axis.set_title(f"{example.title}, kt = {name}: rectangles {total:.3f}, integral {exact:.3f}")
        axis.set_ylabel("integrand")
    axes[-1, 0].set_xlabel("φ (rad)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _panel(axes: Axes, example: Example, boxes: Boxes, kt: float) -> float:
    """Draw the rectangles of one sum. Returns their area."""
    phi, psi = boxes.phases, example.psi[boxes.neurons]
    heights = np.abs(np.cos(kt / 2 + phi)) * np.cos(psi)
    widths = np.diff(boxes.edges)
    axes.bar(
        boxes.edges[:-1], heights, widths, align="edge", color=COLOUR, alpha=0.35, edgecolor=COLOUR,
        linewidth=0.5, label="a neuron",
    )  # fmt: skip
    axes.plot(phi, heights, linestyle="none", marker=".", markersize=2.5, color=COLOUR, label="its phase φ")
    grid = np.linspace(boxes.edges[0], boxes.edges[-1], 600)
    curve = np.abs(np.cos(kt / 2 + grid)) * np.cos(2 * grid)
    axes.plot(grid, curve, color="black", linewidth=0.9, label="|cos(kt/2 + φ)| cos 2φ")
    axes.set_xlim(boxes.edges[0], boxes.edges[-1])
    return float(heights @ widths)
