"""Figure of the crossing: who leads at how many counted operations."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.judging.rules import part_rows
from allmlp.report import plots, style
from allmlp.spec.exhibits import figure
from allmlp.studies.mixers.courses import curves
from allmlp.studies.mixers.drawing import looks
from allmlp.studies.mixers.names import FLAT, LLAMA, TRAINING
from allmlp.studies.mixers.parts import base_rows
from allmlp.studies.shared import crossing_drawing
from allmlp.studies.shared.crossing import compare

SHOWN = (FLAT, "expanded", LLAMA, "hybrid-after", "gpt-4")  # a model or two of each family

MOST = 2.5  # times the smallest loss: the end of the axis; before, no model has learnt anything


@figure(
    "Who leads at how many operations",
    claims=["001-own-12", "001-own-1"],
    parts=[TRAINING],
)
def crossing(learning_curve: pd.DataFrame) -> Figure:
    """Left: loss on held-out documents against counted operations, forward and backward, mean over seeds and 95 % t
    interval; models of one width and depth, each at the constant learning rate of its own search. Right: the loss of
    each minus the flat mixer's at the same number of operations, paired by seed. Above 0 the flat mixer leads. A dot is
    the crossing, where the mean difference changes its sign, if both are shown to lead somewhere. Grey: the 95 %
    interval of the crossing of the Llama with 4 heads, in which the interval of the difference contains 0. Curves are
    read between their points and never beyond their ends.
    """
    rows = base_rows(part_rows(learning_curve, TRAINING))
    models = {name: curves(rows[rows["variant"].eq(name)]) for name in SHOWN if rows["variant"].eq(name).any()}
    drawn = {name: looks(name) for name in models}
    figure, ((left, right),) = style.canvas(columns=2, height=3.2)
    crossing_drawing.means(left, models, drawn)
    least = min(np.nanmin(of_seed.losses) for of_model in models.values() for of_seed in of_model.values())
    left.set(xlabel="counted operations", ylabel="held-out loss (nats per token)", ylim=(0.95 * least, MOST * least))
    for name in (other for other in models if other != FLAT and FLAT in models):
        course = compare(models[FLAT], models[name])
        crossing_drawing.difference(right, course, drawn[name], marked=name == LLAMA)
    right.set(xlabel="counted operations", ylabel="loss minus the flat mixer's\n(nats per token)")
    plots.add_legend(figure, (left,), ncols=len(SHOWN))
    return figure
