"""Tokens near the six clearest neurons of each class, their coherence, and the model's completions of them (000-11).

A bag-of-words neuron's vector is its mean row, an n-gram neuron's its row of largest norm; random vectors, normalised
so that their entries sum to 1, are for comparison. Nearness is measured in the input embedding. A completion is the
likeliest next token after zero inputs followed by the keyword's embedding.
"""

from typing import cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from allmlp.columns import exact, numeric, timing
from allmlp.models.mlp import LastTokenMLP
from allmlp.protocols import Trained
from allmlp.studies.language import classification, neurons, profiles
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM, Reading
from allmlp.studies.language.keywords import CLEAREST, NEARNESS, RANDOM, CoOccurrence, nearest
from allmlp.studies.language.neurons import Energies, over
from allmlp.studies.texts import tokens_of
from allmlp.tokens import TokenFile

RECIPE = 1
KEYWORDS, FIRST = 10, 5  # in Figure 13, in the text (E000-7)
CHANGES = "; another CPU type may order tokens otherwise, so it is never compared"

COLUMNS = {
    "class": exact("bag-of-words, n-gram or random"),
    "rank": exact("place among the six, the clearest first: least variance over time, least row norm"),
    "nearness": exact("by which tokens are near: dot product, cosine or distance"),
    "neuron": timing(f"position of the neuron in the first layer, -1 of a random vector{CHANGES}"),
    "in_class": numeric("1 where Appendix H puts the neuron into the class, else 0", atol=1),
    "coherence_1": numeric("mean NPMI in held-out documents of the pairs among its 10 nearest tokens", atol=0.1),
    "coherence_of_5_1": numeric("the same of the 5 nearest", atol=0.2),
    "keywords": timing(f"the 10 nearest tokens{CHANGES}"),
    "completions": timing(f"what the model goes on with after each of the first 5{CHANGES}"),
}


def clearest(energies: Energies, reading: Reading) -> dict[str, NDArray[np.int64]]:
    """class -> its six clearest neurons: least variance over time; least norm of a row (over the largest, if relative).

    Neurons of the class come first; if there are fewer than six, the clearest others follow.
    """
    norms_NT = np.sqrt(energies.rows)
    largest_N = norms_NT.max(axis=1) if reading.rows == "max-row" else np.ones(len(energies))
    scores = {
        BAG_OF_WORDS: classification.time_variance(energies, reading),
        N_GRAM: over(norms_NT.min(axis=1), largest_N, np.inf),
    }
    classes = classification.classify(energies, reading)
    return {name: np.lexsort((score_N, classes != name))[:CLEAREST] for name, score_N in scores.items()}


def vectors(
    layer_NTD: NDArray, energies: Energies, chosen: dict[str, NDArray[np.int64]], seed: int
) -> dict[str, NDArray[np.float64]]:
    """class -> the vectors of its chosen neurons, (K, d); and random ones."""
    loudest_N = energies.rows.argmax(axis=1)
    random_KD = np.random.default_rng(seed).normal(size=(CLEAREST, energies.width))
    return {
        BAG_OF_WORDS: layer_NTD[chosen[BAG_OF_WORDS]].mean(axis=1),
        N_GRAM: layer_NTD[chosen[N_GRAM], loudest_N[chosen[N_GRAM]]],
        RANDOM: random_KD / random_KD.sum(axis=1, keepdims=True),
    }


def measure(trained: Trained) -> pd.DataFrame:
    """One row per class, neuron and nearness. Raises UserError for an architecture without a first layer."""
    step = profiles.moments(trained)["end"]
    layer_NTD, energies = neurons.first_layer(trained, step), profiles.at(trained, step).energies
    reading = classification.deciding(energies.width)
    classes, chosen = classification.classify(energies, reading), clearest(energies, reading)
    of_class = vectors(layer_NTD, energies, chosen, trained.run.seed)
    file = TokenFile(tokens_of(trained))
    model = cast(LastTokenMLP, trained.model())
    embedding_VD = embedding(model)
    near = {(name, by): nearest(v, embedding_VD, by, KEYWORDS) for name, v in of_class.items() for by in NEARNESS}
    tokens = np.concatenate([ids.ravel() for ids in near.values()])
    together = CoOccurrence(file.documents("validation"), tokens, len(embedding_VD))
    rows = []
    for (name, by), near_KI in near.items():
        after = completions(model, name, near_KI, file) if by == NEARNESS[0] else [""] * len(near_KI)
        for rank, ids in enumerate(near_KI.tolist()):
            neuron = int(chosen[name][rank]) if name in chosen else -1
            rows.append(
                {
                    "class": name,
                    "rank": rank,
                    "nearness": by,
                    "neuron": neuron,
                    "in_class": float(neuron >= 0 and classes[neuron] == name),
                    "coherence_1": together.coherence(ids),
                    "coherence_of_5_1": together.coherence(ids[:FIRST]),
                    "keywords": shown(file, ids),
                    "completions": after[rank],
                }
            )
    return pd.DataFrame(rows)[list(COLUMNS)]


def embedding(model: LastTokenMLP) -> NDArray[np.float64]:
    """The input embedding of every token, (V, d)."""
    return model.embedding.weight.detach().double().numpy()


@torch.no_grad()
def completions(model: LastTokenMLP, name: str, near_KI: NDArray[np.int64], file: TokenFile) -> list[str]:
    """The likeliest token after zeros and each of the FIRST tokens; nothing for a class that is no n-gram's."""
    if name == BAG_OF_WORDS:
        return [""] * len(near_KI)
    first_KI = near_KI[:, :FIRST]
    last_ND = model.embedding(torch.from_numpy(first_KI).flatten())
    x_NTD = torch.zeros(len(last_ND), model.context, last_ND.shape[1])
    x_NTD[:, -1] = last_ND
    after_KI = model.from_embeddings(x_NTD).argmax(dim=-1).numpy().reshape(first_KI.shape)
    return [shown(file, ids) for ids in after_KI.tolist()]


def shown(file: TokenFile, ids: list[int]) -> str:
    """Tokens side by side, a space within one as ▁, the end of a document as ∎."""
    texts = (file.decode([token]).replace(" ", "▁") or "∎" for token in ids)
    return " ".join("".join(c if c.isprintable() else "·" for c in text) for text in texts)
