"""The area that bounds the quadrature's error: it holds the integrand and its rectangles (003-7)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.bounds import SLOPE, Boxes, lay
from allmlp.studies.quadrature.example import heaviest_key

MEASURES = ["neurons"]
PAPER = "Figure 4"
CLAIMS = ["003-7"]
TITLE = "The area behind the bound"
CAPTION = (
    "Red: all that a function with slope at most 2 can be in a rectangle whose neuron's phase and "
    "value it meets, f(φi) ± 2 |φ - φi|. Half its area is the box bound. It holds both the rectangles "
    "(green) and the integrand f(φ) = |cos(kt/2 + φ)| cos 2φ (black), here at kt = 0, for one key "
    "frequency (of the first seed, the one with the most weight), rectangles shifted to where the "
    "area is least. Right: the part around the widest red place, enlarged. The paper's figure has no "
    "number to set beside."
)

COLOUR = style.colour("constant-attention")
RED = "#c1272d"


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Whole period and enlarged part; tables["neurons"] with run and seed."""
    example = heaviest_key(tables["neurons"])
    boxes = lay(example.phi, example.width)
    figure, axes = style.canvas(columns=2, height=3.1)
    for axis in axes[0]:
        _panel(axis, boxes)
        axis.set_xlabel("φ (rad)")
    axes[0, 0].set_title(f"{example.title}: box bound {SLOPE * boxes.distance:.2f}")
    axes[0, 0].set_xlim(boxes.edges[0], boxes.edges[-1])
    axes[0, 0].set_ylabel("integrand at kt = 0")
    _enlarge(axes[0, 1], boxes)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def integrand(phi: np.ndarray) -> np.ndarray:
    """|cos phi| cos 2 phi: the absolute part's integrand at t = 0."""
    return np.abs(np.cos(phi)) * np.cos(2 * phi)


def outline(boxes: Boxes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of the red area from left to right: phi, lower, upper.

    Each box has three: its two edges, and its phase where that lies between them (else an edge again).
    """
    left, right = boxes.edges[:-1], boxes.edges[1:]
    corners_N3 = np.stack([left, np.clip(boxes.phases, left, right), right], axis=1)
    reach_N3 = SLOPE * np.abs(corners_N3 - boxes.phases[:, None])
    value_N1 = integrand(boxes.phases)[:, None]
    return corners_N3.ravel(), (value_N1 - reach_N3).ravel(), (value_N1 + reach_N3).ravel()


def _panel(axes: Axes, boxes: Boxes) -> None:
    phi, lower, upper = outline(boxes)
    axes.fill_between(phi, lower, upper, color=RED, alpha=0.45, linewidth=0, label="f(φi) ± 2 |φ - φi|")
    axes.stairs(integrand(boxes.phases), boxes.edges, baseline=None, color=COLOUR, linewidth=0.9, label="rectangles")
    grid = np.linspace(boxes.edges[0], boxes.edges[-1], 1200)
    axes.plot(grid, integrand(grid), color="black", linewidth=0.8, label="f(φ) = |cos φ| cos 2φ")


def _enlarge(axes: Axes, boxes: Boxes, half_width: float = 0.35) -> None:
    """Show only the surroundings of the edge that lies farthest from its phase."""
    phi, lower, upper = outline(boxes)
    middle = phi[np.argmax(upper - lower)]
    middle = np.clip(middle, boxes.edges[0] + half_width, boxes.edges[-1] - half_width)
    shown = np.abs(phi - middle) <= half_width
    room = 0.05 * (upper[shown].max() - lower[shown].min())
    axes.set_xlim(middle - half_width, middle + half_width)
    axes.set_ylim(lower[shown].min() - room, upper[shown].max() + room)
    axes.set_title("enlarged")
