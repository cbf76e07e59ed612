"""Weights of a few neurons of each class, drawn at random inside their class, at the end (000-6, 000-8)."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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


def examples(classes_N: NDArray[np.str_], seed: int) -> dict[str, list[int]]:
    """class -> the first of its neurons in a random order of all."""
    drawn = np.random.default_rng(seed).permutation(len(classes_N))
    return {name: drawn[classes_N[drawn] == name][:EXAMPLES].tolist() for name in classification.CLASSES}


def first_weights(neuron_TD: NDArray) -> tuple[list[str], float]:
    """Each row's first COORDINATES in thousandths of the largest of them, with blanks between; the largest."""
    slice_TD = np.asarray(neuron_TD[:, :COORDINATES], dtype=np.float64)
    largest = np.abs(slice_TD).max()
    thousandths_TD = np.rint(1000 * slice_TD / largest.clip(min=1e-300)).astype(int)
    return [" ".join(map(str, weights)) for weights in thousandths_TD.tolist()], float(largest)


def measure(trained: Trained) -> pd.DataFrame:
    """One row per class, example and position. Raises UserError for an architecture without a first layer."""
    step = profiles.moments(trained)["end"]
    layer_NTD, energies = neurons.first_layer(trained, step), profiles.at(trained, step).energies
    reading = classification.deciding(energies.width)
    classes = classification.classify(energies, reading)
    rows = []
    for name, drawn in examples(classes, trained.run.seed).items():
        for example, neuron in enumerate(drawn):
            head = {"reading": reading.name, "class": name, "example": example, "neuron": neuron}
            for position, weights in enumerate(first_weights(layer_NTD[neuron])[0]):
                rows.append({**head, "position": position, "weights": weights})
    return pd.DataFrame(rows, columns=list(COLUMNS))
