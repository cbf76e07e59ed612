"""Study 004, by the words of its claims.yaml. The unit is the training seed."""

import numpy as np

from tests.numerics.second_opinion.numbers import FEWEST, Fact, Part, above, below, each, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import (
    BySeed,
    Measured,
    Row,
    by_seed,
    grouped,
    minus,
    number,
    values,
)

OF_THE_PAPER = -1  # the number of the sample that the paper prints


def learnt(data: Measured, variant: str, column: str) -> BySeed:
    """seed -> a column of `learning` for one variant of the comparison."""
    return by_seed(data.rows("learning", part="comparison", variant=variant), column)


@claim("004-1")
def parameters(data: Measured) -> dict[str, Part]:
    counts = [row["parameters"] / 1e6 for row in data.rows("parameter_counts")]
    nearest = min(counts, key=lambda count: abs(count - data.paper["parameters_millions"]))
    return {"": Fact(abs(nearest - data.paper["parameters_millions"]) <= data.margin["count_millions"], nearest)}


@claim("004-2")
def averaging(data: Measured) -> dict[str, Part]:
    return {"": above(lead(data, "one-plain", "one-averaging"), data.margin["loss_nats"])}


@claim("004-4")
def second_triangle(data: Measured) -> dict[str, Part]:
    margin = data.margin["loss_nats"]
    pairs = (("a", "averaging"), ("b", "plain"))
    return {letter: above(lead(data, f"one-{mask}", f"two-{mask}"), margin) for letter, mask in pairs}


@claim("004-3")
def discount(data: Measured) -> dict[str, Part]:
    losses = minus(learnt(data, "one-averaging", "end_nats"), learnt(data, "one-discounted", "end_nats"))
    return {"a": equal(losses, data.margin["loss_nats"])}


@claim("004-5")
def activations(data: Measured) -> dict[str, Part]:
    sine = learnt(data, "two-averaging", "end_nats")
    others = (learnt(data, name, "end_nats") for name in ("leaky-relu", "gelu"))
    return {"": each(above(minus(other, sine), -data.margin["loss_nats"]) for other in others)}


MILESTONES = {
    "a": ("word_share_1", "words_iterations"),
    "b": ("pair_share_1", "phrases_iterations"),
    "c": ("four_word_share_1", "sentences_iterations"),
    "d": ("context_nats", "understanding_iterations"),
}


@claim("004-6")
def milestones(data: Measured) -> dict[str, Part]:
    rows, found = data.rows("milestones", part="pretraining"), {}
    for letter, (column, iterations) in MILESTONES.items():
        at = by_seed([row for row in rows if row["step"] == data.paper[iterations]], column)
        if at:  # 100,000 iterations are run only at the paper's scale
            found[letter] = above(values(at), data.margin[column])
    return {**found, "e": trend(grouped(rows, "seed"), data.margin)}


def trend(of_seeds: dict[int, list[Row]], margin: dict[str, float]) -> Fact:
    """Are words, phrases and sentences reached one after the other in every seed, or one before an earlier one?"""
    orders = []
    for rows in of_seeds.values():
        firsts = []
        for letter in "abc":
            column = MILESTONES[letter][0]
            firsts.append(min((row["step"] for row in rows if row[column] >= margin[column]), default=np.inf))
        one, two, three = firsts
        orders.append("reversed" if one > two or two > three or one > three else one < two < three)
    if len(orders) >= FEWEST and (all(order is True for order in orders) or set(orders) == {"reversed"}):
        return Fact(orders[0] is True)
    return Fact(None)


@claim("004-7")
def fine_tuning(data: Measured) -> dict[str, Part]:
    tuned = by_seed(data.rows("learning", part="fine-tuning"), "end_nats_per_character")
    curves = grouped(data.rows("loss_curve", part="alone-as-long"), "seed")
    losses = {seed: [number(row["validation_nats_per_character"]) for row in of] for seed, of in curves.items()}
    alone = {seed: float(np.nanmin(of)) for seed, of in losses.items()}
    ours = [row for row in data.rows("samples", part="fine-tuning") if row["sample"] != OF_THE_PAPER]
    copied = {seed: float(np.mean([row["copied_words"] for row in of])) for seed, of in grouped(ours, "seed").items()}
    return {
        "a": above(minus(alone, tuned), data.margin["loss_nats"]),
        "b": below(
            values(copied),
            data.margin["copied_words"],
            supports=above(values(copied), data.margin["unordered_words"]).ends(0.95)[0]
            > data.margin["unordered_words"],
        ),
    }


@claim("004-8")
def causal(data: Measured) -> dict[str, Part]:
    rows, most = data.rows("causality"), data.margin["difference_1"]
    return {
        "a": Fact(all(row["leak_1"] <= most for row in rows)),
        "b": Fact(all(row["masked_gradient_1"] <= most for row in rows)),
        "c": Fact(all(row["time_biases"] == 0 for row in rows)),
    }


@claim("004-own-1")
def reshape(data: Measured) -> dict[str, Part]:
    costs = minus(learnt(data, "reshape", "end_nats"), learnt(data, "two-averaging", "end_nats"))
    return {"": above(costs, data.margin["loss_nats"])}


WORDS = 1.95  # nats per character, where the beginning ends


def curves(data: Measured, variant: str) -> dict[int, tuple[list[int], list[float], float]]:
    """seed -> steps and training losses (nats per token) of its kept rows, and the loss at which words begin."""
    found: dict[int, tuple[list[int], list[float], float]] = {}
    for seed, rows in grouped(data.rows("loss_curve", part="comparison", variant=variant), "seed").items():
        logged = sorted((row["step"], row["loss_nats"]) for row in rows if np.isfinite(number(row["loss_nats"])))
        tested = [row for row in rows if np.isfinite(number(row["validation_nats"]))]
        tokens = np.median([row["validation_nats"] / row["validation_nats_per_character"] for row in tested])
        found[seed] = [step for step, _ in logged], [loss for _, loss in logged], WORDS * float(tokens)
    return found


def end_of_beginning(steps: list[int], losses: list[float], words: float) -> float:
    """The first step where the median of five losses is below that of words; infinity where none is."""
    fives = (sorted(losses[n - 4 : n + 1])[2] for n in range(4, len(losses)))
    return next((step for step, middle in zip(steps[4:], fives, strict=True) if middle < words), np.inf)


def lead(data: Measured, slower: str, faster: str) -> np.ndarray:
    """Per seed the mean loss of one variant minus that of another over the beginning of both, (n,)."""
    leads: BySeed = {}
    first, second = curves(data, slower), curves(data, faster)
    for seed in first.keys() & second.keys():
        both = first[seed], second[seed]
        last = min(min(end_of_beginning(*of) for of in both), max(of[0][-1] for of in both))
        means = [np.mean([np.interp(step, of[0], of[1]) for step in range(int(last) + 1)]) for of in both]
        leads[seed] = float(means[0] - means[1])
    return values(leads)


@claim("004-own-2")
def head_start(data: Measured) -> dict[str, Part]:
    return {"": above(lead(data, "two-plain", "one-averaging"), -data.margin["loss_nats"])}
