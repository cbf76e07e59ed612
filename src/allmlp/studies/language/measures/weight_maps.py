"""Weights over training of the neurons that are shown: those with keywords, and the examples of each class (000-11).

They are chosen after the last step, as `keywords` and `example_neurons` choose them, and followed from the start.
Weights, energies and words stand in one table, because they must be of one training: another CPU type trains other
weights, and may choose other neurons.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.columns import exact, timing
from allmlp.models.mlp import LastTokenMLP
from allmlp.protocols import Trained
from allmlp.studies.language import classification, neurons, profiles
from allmlp.studies.language.keywords import CLEAREST_OF, EXAMPLE, NEARNESS, RANDOM, nearest
from allmlp.studies.language.measures import energy_map, keywords
from allmlp.studies.language.measures.example_neurons import CHANGES, COORDINATES, examples, first_weights
from allmlp.studies.texts import tokens_of
from allmlp.tokens import TokenFile

RECIPE = 1
SHARES = ["recent_energy_1", "constant_energy_1"]

COLUMNS = {
    "moment": exact("start, half or end of training; of a random vector the end"),
    "step": exact("training steps done"),
    "shown": exact("as what: one of the six clearest of a class, a random vector, or an example of its class"),
    "class": timing(f"the class that it is clearest of, or an example of{CHANGES}"),
    "rank": exact("place among those of the class"),
    "neuron": timing(f"position of the neuron in the first layer, -1 of a random vector{CHANGES}"),
    "own_class": timing(f"the class that Appendix H puts it into at the end{CHANGES}"),
    "keywords": timing(f"the 10 tokens nearest by dot product to its vector at the end, as in `keywords`{CHANGES}"),
    "completions": timing(f"what the model goes on with after each of the first 5{CHANGES}"),
    "recent_energy_1": timing(f"share of its energy in the last 3 rows, as in `energy_map`{CHANGES}"),
    "constant_energy_1": timing(f"share of its energy that one constant explains in all rows before them{CHANGES}"),
    "position": exact("time row, the last one the most recent token; 0 of a random vector"),
    "weights": timing(f"the first {COORDINATES} weights of the row over the largest, in thousandths{CHANGES}"),
    "largest_1": timing(f"the largest of these of all rows, in absolute value{CHANGES}"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per moment, neuron and position. Raises UserError for an architecture without a first layer."""
    moments = profiles.moments(trained)
    layers = {moment: neurons.first_layer(trained, step) for moment, step in moments.items()}
    shares = {moment: energy_map.shares(profiles.at(trained, step))[SHARES] for moment, step in moments.items()}
    energies = profiles.at(trained, moments["end"]).energies
    reading, seed = classification.deciding(energies.width), trained.run.seed
    classes, clearest = classification.classify(energies, reading), keywords.clearest(energies, reading)
    vectors = keywords.vectors(layers["end"], energies, clearest, seed)
    words, rows = _words(trained, vectors), []
    for shown, of_class in ((CLEAREST_OF, clearest), (EXAMPLE, examples(classes, seed))):
        for (name, rank), neuron in _ranked(of_class):
            said = words[name, rank] if shown == CLEAREST_OF else ("", "")
            about = (shown, name, rank, neuron, str(classes[neuron]), *said)
            for moment, step in moments.items():
                rows += _rows((moment, step, *about, *shares[moment].loc[neuron]), layers[moment][neuron])
    for (name, rank), vector_D in _ranked({RANDOM: vectors[RANDOM]}):
        head = ("end", moments["end"], RANDOM, name, rank, -1, "", *words[name, rank], np.nan, np.nan)
        rows += _rows(head, vector_D[None])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _ranked(of_class: Mapping[str, Iterable[Any]]) -> Iterator[tuple[tuple[str, int], Any]]:
    """((class, rank), each of its members)."""
    for name, members in of_class.items():
        for rank, member in enumerate(members):
            yield (name, rank), member


def _rows(head: tuple[Any, ...], weights_TD: NDArray) -> list[tuple[Any, ...]]:
    texts, largest = first_weights(weights_TD)
    return [(*head, position, text, largest) for position, text in enumerate(texts)]


def _words(trained: Trained, vectors: Mapping[str, NDArray]) -> dict[tuple[str, int], tuple[str, str]]:
    """(class, rank) -> the tokens near the vector, and what the model goes on with after them."""
    file, model = TokenFile(tokens_of(trained)), cast(LastTokenMLP, trained.model())
    found = {}
    for name, vectors_KD in vectors.items():
        near_KI = nearest(vectors_KD, keywords.embedding(model), NEARNESS[0], keywords.KEYWORDS)
        after = keywords.completions(model, name, near_KI, file)
        for rank, ids in enumerate(near_KI.tolist()):
            found[name, rank] = keywords.shown(file, ids), after[rank]
    return found
