"""One frequency of one run: its neurons' phases, its sum as rectangles, and its error (003-2, -4, -7, -12)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.seeds import histogram
from allmlp.spec.exhibits import figure
from allmlp.studies.quadrature.bounds import SLOPE, Boxes, lay
from allmlp.studies.quadrature.errors import trained_sum
from allmlp.studies.quadrature.example import Example, heaviest_key
from allmlp.studies.quadrature.frequencies import wrap

COLOUR = style.colour("constant-attention")

BINS = 31  # odd: one bin is centred at no error


@figure("The output phase is twice the input phase", where="Figure 2", claims=["003-2"])
def phases(neurons: pd.DataFrame) -> Figure:
    """Left: phase ψ of W_out = e cos(kz + ψ) against phase φ of OV = c cos(kx + φ), a point per neuron of one key
    frequency (the heaviest of the first seed), larger where its rectangle is wider. Black: ψ = 2φ, which these
    definitions need. Grey: ψ = -2φ as printed, correct only for W_out = e cos(kz - ψ) (E003-2). Both modulo
    2π. Right: distance of the neurons of all key frequencies from either line, as a share of neurons; mean over seeds
    and 95 % t interval.
    """
    figure, axes = style.canvas(columns=2, height=3.3)
    _draw_phases(axes[0, 0], heaviest_key(neurons))
    _angle_errors(axes[0, 1], neurons[neurons["is_key"].astype(bool)])
    entries = [axis.get_legend_handles_labels() for axis in axes[0]]
    handles, labels = (left + right for left, right in zip(*entries, strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _draw_phases(axes: Axes, example: Example) -> None:
    for slope, colour, dashes, label in ((2, "black", "-", "ψ = 2φ"), (-2, style.PAPER, "--", "ψ = -2φ, paper")):
        phi, psi = _wrapped_line(slope)
        axes.plot(phi, psi, color=colour, linestyle=dashes, linewidth=1.0, label=label)
    phi, psi, width = example.rule
    looks: dict[str, Any] = {"s": 60 * width / width.max(), "color": COLOUR, "alpha": 0.6, "linewidths": 0}
    axes.scatter(wrap(phi), wrap(psi), label="a neuron", **looks)
    axes.set(title=example.title, xlabel="φ of OV (rad)", ylabel="ψ of W_out (rad)")
    for set_ticks in (axes.set_xticks, axes.set_yticks):
        set_ticks([-np.pi, 0, np.pi], ["-π", "0", "π"])


def _wrapped_line(slope: int) -> tuple[np.ndarray, np.ndarray]:
    """psi = slope phi modulo 2 pi, broken (NaN) where it leaves the square."""
    phi = np.linspace(-np.pi, np.pi, 401)
    psi = wrap(slope * phi)
    jumps = np.flatnonzero(np.abs(np.diff(psi)) > np.pi) + 1
    return np.insert(phi, jumps, np.nan), np.insert(psi, jumps, np.nan)


def _angle_errors(axes: Axes, rows: pd.DataFrame) -> None:
    edges = np.linspace(-np.pi, np.pi, BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    for column, label, colour in (
        ("angle_error_minus_rad", "error ψ + 2φ, paper", style.PAPER),
        ("angle_error_plus_rad", "error ψ - 2φ", COLOUR),
    ):
        bars = histogram(rows, column, edges)
        axes.stairs(bars["mean"], edges, color=colour, fill=True, alpha=0.7, label=label)
        some = bars["low"].notna() & (bars["mean"] > 0)
        half = (bars["high"] - bars["mean"])[some]
        axes.errorbar(middles[some], bars["mean"][some], yerr=half, fmt="none", ecolor="black", elinewidth=0.8)
    axes.set_ylim(bottom=0)
    axes.set_xticks([-np.pi, 0, np.pi], ["-π", "0", "π"])
    axes.set(
        title=f"{rows['run'].nunique()} runs, all key frequencies",
        xlabel="angle error (rad)",
        ylabel="share of neurons",
    )


ANGLES = ((0.0, "0"), (np.pi / 2, "π/2"))


@figure("A weighted sum over neurons as rectangles", where="Figure 3", claims=["003-4"])
def rectangles(neurons: pd.DataFrame) -> Figure:
    """A rectangle per neuron of one key frequency (the heaviest of the first seed), side by side in the order of their
    phases. Width: the neuron's share of the weight, together 2π. Height: |cos(kt/2 + φ)| cos ψ, the neuron's
    contribution. Their area is the network's sum; the area under the black curve |cos(kt/2 + φ)| cos 2φ is the
    integral, (4/3) cos kt, here at two angles kt. All rectangles are shifted together to lie as near to their phases
    (points) as possible. The paper's figure has no number to compare with.
    """
    example = heaviest_key(neurons)
    boxes = lay(example.rule.phi, example.rule.width)
    figure, axes = style.canvas(rows=len(ANGLES), height=2.3)
    for axis, (kt, name) in zip(axes[:, 0], ANGLES, strict=True):
        total = _rectangles(axis, example, boxes, kt)
        exact = 4 / 3 * np.cos(kt)
        axis.set(
            title=f"{example.title}, kt = {name}: rectangles {total:.3f}, integral {exact:.3f}", ylabel="integrand"
        )
    axes[-1, 0].set_xlabel("φ (rad)")
    plots.add_legend(figure, axes[:1, 0], ncols=3)
    return figure


def _rectangles(axes: Axes, example: Example, boxes: Boxes, kt: float) -> float:
    """Draw the rectangles of one sum. Returns their area."""
    phi, psi = boxes.phases, example.rule.psi[boxes.neurons]
    heights = np.abs(np.cos(kt / 2 + phi)) * np.cos(psi)
    widths = np.diff(boxes.edges)
    looks: dict[str, Any] = {"color": COLOUR, "alpha": 0.35, "edgecolor": COLOUR, "linewidth": 0.5}
    axes.bar(boxes.edges[:-1], heights, widths, align="edge", label="a neuron", **looks)
    axes.plot(phi, heights, linestyle="none", marker=".", markersize=2.5, color=COLOUR, label="its phase φ")
    grid = np.linspace(boxes.edges[0], boxes.edges[-1], 600)
    curve = np.abs(np.cos(kt / 2 + grid)) * np.cos(2 * grid)
    axes.plot(grid, curve, color="black", linewidth=0.9, label="|cos(kt/2 + φ)| cos 2φ")
    axes.set_xlim(boxes.edges[0], boxes.edges[-1])
    return float(heights @ widths)


RED = "#c1272d"


@figure("The area behind the bound", where="Figure 4", claims=["003-7"])
def error_area(neurons: pd.DataFrame) -> Figure:
    """Red: all values that a function with slopes of at most 2 can take in a rectangle if it equals f(φi) at the
    neuron's phase, f(φi) ± 2 |φ - φi|. Half the red area is the box bound. The area contains the rectangles (green) and
    the integrand f(φ) = |cos(kt/2 + φ)| cos 2φ (black). Shown at kt = 0 for one key frequency (the heaviest of the
    first seed), rectangles shifted to where the area is least. Right: the surroundings of the widest red place. The
    paper's figure has no number to compare with.
    """
    example = heaviest_key(neurons)
    boxes = lay(example.rule.phi, example.rule.width)
    figure, ((whole, part),) = style.canvas(columns=2, height=3.1)
    for axis in (whole, part):
        _area(axis, boxes)
        axis.set_xlabel("φ (rad)")
    whole.set(
        title=f"{example.title}: box bound {SLOPE * boxes.distance:.2f}",
        xlim=(boxes.edges[0], boxes.edges[-1]),
        ylabel="integrand at kt = 0",
    )
    _enlarge(part, boxes)
    plots.add_legend(figure, [whole], ncols=3)
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


def _area(axes: Axes, boxes: Boxes) -> None:
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
    axes.set(
        xlim=(middle - half_width, middle + half_width),
        ylim=(lower[shown].min() - room, upper[shown].max() + room),
        title="enlarged",
    )


@figure("The sums over one frequency's neurons", where="Section 2, G_k and H_k, not drawn there", claims=["003-12"])
def sums(neurons: pd.DataFrame) -> Figure:
    """G = Σ w ReLU(cos(kt/2 + φ)) cos ψ and H = Σ w ReLU(cos(kt/2 + φ)) sin ψ over the neurons of one key frequency
    (the heaviest of the first seed), widths w summing to 2π. Points: at the p values of kt/2 modulo 2π. Lines: their
    integrals. H follows -sin, not sin as in the paper, because the paper's definitions give ψ = +2φ (E003-2). Below:
    the differences.
    """
    example = heaviest_key(neurons)
    theta = np.sort(2 * np.pi * np.arange(example.p) / example.p)  # kt/2 modulo 2 pi takes these values, t up to 2p - 2
    sums = trained_sum("relu", theta, example.rule)
    grid = np.linspace(0, 2 * np.pi, 400)
    figure, ((above,), (below,)) = style.canvas(rows=2, height=2.2)
    for values, curve, name, colour in (
        (sums.real, np.cos, "G, (2/3) cos kt", style.colour("constant-attention")),
        (sums.imag, lambda kt: -np.sin(kt), "H, -(2/3) sin kt", style.NEUTRAL[3]),
    ):
        above.plot(grid, 2 / 3 * curve(2 * grid), color=colour, linewidth=0.9)
        above.plot(theta, values, linestyle="none", marker="o", markersize=3.5, color=colour, label=name)
        below.plot(theta, values - 2 / 3 * curve(2 * theta), color=colour, marker="o", markersize=3)
    above.set(title=example.title, ylabel="sum, integral")
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    below.set(ylabel="sum - integral", xlabel="kt/2 modulo 2π (rad)")
    for axis in (above, below):
        axis.set_xticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
        axis.set_xlim(-0.1, 2 * np.pi + 0.1)
    return figure
