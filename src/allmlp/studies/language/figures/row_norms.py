"""Row norms of all neurons in both bases, sorted by the number of large rows, at the end and over training."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure


@figure(
    "From few rows to few frequencies",
    where="Figure 7; Appendix J, which the text at hand lacks",
    claims=["000-9", "000-10"],
    parts=["neurons"],
)
def row_norms(row_norms: pd.DataFrame) -> Figure:
    """Norm of each row (down) of each first-layer neuron (across) of the first seed: above over time, the last token at
    the bottom, below over the frequencies of the orthonormal DCT-II, frequency 0 at the top. At each step neurons are
    sorted by their number of rows of a norm above the paper's 0.01 in the upper picture, few on the left; among equals,
    where weight decay has left no row so small, by the sum of row norms over the largest. Where there are more neurons
    than places, neighbours are averaged. All pictures have one scale. The paper shows the end of training and announces
    an appendix on the way there.
    """
    rows = row_norms[row_norms["seed"] == row_norms["seed"].min()]
    steps, most = sorted(rows["step"].unique()), rows["norm_1"].quantile(0.995)
    figure, axes = style.canvas(columns=len(steps), rows=2, height=1.9)
    for across, step in enumerate(steps):
        for axis, basis in zip(axes[:, across], ("time", "frequency"), strict=True):
            at = rows[(rows["step"] == step) & (rows["basis"] == basis)]
            norms = at.pivot(index="row", columns="column", values="norm_1")
            picture = axis.imshow(style.shades(norms), cmap="magma", vmin=0, vmax=most, **plots.PICTURE)
            plots.bare(axis)
            axis.set_yticks([] if across else [0, len(norms) // 2, len(norms) - 1])
        large = rows[(rows["step"] == step) & (rows["basis"] == "time") & (rows["row"] == 0)]["large_rows"]
        axes[0, across].set_title(f"step {step:,}", fontsize=8)
        axes[0, across].set_xlabel(f"{large.min():.0f} to {large.max():.0f} large", fontsize=7)
    axes[0, 0].set_ylabel("position")
    axes[1, 0].set_ylabel("frequency")
    figure.colorbar(picture, ax=axes, label="norm of the row", shrink=0.7)
    return figure
