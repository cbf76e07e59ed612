"""Where the identity part's two-dimensional spectrum lies (003-11)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from allmlp.report import style

MEASURES = ["identity_spectrum"]
PAPER = "Appendix B, logit_id1 and logit_id2, not drawn there"
CLAIMS = ["003-11"]
TITLE = "The spectrum of the identity part of ReLU"
CAPTION = (
    "Largest coefficients |a| of the two-dimensional Fourier series of W_out OV / 2 (left, over output z and "
    "either token) and W_out embed / 2 (right, over z and the second token), of the first seed, logarithmic colours; "
    "squares that are not drawn are smaller than all that are, or the mirror image of one. Circles: (k, -2k) modulo p "
    "of the key frequencies k, where the paper finds all of it."
)

SPAN = 1e3  # largest over smallest colour
MARK = style.NEUTRAL[1]


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """One panel per matrix; tables["identity_spectrum"] with run, seed and the run's label p."""
    rows = tables["identity_spectrum"]
    first = rows[rows["seed"] == rows["seed"].min()]
    first = first[first["run"] == first["run"].iloc[0]]  # one run, should a seed have several
    largest = float(first["modulus_nats"].max())
    figure, axes = style.canvas(columns=2, height=3.0)
    for axis, (name, matrix) in zip(
        axes[0], {"OV": "W_out OV / 2", "embed(y)": "W_out embed / 2"}.items(), strict=True
    ):
        points = _panel(axis, first[first["matrix"] == name], int(first["p"].iloc[0]), largest)
        axis.set_title(f"{matrix}, seed {first['seed'].iloc[0]}")
        axis.set_xlabel("frequency over tokens (1 / p)")
    axes[0, 0].set_ylabel("frequency over z (1 / p)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center")
    figure.colorbar(points, ax=axes[0].tolist(), label="|a| (nats)")
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, p: int, largest: float):  # type: ignore[no-untyped-def]
    """Draw one matrix's coefficients. Returns them, for their colours."""
    half, rows = p // 2, rows.sort_values("modulus_nats")  # the largest last, on top
    norm = LogNorm(vmin=largest / SPAN, vmax=largest, clip=True)
    size = min(max(6.0, 1.5e3 / p), 60.0)
    points = axes.scatter(
        rows["x_frequency"], rows["z_frequency"], c=rows["modulus_nats"].clip(lower=largest / SPAN), norm=norm,
        cmap="viridis_r", marker="s", s=size / 2, linewidths=0,
    )  # fmt: skip
    keys = rows[rows["is_key"].astype(bool)]
    axes.scatter(
        keys["x_frequency"], keys["z_frequency"], s=4 * size, facecolors="none", edgecolors=MARK, linewidths=1.2,
        label="(k, -2k) of a key frequency",
    )  # fmt: skip
    axes.set_xlim(-half - 1, half + 1)
    axes.set_ylim(-1, half + 1)
    return points
