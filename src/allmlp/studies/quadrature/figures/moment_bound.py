"""The moment bound against the number of its terms, for one seed's key frequencies (003-own-1)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature import bounds, errors, moments, operations
from allmlp.studies.quadrature.example import Example
from allmlp.studies.quadrature.frequencies import FADING_SHARE

MEASURES = ["neurons"]
PAPER = ""  # the bound is not in the paper
CLAIMS = ["003-own-1"]
TITLE = "A bound from Fourier moments, term by term"
CAPTION = (
    "Up to four key frequencies of the first seed, those with the most weight. Solid: sum of the sizes "
    "of the error's Fourier terms |m| ≤ M, plus the tail 4 / (2M + 1); dashed: largest size of their "
    "sum, plus the same tail. Both hold at every real angle and contain the angle term. Black: the "
    "largest error over all angles, on a grid. Orange: the paper's bound for the same angles and "
    f"widths, boxes and angle term. Vertical: the {2 * moments.TERMS + 1} terms that are used elsewhere, and "
    "(dotted) the terms for which the solid bound takes as many multiplications and comparisons as "
    "brute force over all p sums. Logarithmic axes; the paper has no such bound."
)

COLOUR = style.colour("constant-attention")
DEGREES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
PANELS = 4
NUMBERS = ("phi_rad", "psi_rad", "width_1")  # of an example
GRID = np.linspace(0, np.pi, 4001)  # |cos| has period pi


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per frequency; tables["neurons"] with run, seed and p."""
    keys, p = lasting_keys(tables["neurons"])
    figure, axes = style.canvas(columns=2, rows=(len(keys) + 1) // 2, height=2.4)
    for axis, key in zip(axes.flat, keys, strict=False):
        _panel(axis, key, p)
        axis.set_title(key.title)
    for axis in list(axes.flat)[len(keys) :]:
        axis.set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("error of an integral (1)")
    low, high = (end(axis.get_ylim()[i] for axis in axes.flat[: len(keys)]) for i, end in ((0, min), (1, max)))
    ticks = [tick for tick in TICKS if low <= tick <= high]
    for axis in axes.flat[: len(keys)]:
        axis.set_ylim(low, high)
        axis.set_xlabel("terms 2M + 1")
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def lasting_keys(rows: pd.DataFrame) -> tuple[list[Example], int]:
    """Key frequencies of the first seed that are not fading out, heaviest first, PANELS at most; and their p."""
    of_seed = rows[rows["seed"] == rows["seed"].min()]
    of_run = of_seed[of_seed["run"] == of_seed["run"].iloc[0]]
    weight = (of_run["amplitude_in_1"] * of_run["amplitude_out_1"]).groupby(of_run["frequency"]).sum()
    share = (weight / weight.sum()).sort_values(ascending=False)
    keys = []
    for k in share[share >= FADING_SHARE].index[:PANELS]:
        own = of_run.loc[of_run["frequency"] == k, list(NUMBERS)].to_numpy(dtype=float)
        keys.append(Example(int(of_run["seed"].iloc[0]), int(k), *own.T))
    return keys, int(of_run["p"].iloc[0])


def as_dear_as_brute_force(p: int, neurons: int) -> int:
    """The most terms whose bound takes no more operations than brute force over p sums; 3 at least."""
    allowed, M = operations.brute_force(p, neurons).operations, 1
    while operations.moment_bound(neurons, M + 1).operations <= allowed:
        M += 1
    return 2 * M + 1


def _panel(axes: Axes, key: Example, p: int) -> None:
    rule = key.phi, key.psi, key.width
    count = [2 * M + 1 for M in DEGREES]
    for bound, line, label in ((moments.moment_bound, "-", "moment bound"), (moments.peak_bound, "--", "peak bound")):
        axes.plot(count, [bound(*rule, M) for M in DEGREES], line, color=COLOUR, label=label)
    axes.axhline(bounds.total_bound(*rule), color=style.NEUTRAL[1], linewidth=1.2, label="the paper's bound")
    axes.axhline(errors.largest_error("abs", GRID, *rule), color="black", linewidth=1.0, label="largest error")
    axes.axvline(2 * moments.TERMS + 1, color="black", linewidth=0.6, label="terms used")
    dear = as_dear_as_brute_force(p, len(key.phi))
    axes.axvline(dear, color="black", linewidth=0.8, linestyle=":", label="cost of brute force")
    axes.set_xscale("log")
    axes.set_yscale("log")
