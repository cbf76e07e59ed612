"""l1/l2 over time of every first-layer neuron at the start, half and end of training (000-7)."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.studies.language import concentration, neurons

if TYPE_CHECKING:
    from allmlp.training.checkpoint import Trained

RECIPE = 1

COLUMNS = {
    "moment": exact("start, half or end of training"),
    "step": exact("training steps done"),
    "wear_1": numeric("weight decay times the sum of learning rates: e-foldings of the initial weights", rtol=1e-6),
    "neuron": exact("position of the neuron in the first layer"),
    "ratio_1": numeric("l1 over l2 norm over time, mean over the embedding", rtol=1e-2),
    "bound_1": numeric("the largest ratio there is, sqrt(context): equal weight at every time", rtol=1e-12),
}


def moments(steps: list[int], total: int) -> dict[str, int]:
    """First kept step, the kept one nearest to half of `total` (the earlier of two), and the last."""
    half = min(steps, key=lambda step: (abs(2 * step - total), step))
    return {"start": steps[0], "half": half, "end": steps[-1]}


def measure(trained: "Trained") -> pd.DataFrame:
    """One row per moment and neuron. Raises UserError for an architecture without a first layer."""
    parts = []
    for moment, step in moments(sorted(trained.steps), trained.run.steps).items():
        layer_NTD = neurons.first_layer(trained, step)
        rows = pd.DataFrame({"neuron": np.arange(len(layer_NTD)), "ratio_1": concentration.l1_l2(layer_NTD)})
        parts.append(
            rows.assign(
                moment=moment,
                step=step,
                wear_1=neurons.wear(trained, step),
                bound_1=np.sqrt(layer_NTD.shape[1]),
            )
        )
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]
