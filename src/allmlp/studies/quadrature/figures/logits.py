"""The laws that the logits follow, their coefficients, and the identity part's spectrum (003-9 to -11)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from allmlp.judging.statistics import prediction_interval
from allmlp.report import plots, style
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.quadrature.example import first_run
from allmlp.studies.quadrature.verdicts.common import paper_numbers
from allmlp.studies.quadrature.verdicts.logits import OF_PAPER, paper_ratio, r2_by_seed

COLOUR = style.colour("constant-attention")

NAMES = {"logits": "whole", "mlp": "MLP", "abs": "absolute\npart", "identity": "identity\npart"}
LAWS = {  # label and colour
    "abs": ("|cos k(x-y)/2| cos k(x+y-z)", style.NEUTRAL[0]),
    "cosine": ("cos k(x+y-z)", style.NEUTRAL[1]),
    "both": ("(C |cos k(x-y)/2| + D cos k(x-y)) cos k(x+y-z)", style.NEUTRAL[2]),
}
TICKS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
BEST = 0.9995  # a larger R2 or interval end is drawn at this value


@figure("Which law the logits follow", where="Appendix B", claims=["003-9"])
def regressions(regressions: pd.DataFrame, paper: Paper) -> Figure:
    """R2 of least squares of all p³ logits on one regressor per key frequency (two for the third law) and an intercept.
    Small points: seeds. Large points: their mean with the 95 % prediction interval for one more seed. Grey: the paper's
    numbers. MLP: without the residual stream's direct path to the logits. Absolute and identity part: with |u|/2 and
    u/2 in place of ReLU(u). The third law, C |cos k(x-y)/2| + D cos k(x-y) times cos k(x+y-z), ends Appendix B, which
    does not regress on it. A triangle at the top: the interval goes beyond it, as far as 1 or more.
    """
    rows = regressions
    stated = {of: paper["003-9"][key] for key, of in OF_PAPER.items()}
    figure, ((axis,),) = style.canvas(height=3.4)
    best = unexplained_share(max(rows["r2_1"].max(), 0.995)) / 1.3
    axis.set(yscale="log", ylim=(1.15, best))
    for i, part in enumerate(NAMES):
        for j, law in enumerate(LAWS):
            _fits(axis, i + 0.27 * (j - 1), r2_by_seed(rows, part, law), law, stated.get((part, law)), i == 0)
    ticks = [tick for tick in TICKS if 1 - tick >= best]
    axis.set_yticks([1 - tick for tick in ticks], [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylabel("R2 (spaced by the logarithm of 1 - R2)")
    axis.set_xticks(range(len(NAMES)), list(NAMES.values()))
    axis.set_title(f"{rows['seed'].nunique()} seeds")
    plots.add_legend(figure, [axis], ncols=2)
    return figure


def unexplained_share(r2: float) -> float:
    """1 - R2, within what a logarithmic axis can show."""
    return float(np.clip(1 - r2, 1 - BEST, 1.0))


def _fits(axes: Axes, x: float, values: np.ndarray, law: str, printed: float | None, named: bool) -> None:
    label, colour = LAWS[law]
    interval = prediction_interval(values)
    spread = np.linspace(-0.09, 0.01, len(values)) if len(values) > 1 else np.array([-0.05])
    axes.plot(x + spread, [unexplained_share(v) for v in values], ".", color=colour, alpha=0.6, markersize=4)
    middle = unexplained_share(interval.mean)
    ends = [unexplained_share(end) for end in (interval.high, interval.low)]  # down and up on an axis of 1 - R2
    half = [[middle - ends[0]], [ends[1] - middle]] if np.isfinite(interval.half_width) else None
    looks: dict[str, Any] = {"fmt": "o", "color": colour, "markersize": 5, "capsize": 2.5}
    top = axes.get_ylim()[1]
    if half is not None and ends[0] < top:
        axes.plot(x + 0.07, top, "^", color=colour, markersize=5, clip_on=False)
    axes.errorbar(x + 0.07, middle, yerr=half, label=label if named else "_nolegend_", **looks)
    if printed is not None:
        look: dict[str, Any] = {"color": style.PAPER, "linestyle": "--", "linewidth": 1.4}
        name = "paper" if named and law == "cosine" else "_nolegend_"
        axes.hlines(unexplained_share(printed), x - 0.13, x + 0.13, label=name, **look)


ALONE = style.NEUTRAL[3]


@figure("How strongly each frequency enters the logits", where="Table in Appendix B", claims=["003-10"])
def coefficients(coefficients: pd.DataFrame, paper: Paper) -> Figure:
    """A point per key frequency and seed, larger with its share of the weight. Left: C, the coefficient of |cos
    k(x-y)/2| cos k(x+y-z) in the absolute part's logits, against (2/3) R / 2π, its value if the sum over neurons were
    its integral (line: equal). Right: D, the coefficient of cos k(x-y) cos k(x+y-z) in the identity part's logits,
    against C; and the amplitude of cos(kz - 2kx) in W_out OV / 2 alone, which the paper's text also calls D (E003-6).
    Grey: the paper's four frequencies, and the line of their mean ratio.
    """
    rows, printed = coefficients, paper["003-10"]
    C, D = (paper_numbers(printed, f"{part}_coefficient_1") for part in ("abs", "identity"))
    figure, ((left, right),) = style.canvas(columns=2, height=3.2)
    _points(left, rows, "predicted_abs_nats", "abs_coefficient_nats", COLOUR, "a key frequency")
    style.mark_paper(left, C)
    end = 1.08 * float(rows[["predicted_abs_nats", "abs_coefficient_nats"]].to_numpy().max())
    left.plot([0, end], [0, end], color="black", linewidth=0.8, label="equal")
    left.set(
        xlabel="(2/3) R / 2π (nats)",
        ylabel="C, absolute part (nats)",
        title=f"{rows['seed'].nunique()} seeds, {len(rows)} key frequencies",
    )
    _points(right, rows, "abs_coefficient_nats", "identity_coefficient_nats", COLOUR, "D, identity part")
    _points(right, rows, "abs_coefficient_nats", "ov_cosine_nats", ALONE, "amplitude in W_out OV / 2")
    reach = max(end, *C)
    ratio, _ = paper_ratio(printed)
    right.plot([0, reach], [0, -ratio * reach], color=style.PAPER, linestyle="--", linewidth=1.0)
    right.plot(C, D, linestyle="none", marker="x", color=style.PAPER, markeredgewidth=1.6, label="paper's four")
    right.axhline(0, color="black", linewidth=0.8)
    right.set(xlabel="C, absolute part (nats)", ylabel="D (nats)")
    for axis in (left, right):
        axis.set_xlim(left=0)
        axis.legend(loc="best")
    return figure


def _points(axes: Axes, rows: pd.DataFrame, x: str, y: str, colour: str, label: str) -> None:
    sizes = 4 + 60 * rows["weight_share_1"].clip(lower=0)
    axes.scatter(rows[x], rows[y], s=np.asarray(sizes), color=colour, alpha=0.6, linewidths=0, label=label)


MATRICES = {"OV": "W_out OV / 2", "embed(y)": "W_out embed / 2"}  # -> title
SPAN = 1e3  # largest over smallest colour
MARK = style.NEUTRAL[1]


@figure(
    "The spectrum of the identity part of ReLU",
    where="Appendix B, logit_id1 and logit_id2, not drawn there",
    claims=["003-11"],
)
def identity_spectrum(identity_spectrum: pd.DataFrame) -> Figure:
    """Largest coefficients |a| of the two-dimensional Fourier series of W_out OV / 2 (left, over output z and either
    token) and W_out embed / 2 (right, over z and the second token), first seed, logarithmic colours. A missing square
    is smaller than all drawn ones, or the mirror image of one. Circles: (k, -2k) modulo p of the key frequencies k,
    where the paper finds the whole spectrum.
    """
    rows = first_run(identity_spectrum)
    p, largest = int(rows["p"].iloc[0]), float(rows["modulus_nats"].max())
    figure, axes = style.canvas(columns=2, height=3.0)
    for axis, (name, title) in zip(axes[0], MATRICES.items(), strict=True):
        points = _spectrum(axis, rows[rows["matrix"] == name], p, largest)
        axis.set(title=f"{title}, seed {rows['seed'].iloc[0]}", xlabel="frequency over tokens (1 / p)")
    axes[0, 0].set_ylabel("frequency over z (1 / p)")
    plots.add_legend(figure, axes[0, :1], ncols=1)
    figure.colorbar(points, ax=axes[0].tolist(), label="|a| (nats)")
    return figure


def _spectrum(axes: Axes, rows: pd.DataFrame, p: int, largest: float) -> PathCollection:
    """Draw one matrix's coefficients. Returns them, for their colours."""
    half, rows = p // 2, rows.sort_values("modulus_nats", kind="stable")  # the largest last, on top
    norm = LogNorm(vmin=largest / SPAN, vmax=largest, clip=True)
    size = min(max(6.0, 1.5e3 / p), 60.0)
    sizes = rows["modulus_nats"].clip(lower=largest / SPAN)
    looks: dict[str, Any] = {"norm": norm, "cmap": "viridis_r", "marker": "s", "s": size / 2, "linewidths": 0}
    points = axes.scatter(rows["x_frequency"], rows["z_frequency"], c=sizes, **looks)
    keys = rows[rows["is_key"].astype(bool)]
    ring: dict[str, Any] = {"s": 4 * size, "facecolors": "none", "edgecolors": MARK, "linewidths": 1.2}
    axes.scatter(keys["x_frequency"], keys["z_frequency"], label="(k, -2k) of a key frequency", **ring)
    axes.set(xlim=(-half - 1, half + 1), ylim=(-1, half + 1))
    return points
