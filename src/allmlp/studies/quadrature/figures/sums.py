"""The two sums over one frequency's neurons, G_k and H_k, against their integrals (003-12)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.quadrature.errors import trained_sum
from allmlp.studies.quadrature.example import heaviest_key

MEASURES = ["neurons"]
PAPER = "Section 2, G_k and H_k, not drawn there"
CLAIMS = ["003-12"]
TITLE = "The sums over one frequency's neurons"
CAPTION = (
    "G = Σ w ReLU(cos(kt/2 + φ)) cos ψ and H = Σ w ReLU(cos(kt/2 + φ)) sin ψ over the neurons of one "
    "key frequency (of the first seed, the one with the most weight), widths w summing to 2π, at the "
    "p values of kt/2 modulo 2π (points); and the integrals that they stand for (lines). H follows "
    "-sin where the paper says sin, because with its definitions ψ is +2φ (E003-2). Below: what is "
    "left between them."
)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Sums above, residuals below; tables["neurons"] with run, seed and the run's label p."""
    rows = tables["neurons"]
    example, p = heaviest_key(rows), int(rows.loc[rows["seed"] == rows["seed"].min(), "p"].iloc[0])
    theta = np.sort(2 * np.pi * np.arange(p) / p)  # kt/2 modulo 2 pi takes these values, t up to 2p - 2
    sums = trained_sum("relu", theta, example.phi, example.psi, example.width)
    grid = np.linspace(0, 2 * np.pi, 400)
    figure, axes = style.canvas(rows=2, height=2.2)
    for values, curve, name, colour in (
        (sums.real, np.cos, "G, (2/3) cos kt", style.colour("constant-attention")),
        (sums.imag, lambda kt: -np.sin(kt), "H, -(2/3) sin kt", style.NEUTRAL[3]),
    ):
        axes[0, 0].plot(grid, 2 / 3 * curve(2 * grid), color=colour, linewidth=0.9)
        axes[0, 0].plot(theta, values, linestyle="none", marker="o", markersize=3.5, color=colour, label=name)
        axes[1, 0].plot(theta, values - 2 / 3 * curve(2 * theta), color=colour, marker="o", markersize=3)
    axes[0, 0].set_title(example.title)
    axes[0, 0].set_ylabel("sum, integral")
    axes[0, 0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes[1, 0].set_ylabel("sum - integral")
    axes[1, 0].set_xlabel("kt/2 modulo 2π (rad)")
    for axis in axes[:, 0]:
        axis.set_xticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
        axis.set_xlim(-0.1, 2 * np.pi + 0.1)
    return figure
