"""Study 000, by the words of its claims.yaml. The unit is the training seed."""

import math
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from tests.numerics.second_opinion.numbers import Fact, Part, above, below, each, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import BySeed, Measured, Row, by_seed, grouped, last, minus, smallest, values

PAPERS_WIDTH = 512
FEW = 0.4  # of the positions, by Appendix H
MLP, GPT = "mlp", "gpt2-last"


def reading(rows: list[Row]) -> list[Row]:
    """Those by the paper's thresholds at the paper's width, by relative ones at any other."""
    return [row for row in rows if row["reading"] == ("paper" if row["d_model"] == PAPERS_WIDTH else "relative")]


def worn(rows: list[Row], data: Measured) -> bool:
    """Have the initial weights of every run faded by wear_efoldings?"""
    return all(row["wear_1"] >= data.margin["wear_efoldings"] for row in last(rows))


def classes(data: Measured) -> list[Row]:
    return reading(data.rows("neuron_classes", part="neurons"))


def best_losses(data: Measured) -> dict[str, dict[float, BySeed]]:
    """architecture -> budget -> seed -> the lowest validation loss over the sizes tried."""
    found: dict[str, dict[float, BySeed]] = {}
    for (model, budget), rows in grouped(data.rows("scaling", part="scaling"), "model", "budget_flops").items():
        of_seeds = grouped(rows, "seed").items()
        lowest = {seed: min(row["validation_nats"] for row in of) for seed, of in of_seeds}
        found.setdefault(model, {})[budget] = lowest
    return found


@claim("000-3")
def best(data: Measured) -> dict[str, Part]:
    of = best_losses(data)
    common = sorted(of[MLP].keys() & of[GPT].keys())
    leads = [{seed: of[MLP][c][seed] - of[GPT][c][seed] for seed in of[MLP][c]} for c in common]
    slopes = {
        model: {
            seed: float(np.polyfit(np.log(common), [math.log(budgets[c][seed]) for c in common], 1)[0])
            for seed in budgets[common[0]]
        }
        for model, budgets in of.items()
    }
    ratios = np.array([slopes[MLP][seed] / slopes[GPT][seed] - 1 for seed in sorted(slopes[MLP])])
    return {
        "a": above(values(smallest(*leads)), data.margin["loss_nats"]),
        "b": equal(ratios, data.margin["slope_ratio_1"]),
    }


def exponents(data: Measured, model: str, size: str, also: str | None = None) -> BySeed:
    """seed -> slope of log N_opt on log C. N_opt: the vertex of a parabola in log N, of budgets with it inside."""
    rows = data.rows("scaling", part="scaling", model=model)
    found: BySeed = {}
    for seed, of_seed in grouped(rows, "seed").items():
        points = []
        for budget, of_budget in grouped(of_seed, "budget_flops").items():
            vertices = [vertex(of_budget, one) for one in (size, also) if one]
            if None not in vertices:
                points.append((math.log(budget), vertices[0]))
        found[seed] = float(np.polyfit(*zip(*points, strict=True), 1)[0])
    return found


def vertex(rows: list[Row], size: str) -> float | None:
    """log N at the lowest point of a parabola through the losses; None outside the sizes tried."""
    sizes, losses = np.log([row[size] for row in rows]), [row["validation_nats"] for row in rows]
    if len(rows) < 3:
        return None
    a, b, _ = np.polyfit(sizes, losses, 2)
    at = -b / (2 * a)
    return float(at) if a > 0 and min(sizes) <= at <= max(sizes) else None


@claim("000-2")
def growth(data: Measured) -> dict[str, Part]:
    of = {model: exponents(data, model, "parameters") for model in (MLP, GPT)}
    margin, known = data.margin["exponent_1"], data.paper["hoffmann_size_exponent_1"]
    few = {"supports": False, "refutes": False}  # judged with three budgets and more
    return {"c": each(above(known - values(one), margin, **few) for one in of.values())}


@claim("000-own-2")
def what_counts(data: Measured) -> dict[str, Part]:
    all_weights, others = "parameters", "non_embedding_parameters"
    with_all, without = (exponents(data, MLP, *of) for of in ((all_weights, others), (others, all_weights)))
    return {"": above(minus(without, with_all), data.margin["exponent_1"])}


@claim("000-4")
def depth(data: Measured) -> dict[str, Part]:
    deep, base = (
        by_seed(data.rows("scaling", part="depth", shape=shape), "validation_nats") for shape in ("deep", "base")
    )
    return {"a": equal(minus(deep, base), data.margin["loss_nats"])}


@claim("000-own-1")
def equal_operations(data: Measured) -> dict[str, Part]:
    curves: dict[str, dict[int, list[tuple[float, float]]]] = {MLP: {}, GPT: {}}
    rows = data.rows("scaling", part="scaling")
    for (model, seed, _), of in grouped(rows, "model", "seed", "budget_flops").items():
        best = min(of, key=lambda row: row["validation_nats"])
        point = math.log(best["counted_flops"]), math.log(best["validation_nats"])
        curves[model].setdefault(seed, []).append(point)
    leads = {}
    for seed, points in curves[GPT].items():
        x, y = zip(*sorted(curves[MLP][seed]), strict=True)
        leads[seed] = min(math.exp(b) - math.exp(np.interp(a, x, y)) for a, b in points if x[0] <= a <= x[-1])
    return {"": above(values(leads), data.margin["loss_nats"])}


@claim("000-5")
def first(data: Measured) -> dict[str, Part]:
    n_gram, bag, margin = "n_gram_share_1", "bag_of_words_share_1", data.margin
    leads, rises, delays, sums, fewer, emerged = {}, {}, {}, {}, {}, True
    for seed, rows in grouped(classes(data), "seed").items():
        course = sorted(rows, key=lambda row: row["step"])
        end, total = course[-1], course[-1]["step"]
        seen = [row for row in course if max(row[n_gram], row[bag]) >= margin["emerged_share_1"]]
        leads[seed], emerged = (seen[0][n_gram] - seen[0][bag] if seen else 0.0), emerged and bool(seen)
        early = min(course, key=lambda row: abs(row["step"] - total / 10))
        rises[seed] = end[bag] - early[bag]
        half = {c: next(row["step"] for row in course if row[c] >= end[c] / 2) / total for c in (n_gram, bag)}
        delays[seed] = half[bag] - half[n_gram]
        sums[seed], fewer[seed] = end[n_gram] + end[bag], min(end[n_gram], end[bag])
    old = {"refutes": worn(classes(data), data)}
    return {
        "a": above(values(leads), margin["lead_share_1"], refutes=emerged),
        "c": each(
            [
                above(values(sums), margin["majority_share_1"], **old),
                above(values(fewer), margin["rise_share_1"], **old),
            ]
        ),
    }


@claim("000-6")
def look_alike(data: Measured) -> dict[str, Part]:
    rows = reading(data.rows("class_energies", moment="end"))
    n_gram = by_seed([row for row in rows if row["class"] == "n-gram"], "window_energy_1")
    return {"a": above(values(n_gram), data.margin["energy_share_1"])}


@claim("000-8")
def short_window(data: Measured) -> dict[str, Part]:
    rows = reading(data.rows("class_energies", moment="end"))
    n_gram = by_seed([row for row in rows if row["class"] == "n-gram"], "recent_energy_1")
    return {"b": above(values(n_gram), data.margin["energy_share_1"])}


def sarle(x: np.ndarray) -> float:
    """Sarle's bimodality coefficient in its finite-sample form."""
    n, z = len(x), x - x.mean()
    m2, m3, m4 = (float(np.mean(z**k)) for k in (2, 3, 4))
    skew = math.sqrt(n * (n - 1)) / (n - 2) * m3 / m2**1.5
    excess = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (m4 / m2**2 - 3) + 6)
    return (skew**2 + 1) / (excess + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3)))


def per_seed(rows: list[Row], column: str, count: Any) -> np.ndarray:
    """A number of each seed from a column over its neurons, (n,)."""
    return values({seed: count(np.array([row[column] for row in of])) for seed, of in grouped(rows, "seed").items()})


@claim("000-7")
def bimodal(data: Measured) -> dict[str, Part]:
    start, end = (data.rows("l1_l2", moment=moment) for moment in ("start", "end"))
    reach = data.paper["upper_extreme_1"]
    context = {row["context"] for row in end}.pop()
    top, old = math.sqrt(context), {"refutes": worn(end, data)}
    assert abs(top - reach) < 1e-3
    tenth = (top - 1) / 10
    width = per_seed(start, "ratio_1", lambda x: (np.quantile(x, 0.95) - np.quantile(x, 0.05)) / (top - 1))
    outer = per_seed(end, "ratio_1", lambda x: min(np.mean(x <= 1 + tenth), np.mean(x >= top - tenth)))
    return {
        "a": below(width, data.margin["width_1"]),
        "b": above(per_seed(end, "ratio_1", sarle), data.margin["bimodality_1"], **old),
        "c": above(outer, data.margin["extreme_share_1"], **old),
    }


def correlation(of: list[Row], one: str, other: str) -> float:
    return float(spearmanr([row[one] for row in of], [row[other] for row in of]).statistic)


@claim("000-9")
def rows_and_frequencies(data: Measured) -> dict[str, Part]:
    ratios = {(row["run"], row["neuron"]): row["ratio_1"] for row in data.rows("l1_l2", moment="end")}
    rows = [row | {"used": ratios[row["run"], row["neuron"]] ** 2} for row in data.rows("energy_map", moment="end")]
    found = {seed: correlation(of, "used", "low_energy_1") for seed, of in grouped(rows, "seed").items()}
    return {"": above(values(found), data.margin["correlation_1"])}


@claim("000-10")
def dct_sparse(data: Measured) -> dict[str, Part]:
    rows = classes(data)
    ends, starts = (by_seed(of, "dct_sparse_share_1") for of in (last(rows), [r for r in rows if r["step"] == 0]))
    return {"": above(minus(ends, starts), data.margin["rise_share_1"], refutes=worn(rows, data))}


@claim("000-14")
def longer_contexts(data: Measured) -> dict[str, Part]:
    found = {}
    for name, rows in grouped(data.rows("context_parameters"), "reading").items():
        found[name] = {row["beyond_context"] for row in rows}
    printed = data.paper["constant_parameters_millions"] * 1e6
    constant = [next(iter(of)) for of in found.values() if len(of) == 1]
    nearest = min(constant, key=lambda count: abs(count - printed))
    return {"": Fact(abs(nearest - printed) <= data.margin["count_millions"] * 1e6, nearest / 1e6)}


@claim("000-15")
def hardly_dependent(data: Measured) -> dict[str, Part]:
    rows = last(reading(data.rows("neuron_classes", part=("neurons", "variation"))))
    (base,) = {(row["base_d_mlp"], row["base_context"]) for row in rows if row["part"] == "variation"}
    widths: dict[int, list[float]] = {}
    contexts: dict[int, list[float]] = {}
    beyond: dict[int, list[float]] = {}
    ours, window = [row for row in rows if row["part"] == "variation"], data.margin["window_tokens"]
    second = sorted({row["d_mlp"] for row in ours})[1]
    for seed, of in grouped(ours, "seed").items():
        across = [row for row in of if row["context"] == base[1]]
        along = [row for row in of if row["d_mlp"] == base[0] and window / row["context"] < FEW]
        widths[seed], contexts[seed] = spans(across), spans(along)
        beyond[seed] = spans([row for row in across if row["d_mlp"] > second])
    more = values({seed: max(contexts[seed]) - max(widths[seed]) for seed in widths})
    return {
        "a": equal(values({seed: max(of) for seed, of in beyond.items()}), data.margin["share_1"]),
        "b": above(more, 0.0),
    }


def spans(rows: list[Row]) -> list[float]:
    """The ranges of the n-gram share and of the bag-of-words share."""
    columns = ("n_gram_share_1", "bag_of_words_share_1")
    return [max(row[column] for row in rows) - min(row[column] for row in rows) for column in columns]


@claim("000-16")
def inverted(data: Measured) -> dict[str, Part]:
    rows = data.rows("l1_l2", moment="end")
    old = {"refutes": worn(rows, data)}
    found = {seed: correlation(of, "ratio_1", "frequency_ratio_1") for seed, of in grouped(rows, "seed").items()}
    peaks = per_seed(rows, "frequency_ratio_1", sarle)
    return {
        "a": below(values(found), data.margin["correlation_1"], **old),
        "b": above(peaks, data.margin["bimodality_1"], **old),
    }


@claim("000-17")
def samples(data: Measured) -> dict[str, Part]:
    prompts = sorted({row["prompt"] for row in data.rows("samples")})
    known, gains = [], []
    for of in grouped(data.rows("samples"), "model", "d_model", "budget_flops").values():
        known.append(per_seed(of, "known_trigrams_1", np.mean))
        gains.append(per_seed([row for row in of if row["prompt"] in prompts[-4:]], "context_gain_nats", np.mean))
    trigrams, context = data.margin["trigram_share_1"], data.margin["context_nats"]
    return {
        "a": each((above(of, trigrams) for of in known), refuting=len(known)),
        "b": each((above(of, context) for of in gains), refuting=len(gains)),
    }


@claim("000-18")
def identities(data: Measured) -> dict[str, Part]:
    rows, most = data.rows("dct_identities"), data.margin["difference_1"]
    of_last, of_mean = (
        [row for row in rows if row["identity"] == name] for name in ("last k tokens", "mean of all tokens")
    )
    return {
        "a": Fact(all(row["difference_1"] <= most for row in of_last)),
        "b": Fact(all(row["difference_1"] <= most for row in of_mean)),
        "c": Fact(all(row["weights"] == row["frequencies"] * row["d_model"] for row in rows)),
    }


@claim("000-19")
def thresholds(data: Measured) -> dict[str, Part]:
    readings = grouped(data.rows("constructed_neurons"), "rows", "slices", "variance").values()
    right = [all(row["right_share_1"] >= data.margin["right_share_1"] for row in of) for of in readings]
    return {"": Fact(any(right))}


@claim("000-own-3", "000-own-4")
def without(data: Measured) -> dict[str, Part]:
    sentences = "share_1" in data.margin and data.margin["share_1"] < 0.1
    corpus = f"-{'sentences' if sentences else 'words'}"
    ends = {name: last(data.rows(name, part=("variation", "control"))) for name in ("neuron_classes", "concentration")}
    column = "bag_of_words_share_1" if sentences else "n_gram_share_1"
    (base,) = {tuple(row[key] for key in BASE) for row in ends["concentration"] if row["part"] == "control"}
    of = {
        name: {
            shuffled: [row for row in rows if (row["part"] == "control" and row["corpus"].endswith(corpus)) if shuffled]
            or [row for row in rows if row["part"] == "variation" and tuple(row[key] for key in SETTINGS) == base]
            for shuffled in (True, False)
        }
        for name, rows in (("classes", reading(ends["neuron_classes"])), ("constant", ends["concentration"]))
    }
    shares = {shuffled: by_seed(rows, column) for shuffled, rows in of["classes"].items()}
    constant = {shuffled: by_seed(rows, "constant_share_median_1") for shuffled, rows in of["constant"].items()}
    old = worn(of["classes"][False], data)
    enough = old and all(share >= data.margin["share_1"] for share in shares[False].values())
    if sentences:
        return {
            "a": above(minus(shares[False], shares[True]), data.margin["share_1"], refutes=enough),
            "b": above(minus(constant[False], constant[True]), data.margin["constant_share_1"], refutes=old),
        }
    half = {seed: share / 2 for seed, share in shares[False].items()}
    return {
        "a": above(minus(half, shares[True]), 0.0, refutes=enough),
        "b": above(minus(constant[True], constant[False]), data.margin["constant_share_1"], refutes=old),
    }


SETTINGS = ("context", "d_mlp", "weight_decay", "embedding_std")
BASE = tuple(f"base_{key}" for key in SETTINGS)


@claim("000-own-5")
def wear_and_start(data: Measured) -> dict[str, Part]:
    shares = reading(last(data.rows("neuron_classes", part="variation")))
    energies = last(data.rows("concentration", part="variation"))
    decays = sorted({row["weight_decay"] for row in shares})
    stds = sorted({row["embedding_std"] for row in shares})
    summed = [row | {"sum": row["n_gram_share_1"] + row["bag_of_words_share_1"]} for row in shares]

    def at(rows: list[Row], column: str, decay: float, std: float) -> BySeed:
        (base,) = {(row["base_context"], row["base_d_mlp"]) for row in rows}
        chosen = [row for row in rows if (row["weight_decay"], row["embedding_std"]) == (decay, std)]
        return by_seed([row for row in chosen if (row["context"], row["d_mlp"]) == base], column)

    low, high, small, large = decays[0], decays[-1], stds[0], stds[-1]
    energy, limit = "window_share_median_1", data.margin["share_1"]
    return {
        "a": above(minus(at(summed, "sum", high, small), at(summed, "sum", low, small)), limit),
        "b": above(minus(at(summed, "sum", low, large), at(summed, "sum", low, small)), limit),
        "c": above(
            minus(at(energies, energy, high, small), at(energies, energy, low, small)), data.margin["energy_share_1"]
        ),
    }


def crossings(data: Measured, size: str, *times_the_data: int) -> tuple[list[BySeed], bool, bool]:
    """For each multiple of the data: seed -> log2 of the DCT-MLP's size over the transformer's at its perplexity.

    By straight lines through log perplexity over log size; without a crossing, at the end of the range. The mean over
    transformers of several depths, without those that have no crossing in some seed; over all where none has. And: is
    some ratio smaller than its number, is some larger?
    """
    found: dict[int, dict[int, BySeed]] = {times: {} for times in times_the_data}
    open_ends: dict[int, str] = {}
    for row in data.rows("perplexity", model="gpt2", data=1):
        goal, depth = math.log(row["perplexity_1"]), row["n_blocks"]
        for times in times_the_data:
            ours = data.rows("perplexity", model="dct-mlp", data=times, seed=row["seed"])
            points = sorted((math.log2(one[size]), math.log(one["perplexity_1"])) for one in ours)
            at, end = points[-1][0], "larger"
            for (x, y), (after, lower) in zip([points[0], *points], points, strict=False):
                if lower <= goal:
                    at, end = (after, "smaller") if x == after else (x + (after - x) * (y - goal) / (y - lower), "")
                    break
            found[times].setdefault(depth, {})[row["seed"]] = at - math.log2(row[size])
            open_ends[depth] = end or open_ends.get(depth, "")
    used = [depth for depth, end in open_ends.items() if not end] or list(open_ends)
    ends = {open_ends[depth] for depth in used}
    means = [
        {seed: float(np.mean([of[depth][seed] for depth in used])) for seed in of[used[0]]} for of in found.values()
    ]
    return means, "smaller" in ends, "larger" in ends


@claim("000-own-6")
def more_weights(data: Measured) -> dict[str, Part]:
    (one,), less, more = crossings(data, "weights", 1)
    (at_one, at_three), *open_ends = crossings(data, "weights", 1, 3)
    limit, bounded = data.margin["weights_log2"], not any(open_ends)
    return {
        "a": above(values(one), limit, supports=not less, refutes=not more),
        "b": above(minus(at_one, at_three), limit, supports=bounded, refutes=bounded),
    }


@claim("000-own-7")
def operations(data: Measured) -> dict[str, Part]:
    (weights,), *_ = crossings(data, "weights", 1)
    (counted,), *open_ends = crossings(data, "operations", 1)
    bounded = not any(open_ends)
    return {"": above(minus(weights, counted), data.margin["ratio_log2"], supports=bounded, refutes=bounded)}
