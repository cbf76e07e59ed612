"""Study 000 on losses, sizes and samples, by the words of its claims.yaml. The unit is the training seed."""

import math

import numpy as np

from tests.numerics.second_opinion.numbers import Fact, Part, above, each, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import (
    BySeed,
    Measured,
    Row,
    by_seed,
    grouped,
    minus,
    per_seed,
    values,
)

MLP, GPT = "mlp", "gpt2-last"


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
        "a": each(above(values(lead), data.margin["loss_nats"]) for lead in leads),
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
    curves: dict[str, dict[int, dict[float, tuple[float, float]]]] = {MLP: {}, GPT: {}}
    rows = data.rows("scaling", part="scaling")
    for (model, seed, budget), of in grouped(rows, "model", "seed", "budget_flops").items():
        best = min(of, key=lambda row: row["validation_nats"])
        point = math.log(best["counted_flops"]), math.log(best["validation_nats"])
        curves[model].setdefault(seed, {})[budget] = point
    leads: dict[float, BySeed] = {}
    for seed, points in curves[GPT].items():
        x, y = zip(*sorted(curves[MLP][seed].values()), strict=True)
        for budget, (a, b) in points.items():
            if x[0] <= a <= x[-1]:
                leads.setdefault(budget, {})[seed] = math.exp(b) - math.exp(np.interp(a, x, y))
    most = max(map(len, leads.values()))
    return {"": each(above(values(of), data.margin["loss_nats"]) for of in leads.values() if len(of) == most)}


@claim("000-14")
def longer_contexts(data: Measured) -> dict[str, Part]:
    found = {}
    for name, rows in grouped(data.rows("context_parameters"), "reading").items():
        found[name] = {row["beyond_context"] for row in rows}
    printed = data.paper["constant_parameters_millions"] * 1e6
    constant = [next(iter(of)) for of in found.values() if len(of) == 1]
    nearest = min(constant, key=lambda count: abs(count - printed))
    return {"": Fact(abs(nearest - printed) <= data.margin["count_millions"] * 1e6, nearest / 1e6)}


@claim("000-17")
def samples(data: Measured) -> dict[str, Part]:
    of_models = grouped(data.rows("samples"), "model", "d_model", "budget_flops").values()
    known = [per_seed(of, "known_trigrams_1", np.mean) for of in of_models]
    return {"a": each((above(of, data.margin["trigram_share_1"]) for of in known), refuting=len(known))}


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
