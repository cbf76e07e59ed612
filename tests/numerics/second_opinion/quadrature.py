"""Study 003, by the words of its claims.yaml. The unit is the training seed."""

from dataclasses import replace

import numpy as np

from tests.numerics.second_opinion.numbers import Fact, Number, Part, above, another, below, each, near
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import BySeed, Measured, Row, by_seed, grouped, last, minus, values


def mean_of_seeds(rows: list[Row], column: str) -> np.ndarray:
    """Per seed the mean of a column over its rows, (n,)."""
    return values({seed: float(np.mean([row[column] for row in of])) for seed, of in grouped(rows, "seed").items()})


def heavy(data: Measured, measure: str) -> list[Row]:
    """Rows of key frequencies with at least weight_share_1 of the output weight."""
    return [row for row in data.rows(measure) if row["weight_share_1"] >= data.margin["weight_share_1"]]


@claim("003-1")
def single_frequency(data: Measured) -> dict[str, Part]:
    share, limit = data.margin["variance_share_1"], data.margin["neuron_share_1"]
    neurons = [
        row
        | {
            "in": row["share_in_1"] >= share,
            "out": row["share_out_1"] >= share,
            "same": row["frequency"] == row["frequency_out"],
        }
        for row in data.rows("neurons", is_key=True)
    ]
    found = (above(mean_of_seeds(neurons, column), limit) for column in ("in", "out", "same"))
    return dict(zip("abc", found, strict=True))


@claim("003-2")
def phases(data: Measured) -> dict[str, Part]:
    limit, neurons = data.margin["angle_rad"], data.rows("neurons", is_key=True)
    found = {}
    for letter, column in (("a", "angle_error_plus_rad"), ("b", "angle_error_minus_rad")):
        sizes = [row | {"size": abs(row[column])} for row in neurons]
        found[letter] = below(mean_of_seeds(sizes, "size"), limit)
    return dict(found)


@claim("003-3")
def integrals(data: Measured) -> dict[str, Part]:
    limit, rows = data.margin["difference_1"], data.rows("closed_forms")
    of = {
        where: max(abs(row["value_1"] - row["paper_1"]) for row in some)
        for where, some in grouped(rows, "where").items()
    }
    return {"a": Fact(of["Section 3"] <= limit), "b": Fact(of["Appendix B"] <= limit)}


@claim("003-4")
def rectangles(data: Measured) -> dict[str, Part]:
    rows = data.rows("sums")
    widths = max(abs(row["width_sum_rad"] - 2 * np.pi) for row in rows)
    distances = mean_of_seeds(rows, "centre_distance_widths")
    return {"a": Fact(widths <= data.margin["width_sum_rad"]), "b": below(distances, data.margin["distance_widths"])}


def alike(data: Measured) -> tuple[dict[int, list[Row]], bool]:
    """seed -> its rows of key frequencies, of networks that add every pair with as many of them as the paper's; and
    whether these are as many as the claim needs."""
    ends = last(data.rows("accuracy"))
    add = {row["seed"] for row in ends if row["accuracy_1"] == 1}
    keys = grouped(heavy(data, "error_table"), "seed")
    found = {seed: rows for seed, rows in keys.items() if seed in add and len(rows) == data.margin["keys_count"]}
    return found, len(found) >= data.seeds


def typical(of: BySeed, printed: float, data: Measured, enough: bool) -> Number:
    """Logarithms near that of the printed number: of all that round to it, the nearest to the geometric mean."""
    logarithms, rounding = np.log(values(of)), data.margin["rounding_1"]
    nearest = np.clip(np.exp(np.mean(logarithms)), printed - rounding, printed + rounding) if of else printed
    most = float(np.log(data.margin["distance_factor_1"]))
    return near(logarithms, float(np.log(nearest)), most, supports=enough, refutes=enough)


@claim("003-5")
def errors(data: Measured) -> dict[str, Part]:
    found: dict[str, Part] = {}
    networks, enough = alike(data)
    for letter, column in (("a", "abs_error"), ("b", "identity_error"), ("c", "total_bound")):
        printed = [value for key, value in data.paper.items() if key.startswith(f"{column}_k")]
        means = {seed: float(np.mean([row[f"{column}_1"] for row in rows])) for seed, rows in networks.items()}
        found[letter] = typical(means, float(np.mean(printed)), data, enough)
    largest = {seed: max(row["total_bound_1"] for row in rows) for seed, rows in networks.items()}
    naive = {row["naive_bound_1"] for rows in networks.values() for row in rows}
    limit = float(np.mean(list(naive))) if naive else 0.0
    return {**found, "d": below(values(largest), limit, supports=enough, refutes=enough)}


@claim("003-6")
def terms(data: Measured) -> dict[str, Part]:
    networks, enough = alike(data)
    worst = {seed: max(rows, key=lambda row: row["total_bound_1"]) for seed, rows in networks.items()}
    angles = {seed: row["angle_bound_1"] for seed, row in worst.items()}
    rest = {seed: row["total_bound_1"] - row["angle_bound_1"] for seed, row in worst.items()}
    pairs = (("a", angles, "angle_bound_1"), ("b", rest, "quadrature_bound_1"))
    return {letter: typical(of, data.paper[key], data, enough) for letter, of, key in pairs}


@claim("003-7")
def covered(data: Measured) -> dict[str, Part]:
    worst = max(row["excess_1"] for row in data.rows("sums"))
    return {"": Fact(worst <= data.margin["excess_1"], worst)}


@claim("003-8")
def costs(data: Measured) -> dict[str, Part]:
    primes, most = (31, 59, 113, 227), data.margin["exponent_1"]

    def exponents(procedure: str) -> list[float]:
        rows = [row for row in data.rows("bound_cost", procedure=procedure) if row["p"] in primes]
        of_sizes = [of for of in grouped(rows, "neurons").values() if len(of) == len(primes)]
        return [slope([row["p"] for row in of], [row["operations_1"] for row in of]) for of in of_sizes]

    bound, brute = exponents("the paper's bound"), exponents("brute force over p sums")
    return {
        "a": Fact(all(abs(one) <= most for one in bound)),
        "b": Fact(all(abs(one - 1) <= most for one in brute)),
    }


def slope(x: list[float], y: list[float]) -> float:
    """The exponent of y in x, by least squares through the logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@claim("003-own-1")
def moment_bound(data: Measured) -> dict[str, Part]:
    rows = heavy(data, "error_table")
    never = all(row["abs_error_1"] <= row["moment_bound_1"] for row in rows)
    ratios = [row | {"log": np.log(row["total_bound_1"] / row["moment_bound_1"])} for row in rows]
    return {"a": Fact(never), "b": above(mean_of_seeds(ratios, "log"), float(np.log(data.margin["ratio_1"])))}


@claim("003-own-2")
def certificates(data: Measured) -> dict[str, Part]:
    def share(**level: object) -> np.ndarray:
        return values(by_seed(data.rows("certificate", **level), "certified_accuracy_1"))

    limit = data.margin["share_1"]
    return {
        "a": above(1 - share(level="story"), limit),
        "b": above(share(level="structured", terms=81), limit),
        "c": above(share(level="hidden"), limit),
    }


@claim("003-own-4")
def angle_spacing(data: Measured) -> dict[str, Part]:
    rows = [
        row
        | {
            "random": np.log(row["random_error_1"] / row["abs_error_1"]),
            "regular": np.log(row["abs_error_1"] / row["regular_error_1"]),
        }
        for row in heavy(data, "angle_controls")
    ]
    limit = float(np.log(data.margin["ratio_1"]))
    return {"a": above(mean_of_seeds(rows, "random"), limit), "b": above(mean_of_seeds(rows, "regular"), limit)}


@claim("003-own-5")
def weight_decay(data: Measured) -> dict[str, Part]:
    one = by_seed(data.rows("scan", part="sweep", weight_decay=1.0), "angle_error_rad")
    two = by_seed(data.rows("scan", part="seeds", weight_decay=2.0), "angle_error_rad")
    return {"": above(minus(one, two), data.margin["angle_rad"])}


@claim("003-own-6")
def certificate_cost(data: Measured) -> dict[str, Part]:
    def shares(**level: object) -> np.ndarray:
        rows = data.rows("certificate", **level)
        return mean_of_seeds([row | {"share": row["operations"] / row["brute_operations"]} for row in rows], "share")

    never = all(row["largest_excess_nats"] <= 0 for row in data.rows("certificate") if row["level"] != "truth")
    limit = data.margin["share_1"]
    hidden, structured = shares(level="hidden"), shares(level="structured", terms=81)
    return {"a": Fact(never), "b": below(hidden, limit), "c": below(structured, limit)}


def accurate(data: Measured) -> set[int]:
    """The seeds, of those that no run had before the rule, of networks that add every pair; may be none."""
    ends = last(data.rows("accuracy", part="seeds"))
    return {row["seed"] for row in ends if row["accuracy_1"] == 1 and row["seed"] >= data.margin["first_seed"]}


def of_accurate(data: Measured, rows: list[Row]) -> list[Row]:
    seeds = accurate(data)
    return [row for row in rows if row["seed"] in seeds]


@claim("003-9")
def laws(data: Measured) -> dict[str, Part]:
    def r2(part: str, law: str) -> BySeed:
        return by_seed(of_accurate(data, data.rows("regressions", part=part, law=law)), "r2_1")

    margin, gaps = data.margin["r2_gap_1"], (("a", "logits", "cosine", "abs"), ("b", "abs", "abs", "cosine"))
    printed = {
        ("logits", "abs"): "abs_form_r2_1",
        ("logits", "cosine"): "cosine_form_r2_1",
        ("abs", "abs"): "abs_only_abs_form_r2_1",
        ("abs", "cosine"): "abs_only_cosine_form_r2_1",
    }
    half, most = 0.005, data.margin["half_width_1"]  # the printed numbers have two decimals
    four = (another(values(r2(*of)), data.paper[key], most, half) for of, key in printed.items())
    found: dict[str, Part] = {
        letter: above(minus(r2(part, one), r2(part, two)), margin) for letter, part, one, two in gaps
    }
    return found | {"c": each(four, refuting=2)}


@claim("003-10")
def signs(data: Measured) -> dict[str, Part]:
    rows = of_accurate(data, data.rows("coefficients"))
    largest = {seed: max(row["identity_coefficient_nats"] for row in of) for seed, of in grouped(rows, "seed").items()}
    printed = {
        part: np.array([value for key, value in data.paper.items() if key.startswith(f"{part}_coefficient_k")])
        for part in ("abs", "identity")
    }
    ratio, size = float(np.mean(-printed["identity"] / printed["abs"])), float(np.mean(printed["abs"]))
    half = 0.05  # the printed numbers have one decimal
    rounded = float(np.mean((half - printed["identity"]) / (printed["abs"] - half))) - ratio
    networks, enough = alike(data)
    same = [row for row in rows if row["seed"] in networks]
    share = data.margin["half_width_share_1"]
    absolute = another(mean_of_seeds(same, "abs_coefficient_nats"), size, share * size, half)
    return {
        "a": below(values(largest), 0.0),
        "b": another(mean_of_seeds(rows, "ratio_1"), ratio, share * ratio, rounded),
        "c": replace(absolute, supports=enough, refutes=enough),
    }


@claim("003-11")
def spectrum(data: Measured) -> dict[str, Part]:
    rows = of_accurate(data, data.rows("identity_shares", matrix="OV"))
    energy, imaginary = (values(by_seed(rows, column)) for column in ("energy_share_1", "imaginary_share_1"))
    limits = data.margin
    return {"a": above(energy, limits["energy_share_1"]), "b": below(imaginary, limits["imaginary_share_1"])}


@claim("003-12")
def proportional(data: Measured) -> dict[str, Part]:
    rows = of_accurate(data, heavy(data, "sums"))
    r2 = {s: min(min(row["cosine_r2_1"], row["sine_r2_1"]) for row in of) for s, of in grouped(rows, "seed").items()}
    return {"": above(values(r2), data.margin["r2_1"])}


@claim("003-13")
def coefficients_of_the_example(data: Measured) -> dict[str, Part]:
    (row,) = [row for row in data.rows("printed_numbers") if "five" in f"{row['item']} {row['quantity']}"][:1]
    off = abs(row["value_1"] - data.paper["coefficient_sum_1"])
    return {"": Fact(off <= data.margin["difference_1"], off)}


@claim("003-own-3")
def hand_coded(data: Measured) -> dict[str, Part]:
    rows = [row for row in data.rows("hand_coded_law") if row["p"] <= 400]
    disagree = sum((row["accuracy_1"] == 1) != (row["wobble_rad"] < np.pi / row["p"]) for row in rows)
    wobbles = {row["n"]: row["wobble_rad"] for row in rows if row["n"] % 2 and 5 <= row["n"] <= 15}
    exponent, constant = np.polyfit(np.log(list(wobbles)), np.log(list(wobbles.values())), 1)
    factor = data.margin["factor_1"]
    return {
        "a": Fact(disagree == 0),
        "b": Fact(abs(exponent + 3) <= data.margin["exponent_1"]),
        "c": Fact(1 / factor <= np.exp(constant) / 3 <= factor),
    }
