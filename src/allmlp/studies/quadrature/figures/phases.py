"""Output phase against input phase of one frequency's neurons, and both angle errors of all (003-2)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.example import Example, heaviest_key
from allmlp.studies.quadrature.frequencies import wrap
from allmlp.studies.seeds import over_seeds

MEASURES = ["neurons"]
PAPER = "Figure 2"
CLAIMS = ["003-2"]
TITLE = "The output phase is twice the input phase"
CAPTION = (
    "Left: phase ψ of W_out = e cos(kz + ψ) against phase φ of OV = c cos(kx + φ), one point per "
    "neuron of one key frequency (of the first seed, the one with the most weight), the larger the "
    "wider its rectangle. Black: ψ = 2φ, which these definitions need. Grey: ψ = -2φ as the paper "
    "prints it, right for W_out = e cos(kz - ψ) only (E003-2). Both modulo 2π. Right: the distance of "
    "every key frequency's neuron from either line; share of neurons, mean over seeds, with 95 % t "
    "intervals."
)

BINS = 31  # odd: one bin is centred at no error
COLOUR = style.colour("constant-attention")


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Scatter of one example and two histograms; tables["neurons"] with run and seed."""
    rows = tables["neurons"]
    figure, axes = style.canvas(columns=2, height=3.3)
    _example(axes[0, 0], heaviest_key(rows))
    _errors(axes[0, 1], rows[rows["is_key"].astype(bool)])
    entries = [axis.get_legend_handles_labels() for axis in axes[0]]
    handles, labels = (left + right for left, right in zip(*entries, strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _example(axes: Axes, example: Example) -> None:
    for slope, colour, dashes, label in (
        (2, "black", "-", "ψ = 2φ"),
        (-2, style.PAPER, "--", "ψ = -2φ, paper"),
    ):
        phi, psi = _wrapped_line(slope)
        axes.plot(phi, psi, color=colour, linestyle=dashes, linewidth=1.0, label=label)
    sizes = 60 * example.width / example.width.max()
    axes.scatter(wrap(example.phi), wrap(example.psi), s=sizes, color=COLOUR, alpha=0.6, linewidths=0, label="a neuron")
    axes.set_title(example.title)
    axes.set_xlabel("φ of OV (rad)")
    axes.set_ylabel("ψ of W_out (rad)")
    for set_ticks in (axes.set_xticks, axes.set_yticks):
        set_ticks([-np.pi, 0, np.pi], ["-π", "0", "π"])


def _wrapped_line(slope: int) -> tuple[np.ndarray, np.ndarray]:
    """psi = slope phi modulo 2 pi, broken (NaN) where it leaves the square."""
    phi = np.linspace(-np.pi, np.pi, 401)
    psi = wrap(slope * phi)
    jumps = np.flatnonzero(np.abs(np.diff(psi)) > np.pi) + 1
    return np.insert(phi, jumps, np.nan), np.insert(psi, jumps, np.nan)


def histogram(rows: pd.DataFrame, column: str, edges: np.ndarray) -> pd.DataFrame:
    """Share of each run's neurons per bin: columns run, bin, share; every bin of every run."""
    counts = {run: np.histogram(of_run[column], edges)[0] / len(of_run) for run, of_run in rows.groupby("run")}
    return pd.DataFrame(counts).rename_axis("bin").reset_index().melt("bin", var_name="run", value_name="share")


def _errors(axes: Axes, rows: pd.DataFrame) -> None:
    edges = np.linspace(-np.pi, np.pi, BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    for column, label, colour in (
        ("angle_error_minus_rad", "error ψ + 2φ, paper", style.PAPER),
        ("angle_error_plus_rad", "error ψ - 2φ", COLOUR),
    ):
        bars = over_seeds(histogram(rows, column, edges), ["bin"], "share")
        axes.stairs(bars["mean"], edges, color=colour, fill=True, alpha=0.7, label=label)
        some = bars["low"].notna() & (bars["mean"] > 0)
        half = (bars["high"] - bars["mean"])[some]
        axes.errorbar(middles[some], bars["mean"][some], yerr=half, fmt="none", ecolor="black", elinewidth=0.8)
    axes.set_ylim(bottom=0)
    axes.set_xticks([-np.pi, 0, np.pi], ["-π", "0", "π"])
    axes.set_title(f"{rows['run'].nunique()} runs, all key frequencies")
    axes.set_xlabel("angle error (rad)")
    axes.set_ylabel("share of neurons")
