"""Study 000 on neurons of the first layer, by the words of its claims.yaml. The unit is the training seed."""

import itertools
import math

import numpy as np
from scipy.stats import spearmanr

from tests.numerics.second_opinion.numbers import Fact, Part, above, below, each, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import BySeed, Measured, Row, by_seed, grouped, last, minus, per_seed, values

PAPERS_WIDTH = 512
FEW = 0.4  # of the positions, by Appendix H


def reading(rows: list[Row]) -> list[Row]:
    """Those by the paper's thresholds at the paper's width, by relative ones at any other."""
    return [row for row in rows if row["reading"] == ("paper" if row["d_model"] == PAPERS_WIDTH else "relative")]


def worn(rows: list[Row], data: Measured) -> bool:
    """Have the initial weights of every run faded by wear_efoldings?"""
    return all(row["wear_1"] >= data.margin["wear_efoldings"] for row in last(rows))


def classes(data: Measured) -> list[Row]:
    return reading(data.rows("neuron_classes", part="neurons"))


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
def low_waves(data: Measured) -> dict[str, Part]:
    half, shares = data.margin["energy_share_1"], []
    for moment in ("end", "start"):
        of_seeds = grouped(data.rows("energy_map", part="neurons", moment=moment), "seed").items()
        waves = {
            seed: [
                row["low_energy_1"] > half and row["recent_energy_1"] + row["constant_energy_1"] < half for row in rows
            ]
            for seed, rows in of_seeds
        }
        shares.append({seed: float(np.mean(of)) for seed, of in waves.items()})
    old = worn(data.rows("energy_map", part="neurons", moment="end"), data)
    return {"": above(minus(*shares), data.margin["rise_share_1"], refutes=old)}


@claim("000-15")
def hardly_dependent(data: Measured) -> dict[str, Part]:
    rows = last(reading(data.rows("neuron_classes", part=("neurons", "variation"))))
    (base,) = {(row["base_d_mlp"], row["base_context"]) for row in rows if row["part"] == "variation"}
    more: BySeed = {}
    beyond: dict[tuple[str, int, int], BySeed] = {}
    ours, window = [row for row in rows if row["part"] == "variation"], data.margin["window_tokens"]
    wide = sorted({row["d_mlp"] for row in ours})[2:]
    for seed, of in grouped(ours, "seed").items():
        across = [row for row in of if row["context"] == base[1]]
        along = [row for row in of if row["d_mlp"] == base[0] and window / row["context"] < FEW]
        more[seed] = farther(along, "context") - farther(across, "d_mlp")
        for column in SHARES:
            shares = {row["d_mlp"]: row[column] for row in across}
            for one, other in itertools.combinations(wide, 2):
                beyond.setdefault((column, one, other), {})[seed] = shares[other] - shares[one]
    return {
        "a": each(equal(values(of), data.margin["share_1"]) for of in beyond.values()),
        "b": above(values(more), 0.0),
    }


SHARES = ("n_gram_share_1", "bag_of_words_share_1")


def farther(rows: list[Row], setting: str) -> float:
    """How far the shares of the two ends of a setting are apart, the larger of both classes."""
    first, *_, last_one = sorted(rows, key=lambda row: row[setting])
    return max(abs(last_one[column] - first[column]) for column in SHARES)


@claim("000-16")
def inverted(data: Measured) -> dict[str, Part]:
    rows = data.rows("l1_l2", moment="end")
    old = {"refutes": worn(rows, data)}
    found = {seed: correlation(of, "ratio_1", "frequency_ratio_1") for seed, of in grouped(rows, "seed").items()}
    peaks = per_seed(rows, "frequency_ratio_1", sarle)
    middle = (1 + max(row["bound_1"] for row in rows)) / 2
    sides = per_seed(
        rows, "frequency_ratio_1", lambda of: min(np.mean(np.array(of) < middle), np.mean(np.array(of) > middle))
    )
    return {
        "a": below(values(found), data.margin["correlation_1"], **old),
        "b": above(peaks, data.margin["bimodality_1"], **old),
        "c": above(sides, data.margin["side_share_1"], **old),
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
