"""Study 001 on embeddings and what reads them, by the words of its claims.yaml. The unit is the training seed."""

from typing import Any

from tests.numerics.second_opinion.numbers import Part, above, below, each
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import BySeed, Measured, Row, by_seed, minus, values

MANY = {"context": 32, "words": "shared", "position": "mean", "training_pairs": "all", "model": "matcher-mixer"}
OTHER_WORDS = "other"


def matchers(data: Measured, embedder: str, measure: str = "retrieval", **changes: Any) -> list[Row]:
    """The rows of the matchers of one comparison."""
    return data.rows(measure, part="retrieval", embedder=embedder, **{**MANY, **changes})


def lowest(data: Measured, embedder: str, **changes: Any) -> BySeed:
    return by_seed(matchers(data, embedder, **changes), "lowest_nats")


def gain(data: Measured, embedder: str, **changes: Any) -> BySeed:
    """seed -> chance minus the lowest test loss."""
    return {row["seed"]: row["chance_nats"] - row["lowest_nats"] for row in matchers(data, embedder, **changes)}


def learns(*gains: BySeed, margin: float) -> bool:
    """Is one of the two shown to gain more than the margin over chance?"""
    return any(above(values(one), margin).ends(0.95)[0] > margin for one in gains)


@claim("001-21")
def distances(data: Measured) -> dict[str, Part]:
    matcher = by_seed(matchers(data, "mixer", words=OTHER_WORDS), "top_1")
    known = learns(gain(data, "mixer", words=OTHER_WORDS), margin=0.0)
    rows = matchers(data, "mixer", "distances", words=OTHER_WORDS)
    found = {}
    for letter, metric in zip("abc", ("cosine", "l1", "l2"), strict=True):
        of = by_seed([row for row in rows if (row["metric"], row["normalisation"]) == (metric, "none")], "top_1")
        found[letter] = below(minus(of, matcher), -data.margin["accuracy_gap_1"], refutes=known)
    return dict(found)


@claim("001-22")
def embedders(data: Measured) -> dict[str, Part]:
    margin = data.margin["loss_nats"]
    known = learns(gain(data, "mixer"), gain(data, "transformer"), margin=margin)
    return {"a": above(minus(lowest(data, "transformer"), lowest(data, "mixer")), margin, refutes=known)}


@claim("001-23")
def gap_widens(data: Measured) -> dict[str, Part]:
    margin = data.margin["loss_nats"]
    of = {
        (name, context): lowest(data, name, context=context)
        for name in ("mixer", "transformer")
        for context in (32, 128)
    }
    gaps = {c: {s: of["transformer", c][s] - of["mixer", c][s] for s in of["mixer", c]} for c in (32, 128)}
    known = learns(*(gain(data, name, context=128) for name in ("mixer", "transformer")), margin=margin)
    return {"a": above(minus(gaps[128], gaps[32]), margin, refutes=known)}


@claim("001-24")
def teaches(data: Measured) -> dict[str, Part]:
    margin, fewer = data.margin["loss_nats"], {"training_pairs": "6000"}
    chances = [gain(data, "transformer", position=position) for position in ("mean", "before_last")]
    shown = learns(gain(data, "mixer"), margin=margin)
    both = learns(gain(data, "mixer"), gain(data, "transformer"), margin=margin)
    pairs = learns(gain(data, "mixer"), gain(data, "mixer", **fewer), margin=margin)
    return {
        "a": each(below(values(one), margin, supports=shown) for one in chances),
        "b": above(minus(lowest(data, "transformer"), lowest(data, "mixer")), margin, refutes=both),
        "c": above(minus(lowest(data, "mixer", **fewer), lowest(data, "mixer")), margin, refutes=pairs),
    }


@claim("001-25")
def untrained(data: Measured) -> dict[str, Part]:
    found = {}
    for letter, context, key in (("a", 128, "none_nats"), ("b", 32, "little_nats")):
        margin = data.margin[key]
        shown = learns(gain(data, "mixer", context=context), margin=margin)
        found[letter] = below(values(gain(data, "untrained-mixer", context=context)), margin, supports=shown)
    return dict(found)


@claim("001-26")
def autoencoders(data: Measured) -> dict[str, Part]:
    entropy = by_seed(matchers(data, "autoencoder", position="mean"), "embedder_nats")
    return {"a": below(values(entropy), data.margin["cross_entropy_nats"])}


@claim("001-27")
def transformer_matchers(data: Measured) -> dict[str, Part]:
    margin, places = data.margin["loss_nats"], [{"position": place} for place in ("before_last", "mean")]
    published, mended = (
        [values(gain(data, "transformer", model=name, **place)) for place in places]
        for name in ("matcher-transformer-as-published", "matcher-transformer")
    )
    shown = [learns(gain(data, "transformer", **place), margin=margin) for place in places]
    return {
        "a": each(below(one, margin) for one in published),
        "b": each(below(one, margin, supports=known) for one, known in zip(mended, shown, strict=True)),
    }


@claim("001-own-5")
def shared_words(data: Measured) -> dict[str, Part]:
    margin = data.margin["gain_nats"]
    of = [gain(data, "untrained-transformer", words=words, position="before_last") for words in ("shared", OTHER_WORDS)]
    return {"": above(minus(*of), margin, refutes=learns(*of, margin=margin))}


@claim("001-own-6")
def learning_helps(data: Measured) -> dict[str, Part]:
    margin, found = data.margin["loss_nats"], {}
    for letter, embedder in (("a", "mixer"), ("b", "transformer")):
        names, words = (f"untrained-{embedder}", embedder), {"words": OTHER_WORDS}
        known = learns(*(gain(data, name, **words) for name in names), margin=margin)
        lead = minus(*(lowest(data, name, **words) for name in names))
        found[letter] = above(lead, margin, refutes=known)
    return dict(found)


@claim("001-own-7")
def probes(data: Measured) -> dict[str, Part]:
    found = {}
    for letter, embedder in (("a", "mixer"), ("b", "transformer")):
        rows = [row for row in matchers(data, embedder, "embedding_probes") if row["probe"] == "both"]
        lead = minus(by_seed(rows, "top_1"), by_seed(matchers(data, embedder), "top_1"))
        found[letter] = above(lead, data.margin["accuracy_1"])
    return dict(found)


@claim("001-own-8")
def means(data: Measured) -> dict[str, Part]:
    margin, found = data.margin["loss_nats"], {}
    for letter, embedder in (("a", "mixer"), ("b", "transformer")):
        places = ({"position": "before_last"}, {"position": "mean"})
        known = learns(*(gain(data, embedder, **place) for place in places), margin=margin)
        lead = minus(*(lowest(data, embedder, **place) for place in places))
        found[letter] = above(lead, margin, refutes=known)
    return dict(found)


def recovered(data: Measured, variant: str, way: str, trained: bool) -> BySeed:
    """seed -> share of tokens recovered, of the model as it begins, or after its last step; at the rate searched."""
    rows = data.rows("recovery", variant=variant, size="base", way=way, rates=("searched", "none"))
    steps = {row["step"] for row in rows}
    return by_seed([row for row in rows if row["step"] == (max(steps) if trained else 0)], "recovered_1")


def comparable(data: Measured, first: BySeed, second: BySeed) -> bool:
    """Is one of the two shown above floor_1, and does the second leave accuracy_1 to be gained?"""
    floor, room = data.margin["floor_1"], 1 - data.margin["accuracy_1"]
    shown = any(above(values(one), floor).ends(0.95)[0] > floor for one in (first, second))
    return shown and above(values(second), room).ends(0.95)[1] < room


@claim("001-own-9")
def others_recovered(data: Measured) -> dict[str, Part]:
    flat, llama = (recovered(data, name, "non-self", True) for name in ("flat", "llama-4"))
    premise = comparable(data, flat, llama)
    return {"": above(minus(flat, llama), data.margin["accuracy_1"], supports=premise, refutes=premise)}


@claim("001-28")
def input_recovered(data: Measured) -> dict[str, Part]:
    found = {}
    for letter, other, way, trained in (("a", "expanded", "non-self", False), ("b", "llama-4", "self", True)):
        flat, beside = (recovered(data, name, way, trained) for name in ("flat", other))
        premise = comparable(data, flat, beside)
        found[letter] = above(minus(flat, beside), data.margin["accuracy_1"], supports=premise, refutes=premise)
    poor = data.margin["poor_accuracy_1"]
    of_mixer = above(values(recovered(data, "flat", "self", True)), poor).decided == "reproduced"
    few = (values(recovered(data, name, "self", True)) for name in ("llama-2", "llama-4"))
    return found | {"c": each(below(shares, poor, supports=of_mixer) for shares in few)}


@claim("001-own-10")
def search(data: Measured) -> dict[str, Part]:
    names = ("flat", "llama-4")
    numbers = (above(values(recovered(data, name, "search", True)), data.margin["accuracy_1"]) for name in names)
    return dict(zip("ab", numbers, strict=True))
