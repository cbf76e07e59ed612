"""One look for every figure: sizes, colours, the paper's grey mark, intervals over seeds, stable bytes."""

import hashlib
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from allmlp import models
from allmlp.report.names import architecture

# One colour per architecture in the whole report, safe for colour-blind readers (Okabe & Ito).
COLOURS = {
    "mlp": "#CC79A7",
    "gpt2-last": "#000000",
    "gpt2": "#000000",  # the causal form, never in one figure with the other
    "dct-mlp": "#009E73",
    "causal-rn": "#0072B2",
    "linear-causal-rn": "#56B4E9",
    "transformer": "#D55E00",
    "linear-transformer": "#E69F00",
    "constant-attention": "#009E73",
    # bidirectional forms share the colour of the causal form and are never in one figure with it
    "birn": "#0072B2",
    "linear-birn": "#56B4E9",
    "transformer-classifier": "#D55E00",
    "linear-transformer-classifier": "#E69F00",
    "hand-coded-addition": "#f77189",
    "masked-mixer": "#2166ac",
    "mixer-autoencoder": "#009E73",
    "llama": "#D55E00",
    "openai-gpt": "#000000",
    "hybrid": "#CC79A7",
    "hybrid-as-published": "#E69F00",
    "matcher-mixer": "#39a7d6",
    "matcher-transformer": "#8f93f4",
    "matcher-transformer-as-published": "#db70f4",
    "triangular": "#f667c6",
    # variants that a figure compares with one another; all other variants have the colour of their architecture
    "two-averaging": "#0072B2",
    "one-plain": "#D55E00",
    "one-averaging": "#009E73",
    "two-plain": "#CC79A7",
    "one-discounted": "#E69F00",
    "gelu": "#56B4E9",
    "relu": "#000000",
    "leaky-relu": "#8a6d3b",
    "reshape": "#999933",
    "gradient-mask": "#882255",
    "elu": "#E69F00",
    "no-post-norm": "#D55E00",
    "no-pre-norm": "#CC79A7",
    "approximate-pre-norm": "#009E73",
}
FURTHER = 24  # colours for architectures that are not listed above
NEUTRAL = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
PAPER = "#8a8a8a"  # the paper's own value
SMALLEST = 7.6  # points of the smallest text: 9 pixels, where a figure 7 inches wide stands beside another on the page


@cache
def rc() -> Any:
    """Matplotlib's parameters. seaborn takes half a second to import, so only drawing imports it."""
    import seaborn

    return {
        **seaborn.axes_style("whitegrid"),
        **seaborn.plotting_context("paper"),
        "svg.hashsalt": "allmlp",
        "svg.fonttype": "none",  # text stays text: selectable, searchable
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "axes.titley": 1.0,  # no panel has ticks above: to look for them takes 5 % of the time
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e6e6e6",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "lines.linewidth": 1.4,
        "savefig.dpi": 150,
    }


def colour(name: str, position: int = 0) -> str:
    """The colour of an architecture, or of a variant of one, in every figure: listed above, or derived from its name.
    Other names get a neutral colour by `position`.

    If two names give the same colour, the architecture registered later takes the next free one. Registering another at
    the end therefore changes no colour.
    """
    new = _extra_colours(*(registered for registered in models.REGISTRY if registered not in COLOURS))
    known = {**new, **COLOURS}
    return known.get(name) or known.get(architecture(name), NEUTRAL[position % len(NEUTRAL)])


@cache
def _extra_colours(*architectures: str) -> dict[str, str]:
    """Colours for architectures that are not in COLOURS."""
    if not architectures:
        return {}
    import seaborn

    palette, new = seaborn.husl_palette(FURTHER, h=0.03).as_hex(), dict.fromkeys(architectures, "")
    for name in new:
        first = int(hashlib.sha256(name.encode()).hexdigest(), 16) % len(palette)
        ordered = [*palette[first:], *palette[:first]]
        new[name] = next((one for one in ordered if one not in new.values()), ordered[0])
    return new


def shades(values: ArrayLike) -> NDArray[np.float64]:
    """Numbers to be drawn as colours, rounded to nine digits of the largest: a colour must not depend on a CPU's last
    bit.

    >>> shades([1.0, 0.1 + 0.2, 1e-16, -1e-16]).tolist()
    [1.0, 0.3, 0.0, 0.0]
    """
    found = np.asarray(values, dtype=np.float64)
    largest = np.nanmax(np.abs(found), initial=0.0)
    return np.round(found, 9 - math.ceil(math.log10(largest))) + 0.0 if largest else found


def canvas(
    columns: int = 1, rows: int = 1, width: float = 7.0, height: float = 2.6, ratios: Sequence[float] | None = None
) -> tuple[Figure, Any]:
    """A figure of `rows` x `columns` axes in the report's style. Returns the figure and a 2-D array of axes.

    `width` is the whole figure's, `height` one row's, both in inches; `ratios` of the rows' heights, if they differ.
    Built without pyplot: no global state.
    """
    with matplotlib.rc_context(rc()):
        figure = Figure(figsize=(width, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, height_ratios=ratios)
    return figure, axes


def mark_paper(axes: Axes, values: float | Sequence[float], *, along: str = "y", label: str = "paper") -> None:
    """Draw the paper's value as a grey dashed line across the axes (`along='y'`: horizontal)."""
    line = axes.axhline if along == "y" else axes.axvline
    numbers = [values] if isinstance(values, int | float) else list(values)
    for position, value in enumerate(numbers):
        line(value, color=PAPER, linestyle=(0, (4, 3)), linewidth=1.2, label=label if position == 0 else None)
