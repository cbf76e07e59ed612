"""Depth against width at equal compute: two blocks, six of as many weights, two of twice the width (000-4)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.report.statistics import t_interval

SHAPES = ["base", "deep", "wide"]


@figure("Depth against width", where="Section 3", claims=["000-4"], parts=["depth"])
def depth(scaling: pd.DataFrame) -> Figure:
    """Held-out loss at the end of training of three MLPs at one budget C = 6 N D and embedding width: lines join the
    runs of one seed, bars are means over seeds with 95 % t intervals. The first two have the same number of weights
    within 5 %; the third has twice the hidden width and fewer targets for it. The paper says only that depth makes no
    large difference.
    """
    shapes = [shape for shape in SHAPES if shape in set(scaling["shape"])]
    first = scaling.drop_duplicates("shape").set_index("shape").loc[shapes]
    losses = scaling.pivot(index="seed", columns="shape", values="validation_nats")[shapes]
    figure, ((axis,),) = style.canvas(height=2.8, width=4.5)
    for _, of_seed in losses.iterrows():
        axis.plot(range(len(shapes)), of_seed, color=style.PAPER, marker="o", markersize=3, linewidth=0.7)
    for place, shape in enumerate(shapes):
        interval = t_interval(losses[shape].to_numpy())
        plots.whisker(axis, place, interval, color=style.COLOURS["mlp"], fmt="_", markersize=16, capsize=3)
    labels = [f"{one.n_blocks} blocks of {one.d_mlp}\n{one.parameters:,} weights" for one in first.itertuples()]
    axis.set_xticks(range(len(shapes)), labels)
    axis.set_xlim(-0.5, len(shapes) - 0.5)
    axis.set_ylabel("held-out loss (nats per token)")
    axis.set_title(f"C = {first['budget_flops'].iloc[0]:.2g}, embeddings of {first['d_model'].iloc[0]}")
    return figure
