"""Weights of neurons of each class, and the words that they stand for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from allmlp.data.tokens import TokenFile
from allmlp.models.mlp import LastTokenMLP
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.language import classification, neurons, profiles
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM, Reading
from allmlp.studies.language.keywords import (
    CLEAREST,
    CLEAREST_OF,
    EXAMPLE,
    NEARNESS,
    RANDOM,
    CoOccurrence,
    nearest_tokens,
)
from allmlp.studies.language.measures.energies import row_shares
from allmlp.studies.language.neurons import Energies, safe_divide
from allmlp.studies.shared.texts import token_folder

EXAMPLES = 2  # of each class
COORDINATES = 40  # the first of the embedding, as in Figure 4
CHANGES = "; another CPU type may draw another neuron, so it is never compared"


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


@measure(
    recipe=1,
    reading=exact("what Appendix H's norms are relative to"),
    class_=timing(f"a class of Appendix H that has neurons{CHANGES}"),
    example=timing(f"which of the class's examples{CHANGES}"),
    neuron=timing(f"position of the neuron in the first layer{CHANGES}"),
    position=timing("time row, the last one the most recent token"),
    weights=timing(f"the first {COORDINATES} weights of the row over the neuron's largest, in thousandths{CHANGES}"),
)
def example_neurons(trained: TrainedRun) -> Rows:
    """Weights of a few neurons of each class, drawn at random inside their class, at the end (000-6, 000-8).

    One row per class, example and position. Raises UserError for an architecture without a first layer.
    """
    step = profiles.moments(trained)["end"]
    layer_NTD, energies = neurons.first_layer(trained, step), profiles.step_profile(trained, step).energies
    reading = classification.deciding_reading(energies.width)
    classes = classification.classify(energies, reading)
    for name, drawn in examples(classes, trained.run.seed).items():
        for example, neuron in enumerate(drawn):
            head = {"reading": reading.name, "class": name, "example": example, "neuron": neuron}
            for position, weights in enumerate(first_weights(layer_NTD[neuron])[0]):
                yield {**head, "position": position, "weights": weights}


KEYWORDS, FIRST = 10, 5  # in Figure 13, in the text (E000-7)
ORDER_CHANGES = "; another CPU type may order tokens otherwise, so it is never compared"


def clearest_neurons(energies: Energies, reading: Reading) -> dict[str, NDArray[np.int64]]:
    """class -> its six clearest neurons: least variance over time; least norm of a row (over the largest, if relative).

    Neurons of the class come first; if there are fewer than six, the clearest others follow.
    """
    norms_NT = np.sqrt(energies.rows)
    largest_N = norms_NT.max(axis=1) if reading.rows == "max-row" else np.ones(len(energies))
    scores = {
        BAG_OF_WORDS: classification.time_variance(energies, reading),
        N_GRAM: safe_divide(norms_NT.min(axis=1), largest_N, np.inf),
    }
    classes = classification.classify(energies, reading)
    return {name: np.lexsort((score_N, classes != name))[:CLEAREST] for name, score_N in scores.items()}


def clear_vectors(
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


@measure(
    recipe=1,
    class_=exact("bag-of-words, n-gram or random"),
    rank=exact("place among the six, the clearest first: least variance over time, least row norm"),
    nearness=exact("by which tokens are near: dot product, cosine or distance"),
    neuron=timing(f"position of the neuron in the first layer, -1 of a random vector{ORDER_CHANGES}"),
    in_class=numeric("1 where Appendix H puts the neuron into the class, else 0", atol=1),
    coherence_1=numeric("mean NPMI in held-out documents of the pairs among its 10 nearest tokens", atol=0.1),
    coherence_of_5_1=numeric("the same of the 5 nearest", atol=0.2),
    keywords=timing(f"the 10 nearest tokens{ORDER_CHANGES}"),
    completions=timing(f"what the model goes on with after each of the first 5{ORDER_CHANGES}"),
)
def keywords(trained: TrainedRun) -> Rows:
    """Tokens near the six clearest neurons of each class, their coherence, and the model's completions of them
    (000-11).

    A bag-of-words neuron's vector is its mean row, an n-gram neuron's its row of largest norm; random vectors,
    normalised so that their entries sum to 1, are for comparison. Nearness is measured in the input embedding. A
    completion is the likeliest next token after zero inputs followed by the keyword's embedding.

    One row per class, neuron and nearness. Raises UserError for an architecture without a first layer.
    """
    step = profiles.moments(trained)["end"]
    layer_NTD, energies = neurons.first_layer(trained, step), profiles.step_profile(trained, step).energies
    reading = classification.deciding_reading(energies.width)
    classes, chosen = classification.classify(energies, reading), clearest_neurons(energies, reading)
    of_class = clear_vectors(layer_NTD, energies, chosen, trained.run.seed)
    file = TokenFile(token_folder(trained))
    model = cast(LastTokenMLP, trained.model())
    embedding_VD = embedding(model)
    near = {
        (name, by): nearest_tokens(v, embedding_VD, by, KEYWORDS) for name, v in of_class.items() for by in NEARNESS
    }
    tokens = np.concatenate([ids.ravel() for ids in near.values()])
    together = CoOccurrence(file.documents("validation"), tokens, len(embedding_VD))
    for (name, by), near_KI in near.items():
        after = completions(model, name, near_KI, file) if by == NEARNESS[0] else [""] * len(near_KI)
        for rank, ids in enumerate(near_KI.tolist()):
            neuron = int(chosen[name][rank]) if name in chosen else -1
            yield {
                "class": name,
                "rank": rank,
                "nearness": by,
                "neuron": neuron,
                "in_class": float(neuron >= 0 and classes[neuron] == name),
                "coherence_1": together.coherence(ids),
                "coherence_of_5_1": together.coherence(ids[:FIRST]),
                "keywords": format_tokens(file, ids),
                "completions": after[rank],
            }


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
    return [format_tokens(file, ids) for ids in after_KI.tolist()]


def format_tokens(file: TokenFile, ids: list[int]) -> str:
    """Tokens side by side, a space within one as ▁, the end of a document as ∎."""
    texts = (file.decode([token]).replace(" ", "▁") or "∎" for token in ids)
    return " ".join("".join(c if c.isprintable() else "·" for c in text) for text in texts)


SHARES = ["recent_energy_1", "constant_energy_1"]


@measure(
    recipe=1,
    moment=exact("start, half or end of training; of a random vector the end"),
    step=exact("training steps done"),
    shown=exact("as what: one of the six clearest of a class, a random vector, or an example of its class"),
    class_=timing(f"the class that it is clearest of, or an example of{CHANGES}"),
    rank=exact("place among those of the class"),
    neuron=timing(f"position of the neuron in the first layer, -1 of a random vector{CHANGES}"),
    own_class=timing(f"the class that Appendix H puts it into at the end{CHANGES}"),
    keywords=timing(f"the 10 tokens nearest by dot product to its vector at the end, as in `keywords`{CHANGES}"),
    completions=timing(f"what the model goes on with after each of the first 5{CHANGES}"),
    recent_energy_1=timing(f"share of its energy in the last 3 rows, as in `energy_map`{CHANGES}"),
    constant_energy_1=timing(f"share of its energy that one constant explains in all rows before them{CHANGES}"),
    position=exact("time row, the last one the most recent token; 0 of a random vector"),
    weights=timing(f"the first {COORDINATES} weights of the row over the largest, in thousandths{CHANGES}"),
    largest_1=timing(f"the largest of these of all rows, in absolute value{CHANGES}"),
)
def weight_maps(trained: TrainedRun) -> Rows:
    """Weights over training of the neurons that are shown: those with keywords, and the examples of each class
    (000-11).

    They are chosen after the last step, as `keywords` and `example_neurons` choose them, and followed from the start.
    Weights, energies and words stand in one table, because they must be of one training: another CPU type trains other
    weights, and may choose other neurons.

    One row per moment, neuron and position. Raises UserError for an architecture without a first layer.
    """
    moments = profiles.moments(trained)
    layers = {moment: neurons.first_layer(trained, step) for moment, step in moments.items()}
    shares = {moment: row_shares(profiles.step_profile(trained, step))[SHARES] for moment, step in moments.items()}
    energies = profiles.step_profile(trained, moments["end"]).energies
    reading, seed = classification.deciding_reading(energies.width), trained.run.seed
    classes, clearest = classification.classify(energies, reading), clearest_neurons(energies, reading)
    vectors = clear_vectors(layers["end"], energies, clearest, seed)
    words = _words(trained, vectors)
    for shown, of_class in ((CLEAREST_OF, clearest), (EXAMPLE, examples(classes, seed))):
        for (name, rank), neuron in _rank_members(of_class):
            said = words[name, rank] if shown == CLEAREST_OF else ("", "")
            about = (shown, name, rank, neuron, str(classes[neuron]), *said)
            for moment, step in moments.items():
                yield from _rows((moment, step, *about, *shares[moment].loc[neuron]), layers[moment][neuron])
    for (name, rank), vector_D in _rank_members({RANDOM: vectors[RANDOM]}):
        head = ("end", moments["end"], RANDOM, name, rank, -1, "", *words[name, rank], np.nan, np.nan)
        yield from _rows(head, vector_D[None])


def _rank_members(of_class: Mapping[str, Iterable[Any]]) -> Iterator[tuple[tuple[str, int], Any]]:
    """((class, rank), each of its members)."""
    for name, members in of_class.items():
        for rank, member in enumerate(members):
            yield (name, rank), member


def _rows(head: tuple[Any, ...], weights_TD: NDArray) -> list[tuple[Any, ...]]:
    texts, largest = first_weights(weights_TD)
    return [(*head, position, text, largest) for position, text in enumerate(texts)]


def _words(trained: TrainedRun, vectors: Mapping[str, NDArray]) -> dict[tuple[str, int], tuple[str, str]]:
    """(class, rank) -> the tokens near the vector, and what the model goes on with after them."""
    file, model = TokenFile(token_folder(trained)), cast(LastTokenMLP, trained.model())
    found = {}
    for name, vectors_KD in vectors.items():
        near_KI = nearest_tokens(vectors_KD, embedding(model), NEARNESS[0], KEYWORDS)
        after = completions(model, name, near_KI, file)
        for rank, ids in enumerate(near_KI.tolist()):
            found[name, rank] = format_tokens(file, ids), after[rank]
    return found
