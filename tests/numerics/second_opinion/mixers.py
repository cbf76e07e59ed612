"""Study 001, by the words of its claims.yaml. The unit is the training seed.

A loss at an amount of steps, seconds or operations between two held-out tests is read by a straight line over the
logarithm of the amount, which the words leave open.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tests.numerics.second_opinion.numbers import Fact, Part, above, below, each, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import (
    BySeed,
    Measured,
    Row,
    by_seed,
    grouped,
    minus,
    number,
    smallest,
    step_seconds,
    values,
)

Unit = Literal["step", "seconds", "flops"]
HELD_OUT, TRAINED = "validation_nats", "train_nats"


@dataclass(frozen=True)
class Model:
    """The curves of one model: seed -> its rows."""

    runs: dict[int, list[Row]]
    seconds: float  # per step

    def amount(self, row: Row, unit: Unit) -> float:
        return float(row["step"]) * self.seconds if unit == "seconds" else float(row[unit])

    def spent(self, unit: Unit) -> float:
        """What every one of its runs has had."""
        return min(max(self.amount(row, unit) for row in rows) for rows in self.runs.values())

    def at(self, unit: Unit, amount: float, column: str = HELD_OUT) -> BySeed:
        """seed -> the loss after this amount."""
        found = {}
        for seed, rows in self.runs.items():
            points = sorted(
                (math.log(self.amount(row, unit)), row[column])
                for row in rows
                if row["step"] > 0 and not math.isnan(number(row[column]))
            )
            found[seed] = float(np.interp(math.log(amount), *zip(*points, strict=True)))
        return found


def model(
    data: Measured,
    variant: str,
    padding: str = "right",
    part: str = "training",
    measure: str = "learning_curve",
    **size: Any,
) -> Model:
    """A model of the comparison: of the size that all share, or of another width and depth."""
    labels = {"variant": variant, "padding": padding, "part": part, **(size or {"size": "base"})}
    rows = data.rows(measure, **labels)
    assert rows, labels
    one = rows[0]
    name = f"{variant}-d{one['d_model']}-n{one['n_blocks']}-b{one['batch_size']}{'-left' if padding == 'left' else ''}"
    return Model(grouped(rows, "seed"), float(np.median(step_seconds()[name])))


def compared(first: Model, second: Model, unit: Unit, column: str = HELD_OUT) -> np.ndarray:
    """Per seed the loss of the first minus that of the second, after what both have had."""
    amount = min(first.spent(unit), second.spent(unit))
    return minus(first.at(unit, amount, column), second.at(unit, amount, column))


@claim("001-1")
def masking(data: Measured) -> dict[str, Part]:
    rows, most = data.rows("masking"), data.margin["difference_1"]

    def fact(*properties: str) -> Fact:
        return Fact(all(abs(row["difference_1"]) <= most for row in rows if row["property"] in properties))

    return {"a": fact("masked weights", "output"), "b": fact("future"), "c": fact("gradients of masked weights")}


@claim("001-2")
def dimensions(data: Measured) -> dict[str, Part]:
    points = {"a": 570 * math.log(10), "b": math.log(15e12), "c": math.log(15e18), "d": math.log(512e6)}
    keys = ("sentences", "tokens", "generalised_tokens", "tinystories")
    printed = dict(zip("abcd", (data.paper[f"{key}_dimensions"] for key in keys), strict=True))
    return {
        letter: Fact(abs(8 * nats / printed[letter] - 1) <= data.margin["relative_1"])
        for letter, nats in points.items()
    }


@claim("001-4", scale="long")
def half_the_width(data: Measured) -> dict[str, Part]:
    leads = compared(model(data, "llama-16", d_model=32), model(data, "expanded"), "seconds")
    return {"c": above(leads, data.margin["loss_nats"])}


@claim("001-5", scale="long")
def best_llama(data: Measured) -> dict[str, Part]:
    llamas = {width: model(data, "llama-16", d_model=width) for width in (32, 64, 128)}
    unit = data.margin["long_unit_steps"] * llamas[64].seconds
    losses = {width: one.at("seconds", unit) for width, one in llamas.items()}
    return {"b": above(minus(smallest(losses[32], losses[128]), losses[64]), data.margin["loss_nats"])}


@claim("001-6", scale="long")
def flat_and_llama(data: Measured) -> dict[str, Part]:
    llamas = {width: model(data, "llama-16", d_model=width) for width in (32, 64, 128)}
    unit = data.margin["long_unit_steps"] * llamas[64].seconds
    flat = {width: model(data, "flat", d_model=width, n_blocks=2).at("seconds", unit) for width in (32, 64, 128, 256)}
    best = smallest(*(one.at("seconds", unit) for one in llamas.values()))
    margin = data.margin["loss_nats"]
    return {
        "b": above(minus(best, smallest(*flat.values())), margin),
        "c": above(minus(smallest(flat[32], flat[256]), flat[128]), margin),
    }


@claim("001-7")
def flat_and_expanded(data: Measured) -> dict[str, Part]:
    leads, base = [], model(data, "expanded").runs
    depth = next(iter(base.values()))[0]["n_blocks"]
    rows = data.rows("learning_curve", variant="expanded", part="training", padding="right", n_blocks=depth)
    for width in sorted({row["d_model"] for row in rows}):
        expanded, flat = (model(data, name, d_model=width, n_blocks=depth) for name in ("expanded", "flat"))
        leads.append(dict(enumerate(compared(expanded, flat, "seconds"))))
    return {"a": above(values(smallest(*leads)), data.margin["loss_nats"])}


@claim("001-8")
def equal_samples(data: Measured) -> dict[str, Part]:
    return {"a": above(compared(model(data, "expanded"), model(data, "flat"), "step"), data.margin["loss_nats"])}


@claim("001-9")
def hidden(data: Measured) -> dict[str, Part]:
    rows = {row["expansion_1"]: row for row in data.rows("hidden_units", hidden=(16, 64))}
    used = rows[2.0]["hidden_used"] / rows[2.0]["hidden"]
    return {"a": Fact(used <= data.margin["used_share_1"]), "b": Fact(rows[0.5]["inputs_lost"] >= 1)}


@claim("001-10")
def parallel(data: Measured) -> dict[str, Part]:
    one, margin = model(data, "flat"), data.margin["loss_nats"]
    found: dict[str, Part] = {}
    for letters, ending in (("abc", ""), ("def", "-gelu")):
        if not data.rows("learning_curve", variant=f"parallel-2{ending}"):
            continue
        two, four = model(data, f"parallel-2{ending}"), model(data, f"parallel-4{ending}")
        numbers = (
            above(compared(one, two, "step", TRAINED), margin),
            equal(compared(two, one, "seconds", TRAINED), margin),
            below(compared(one, four, "seconds", TRAINED), margin),
        )
        found |= dict(zip(letters, numbers, strict=True))
    return found


@claim("001-11")
def positions(data: Measured) -> dict[str, Part]:
    none, first, every = (model(data, name) for name in ("flat", "positions-first", "positions-every"))
    margin = data.margin["loss_nats"]
    return {"a": equal(compared(first, none, "step"), margin), "b": above(compared(every, none, "step"), margin)}


@claim("001-12", scale="long")
def width_and_depth(data: Measured) -> dict[str, Part]:
    unit = data.margin["long_unit_steps"] * model(data, "llama-16", d_model=64).seconds
    deep, wide = model(data, "flat", d_model=8, n_blocks=16), model(data, "flat", d_model=128, n_blocks=2)
    return {"a": above(minus(deep.at("seconds", unit), wide.at("seconds", unit)), data.margin["gap_nats"])}


def memory(data: Measured, name: str, layers: int, context: int) -> float:
    """Bytes of one forward and backward pass: the peak, or where there is none the count."""
    (row,) = data.rows("memory", model=name, n_blocks=layers, context=context)
    return float(row["total_bytes"] if row["peak_bytes"] is None else row["peak_bytes"])


MIXER, TRANSFORMER, FUSED = "flat mixer", "transformer", "transformer, fused attention"


def growth(data: Measured, name: str, short: int, long: int) -> float:
    """The bytes by which the memory grows over those of the mixer, geometric mean over 4 and 8 layers."""

    def grown(of: str, layers: int) -> float:
        return memory(data, of, layers, long) - memory(data, of, layers, short)

    return math.sqrt(math.prod(grown(name, layers) / grown(MIXER, layers) for layers in (4, 8)))


@claim("001-13")
def mixer_memory(data: Measured) -> dict[str, Part]:
    entries = {
        (int(layers[1:]), int(context[1:])): printed
        for _, layers, context, _ in [key.split("_") for key in data.paper]
        for printed in [data.paper[f"memory_{layers}_{context}_mb"]]
    }
    ours = {entry: memory(data, MIXER, *entry) for entry in entries}

    def exponent(of: dict[tuple[int, int], float]) -> float:
        contexts, base = (2048, 4096, 8192), min(of.values())
        return float(np.polyfit(np.log(contexts), np.log([of[8, context] - base for context in contexts]), 1)[0])

    return {"b": Fact(abs(exponent(ours) - exponent(entries)) <= data.margin["exponent_1"])}


@claim("001-14")
def transformer_memory(data: Measured) -> dict[str, Part]:
    return {"a": Fact(growth(data, TRANSFORMER, 512, 2048) >= data.margin["growth_ratio_1"])}


@claim("001-own-11")
def fused_memory(data: Measured) -> dict[str, Part]:
    return {
        "a": Fact(growth(data, FUSED, 512, 2048) < data.margin["growth_ratio_1"]),
        "b": Fact(growth(data, FUSED, 4096, 8192) < data.margin["late_ratio_1"]),
    }


@claim("001-15")
def heads(data: Measured) -> dict[str, Part]:
    two, four, sixteen = (model(data, f"llama-{count}") for count in (2, 4, 16))
    margin = data.margin["loss_nats"]
    return {
        "a": above(compared(sixteen, four, "seconds"), margin),
        "b": above(compared(two, sixteen, "step"), margin),
    }


@claim("001-17", scale="long")
def tuned(data: Measured) -> dict[str, Part]:
    leads = compared(model(data, "llama-4", d_model=32), model(data, "kernel-4-linear"), "seconds")
    return {"a": above(leads, data.margin["loss_nats"], refuted_below=0.0)}


@claim("001-18")
def two_heads(data: Measured) -> dict[str, Part]:
    leads = compared(model(data, "kernel-4"), model(data, "heads-2"), "seconds")
    return {"a": above(leads, data.margin["loss_nats"], refuted_below=0.0)}


@claim("001-19")
def hybrids(data: Measured) -> dict[str, Part]:
    margin, leaks = data.margin["loss_nats"], data.rows("leak", part="training")
    left = [
        row["largest_change_1"] for row in leaks if (row["variant"], row["padding"]) == ("hybrid-as-published", "left")
    ]
    right = [row["largest_change_1"] for row in leaks if row["padding"] == "right"]
    planned = sorted({row["variant"] for row in data.rows("learning_curve", model="hybrid")})
    llama = model(data, "llama-4")
    gains = [below(compared(llama, model(data, name), "seconds"), margin) for name in planned]
    published = compared(model(data, "llama-4", "left"), model(data, "hybrid-as-published", "left"), "seconds")
    return {
        "a": Fact(all(change > 0 for change in left)),
        "b": Fact(all(change == 0 for change in right)),
        "c": gains[0] if len(gains) == 1 else each(gains),
        "d": above(published, margin),
    }


@claim("001-20")
def early_gpt(data: Measured) -> dict[str, Part]:
    planned = sorted({row["variant"] for row in data.rows("learning_curve", model="openai-gpt")})
    flat, gpts = model(data, "flat"), [model(data, name) for name in planned]
    amount = min(one.spent("seconds") for one in (flat, *gpts))
    best = smallest(*(one.at("seconds", amount) for one in gpts))
    return {"a": above(minus(best, flat.at("seconds", amount)), data.margin["gap_nats"])}


@claim("001-own-1")
def unit_decides(data: Measured) -> dict[str, Part]:
    flat, llama, margin = model(data, "flat"), model(data, "llama-4"), data.margin["loss_nats"]
    return {
        "a": above(compared(flat, llama, "step"), margin),
        "b": above(compared(llama, flat, "seconds"), margin),
        "c": above(compared(llama, flat, "flops"), margin),
    }


@claim("001-own-2")
def documents(data: Measured) -> dict[str, Part]:
    models = {
        (name, part): model(data, name, part=part) for name in ("flat", "llama-4") for part in ("windows", "training")
    }
    amount = min(one.spent("step") for one in models.values())
    behind = {}
    for part in ("windows", "training"):
        flat, llama = (models[name, part].at("step", amount) for name in ("flat", "llama-4"))
        behind[part] = {seed: flat[seed] - llama[seed] for seed in flat.keys() & llama.keys()}
    return {"": above(minus(behind["windows"], behind["training"]), data.margin["loss_nats"])}


@claim("001-own-3")
def added(data: Measured) -> dict[str, Part]:
    flat, margin = model(data, "flat"), data.margin["loss_nats"]
    names = ("heads-2", "kernel-4", "parallel-2", "parallel-4")
    numbers = (below(compared(flat, model(data, name), "flops"), margin) for name in names)
    return dict(zip("abcd", numbers, strict=True))


@claim("001-own-4")
def overfitting(data: Measured) -> dict[str, Part]:
    kernel, flat = model(data, "kernel-4"), model(data, "flat")
    amount = min(kernel.spent("step"), flat.spent("step"))
    gaps = [
        {seed: held_out - one.at("step", amount, TRAINED)[seed] for seed, held_out in one.at("step", amount).items()}
        for one in (kernel, flat)
    ]
    return {"": above(minus(*gaps), data.margin["loss_nats"])}


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


@claim("001-29", scale="long")
def completions(data: Measured) -> dict[str, Part]:
    near = data.margin["time_ratio_1"]  # "times within a tenth count as equal"
    trained = {name: model(data, name, measure="cost") for name in ("flat", "llama-4")}
    steps = {name: min(row["steps_done"] for rows in of.runs.values() for row in rows) for name, of in trained.items()}
    common = min(steps[name] * of.seconds for name, of in trained.items())
    kept, spent = {}, {}
    for name, of in trained.items():
        rows = data.rows("completions", variant=name)
        step = max(row["step"] for row in rows if row["step"] * of.seconds <= near * common)
        kept[name], spent[name] = [row for row in rows if row["step"] == step], step * of.seconds
    alike = max(spent.values()) <= near * min(spent.values())
    names, repeated = ({name: by_seed(rows, c) for name, rows in kept.items()} for c in ("names_kept_1", "repeated_1"))
    conditions = {"supports": alike, "refutes": alike}
    return {
        "a": above(minus(names["flat"], names["llama-4"]), data.margin["share_1"], **conditions),
        "b": above(minus(repeated["llama-4"], repeated["flat"]), data.margin["share_1"], **conditions),
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
    return dict(found)


@claim("001-30")
def tournament(data: Measured) -> dict[str, Part]:
    rows = sorted(data.rows("tournament_passes", group=32), key=lambda row: row["texts"])
    slope = np.polyfit(np.log10([row["texts"] for row in rows]), [row["passes_per_text_1"] for row in rows], 1)[0]
    return {"": Fact(bool(slope > data.margin["slope_1"]))}


@claim("001-own-10")
def search(data: Measured) -> dict[str, Part]:
    names = ("flat", "llama-4")
    numbers = (above(values(recovered(data, name, "search", True)), data.margin["accuracy_1"]) for name in names)
    return dict(zip("ab", numbers, strict=True))
