"""Weights of a few neurons of each class, drawn at random inside their class, at the end (000-6, 000-8)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, timing
from allmlp.protocols import Trained
from allmlp.studies.language import classification, neurons, profiles

RECIPE = 1
EXAMPLES = 2  # of each class
COORDINATES = 40  # the first of the embedding, as in Figure 4
CHANGES = "; another CPU type may draw another neuron, so it is never compared"

COLUMNS = {
    "reading": exact("what Appendix H's norms are relative to"),
    "class": timing(f"a class of Appendix H that has neurons{CHANGES}"),
    "example": timing(f"which of the class's examples{CHANGES}"),
    "neuron": timing(f"position of the neuron in the first layer{CHANGES}"),
    "position": timing("time row, the last one the most recent token"),
    "weights": timing(f"the first {COORDINATES} weights of the row over the neuron's largest, in thousandths{CHANGES}"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per class, example and position. Raises UserError for an architecture without a first layer."""
    step = profiles.moments(trained)["end"]
    layer_NTD, energies = neurons.first_layer(trained, step), profiles.at(trained, step).energies
    reading = classification.deciding(energies.width)
    classes = classification.classify(energies, reading)
    drawn = np.random.default_rng(trained.run.seed).permutation(len(classes))
    rows = []
    for name in classification.CLASSES:
        for example, neuron in enumerate(drawn[classes[drawn] == name][:EXAMPLES].tolist()):
            slice_TD = np.asarray(layer_NTD[neuron, :, :COORDINATES], dtype=np.float64)
            thousandths_TD = np.rint(1000 * slice_TD / np.abs(slice_TD).max().clip(min=1e-300)).astype(int)
            head = {"reading": reading.name, "class": name, "example": example, "neuron": neuron}
            for position, weights in enumerate(thousandths_TD.tolist()):
                rows.append({**head, "position": position, "weights": " ".join(map(str, weights))})
    return pd.DataFrame(rows, columns=list(COLUMNS))
