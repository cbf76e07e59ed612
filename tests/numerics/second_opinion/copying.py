"""Study 002, by the words of its claims.yaml. The unit is the training seed."""

import math
from collections.abc import Iterable

import numpy as np

from tests.numerics.second_opinion.numbers import Best, Fact, Number, Part, Share, above, below, each, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import (
    BySeed,
    Measured,
    Row,
    by_seed,
    grouped,
    last,
    minus,
    number,
    values,
)


def or_budget(row: Row, column: str) -> float:
    """A number of steps; a run that does not get there counts with its budget."""
    return float(row["budget"]) if row[column] is None or math.isnan(row[column]) else float(row[column])


def log_ratios(first: BySeed, second: BySeed) -> BySeed:
    """log2 of first over second, by seed."""
    return {seed: math.log2(first[seed] / second[seed]) for seed in first.keys() & second.keys()}


def mean_over(of_lengths: Iterable[BySeed]) -> np.ndarray:
    """Per seed the mean over string lengths, for the seeds that all lengths have."""
    found = list(of_lengths)
    seeds = set.intersection(*map(set, found))
    return values({seed: float(np.mean([of[seed] for of in found])) for seed in seeds})


@claim("002-1")
def stability(data: Measured) -> dict[str, Part]:
    without = data.rows("rises", part="ablation", variant="no-post-norm")
    seeds, lengths = ({row[key] for row in without} for key in ("seed", "string_length"))
    published = [
        row
        for row in data.rows("rises", part="comparison", model="causal-rn")
        if row["seed"] in seeds and row["string_length"] in lengths
    ]
    rows = without + published + data.rows("rises", part="stability")
    jumps: dict[str, dict[int, bool]] = {"published": {}, "no-post-norm": {}}
    for row in rows:
        if row["diverged"] or row["learned"]:
            jumps[row["variant"]][row["seed"]] = row["diverged"] or row["rise_nats"] > data.margin["jump_nats"]
    with_norm, alone = jumps["published"], jumps["no-post-norm"]
    both = sorted(with_norm.keys() & alone.keys())
    differ = np.array([float(with_norm[seed]) for seed in both if with_norm[seed] != alone[seed]])
    prevented = sum(alone[seed] and not with_norm[seed] for seed in both)
    return {"": Share(differ, 0.5, (prevented, len(both)), small=data.margin["prevented_share_1"])}


@claim("002-2")
def phase_change(data: Measured) -> dict[str, Part]:
    rows = {
        variant: data.rows("iterations_to_99", part="ablation", variant=variant)
        for variant in ("approximate-pre-norm", "no-pre-norm")
    }
    (length,) = {row["string_length"] for of in rows.values() for row in of}
    exact = data.rows("iterations_to_99", part="comparison", model="causal-rn", string_length=length)
    falls = [by_seed(of, "fall_nats") for of in rows.values()]
    arrived = all(row["reached"] or row["diverged"] for of in rows.values() for row in of)
    itself = all(row["reached"] or row["diverged"] for row in exact)
    leads, may = [minus(by_seed(exact, "fall_nats"), of) for of in falls], {"supports": arrived, "refutes": itself}
    return {"": each(above(lead, data.margin["fall_nats"], **may) for lead in leads)}


@claim("002-3")
def activations(data: Measured) -> dict[str, Part]:
    (length,) = {row["string_length"] for row in data.rows("falls", part="ablation")}
    rows = {
        "exp": data.rows("falls", part="comparison", model="causal-rn", string_length=length),
        "relu": data.rows("falls", part="ablation", variant="relu"),
        "elu": data.rows("falls", part="ablation", variant="elu"),
    }
    half = {name: {row["seed"]: or_budget(row, "to_half_steps") for row in of} for name, of in rows.items()}
    sharp = {
        name: {
            row["seed"]: (or_budget(row, "to_10_steps") - or_budget(row, "to_90_steps")) / or_budget(row, "to_90_steps")
            for row in of
        }
        for name, of in rows.items()
    }
    slower, slow = ([*map(lambda name: log_ratios(of[name], of["exp"]), ("relu", "elu"))] for of in (half, sharp))  # noqa: C417
    fell = all(row["fell"] or row["diverged"] for name in ("relu", "elu") for row in rows[name])
    return {
        "a": each(above(values(one), data.margin["speed_log2"]) for one in slower),
        "b": each(above(values(one), data.margin["sharpness_log2"], supports=fell) for one in slow),
    }


def first_below(steps: list[int], losses: list[float], level: float) -> int | None:
    """The first step where the median of the last five kept losses is below a level."""
    for row in range(4, len(steps)):
        if sorted(losses[row - 4 : row + 1])[2] < level:
            return steps[row]
    return None


def mean_of_steps(steps: list[int], losses: list[float], first: int, last_one: int) -> float:
    """Of a curve that is straight between its kept rows, each step counted once."""
    return float(np.mean(np.interp(range(first, last_one + 1), steps, losses)))


@claim("002-4")
def similar_curves(data: Measured) -> dict[str, Part]:
    numbers: dict[str, dict[int, list[float]]] = {}
    rows = data.rows("learning_curve", part="comparison", model=("causal-rn", "transformer"))
    for length, of_length in grouped(rows, "string_length").items():
        plateau = length * math.log(26) / (length + 1)
        steps = sorted({row["step"] for row in of_length})
        budget = steps[-1] + 1
        twentieth = max(1, round(budget / 20))
        for seed, of_seed in grouped(of_length, "seed").items():
            pair = []
            for of_model in grouped(of_seed, "model").values():
                losses = {row["step"]: number(row["loss_nats"]) for row in of_model}
                curve = [losses.get(step, math.nan) for step in steps]  # the steps that a diverged run lacks count
                pair.append([plateau if math.isnan(loss) else loss for loss in curve])  # with the plateau
            falls = [[first_below(steps, curve, share * plateau) for share in (0.9, 0.1)] for curve in pair]
            ends = [mean_of_steps(steps, curve, budget - twentieth, budget - 1) for curve in pair]
            sharp = [(low - high if low else budget) / (high or budget) for high, low in falls]
            last_one = min(steps[-1], 2 * max(low if low else budget for _, low in falls))
            apart = [abs(one - other) for one, other in zip(*pair, strict=True)]
            found = (*ends, *sharp, mean_of_steps(steps, apart, steps[0], last_one) / plateau)
            for name, one in zip(("a1", "a2", "b1", "b2", "c"), found, strict=True):
                numbers.setdefault(name, {}).setdefault(seed, []).append(one)
    means = {name: values({seed: float(np.mean(of)) for seed, of in found.items()}) for name, found in numbers.items()}
    margin = data.margin
    return {
        "a": each(below(means[name], margin["end_loss_nats"]) for name in ("a1", "a2")),
        "b": each(below(means[name], margin["sharpness_1"]) for name in ("b1", "b2")),
        "c": below(means["c"], margin["gap_1"]),
    }


@claim("002-5")
def iterations(data: Measured) -> dict[str, Part]:
    rows = data.rows("iterations_to_99", part="comparison")
    steps = {
        key: {row["seed"]: float(row["iterations"] if row["reached"] else row["budget"]) for row in of}
        for key, of in grouped(rows, "model", "string_length").items()
    }
    reached = {model: all(row["reached"] for row in of) for model, of in grouped(rows, "model").items()}
    pairs = (
        ("a", "transformer", "causal-rn"),
        ("b", "linear-transformer", "transformer"),
        ("c", "linear-causal-rn", "causal-rn"),
    )
    lengths = sorted({row["string_length"] for row in rows})
    return {
        letter: above(
            mean_over(log_ratios(steps[slow, n], steps[fast, n]) for n in lengths),
            data.margin["speed_log2"],
            supports=reached[fast],
            refutes=reached[slow],
        )
        for letter, slow, fast in pairs
    }


@claim("002-6")
def stable_forms(data: Measured) -> dict[str, Part]:
    worst = max(row["difference_1"] for row in data.rows("exact_forms") if row["form"].startswith("stable"))
    return {"": Fact(worst <= data.margin["difference_1"], worst)}


@claim("002-10")
def counts(data: Measured) -> dict[str, Part]:
    millions = {row["model"]: row["blocks_and_head"] / 1e6 for row in data.rows("parameter_counts")}
    printed = {
        model: data.paper[f"{model.replace('-', '_')}_parameters_millions"] for model in ("causal-rn", "transformer")
    }
    most = data.margin["count_millions"]
    right = all(abs(millions[model] - count) <= most for model, count in printed.items())
    perfect = all(row["perfect"] for row in data.rows("falls", part="comparison", model=tuple(printed)))
    names, speed = {"causal-rn": "causal_rn", "transformer": "transformer"}, data.margin["speed_log2"]
    sweep = {model: data.rows("falls", part="sweep", model=model) for model in names}
    rates = [
        claimed_best(sweep[model], "learning_rate", data.paper[f"best_rate_{name}_1"], speed)
        for model, name in names.items()
    ]
    several = data.rows("falls", part="heads")
    same_rate = {row["learning_rate"] for row in several}
    alone = [row for row in sweep["transformer"] if row["learning_rate"] in same_rate]
    return {
        "a": Fact(right),
        "b": Fact(perfect),
        "c": each(number for of in rates for number in of),
        "d": each(claimed_best([*alone, *several], "n_heads", data.paper["best_heads_count"], speed)),
    }


def claimed_best(rows: list[Row], by: str, claimed: float, most: float) -> list[Number]:
    """Log2 of the steps of one value over those of each other one: below `most`."""
    steps = {
        value: {row["seed"]: math.log2(max(1.0, row["to_half_steps"])) for row in of}
        for value, of in grouped(rows, by).items()
    }
    reached = all(row["fell_to_half"] for row in rows if row[by] == claimed)
    others = (minus(steps[claimed], steps[value]) for value in steps if value != claimed)
    return [below(other, most, supports=reached) for other in others]


@claim("002-11")
def linear_time(data: Measured) -> dict[str, Part]:
    worst = max(row["difference_1"] for row in data.rows("exact_forms") if row["form"].startswith("factorised"))
    rows, most = data.rows("operations", model="linear-causal-rn"), data.margin["exponent_1"]
    lengths = np.log([row["length"] for row in rows])
    training, generation = (np.polyfit(lengths, np.log([r[k] for r in rows]), 1)[0] for k in ("training", "generation"))
    return {
        "a": Fact(worst <= data.margin["difference_1"]),
        "b": Fact(abs(training - 1) <= most),
        "c": Fact(abs(generation) <= most),
    }


@claim("002-own-1")
def faster_somewhere(data: Measured) -> dict[str, Part]:
    cells = grouped(data.rows("falls", part="grid"), "d_model", "n_blocks", "learning_rate")
    level, limit = 1 - 0.05 / len(cells), data.margin["speed_log2"]
    found: dict[str, Part] = {}
    for letter, fast, slow in (("a", "causal-rn", "transformer"), ("b", "transformer", "causal-rn")):
        tried = []
        for rows in cells.values():
            of = grouped(rows, "model")
            steps = {model: {row["seed"]: or_budget(row, "iterations") for row in some} for model, some in of.items()}
            reached = {model: all(row["reached"] for row in some) for model, some in of.items()}
            lead = values(log_ratios(steps[slow], steps[fast]))
            tried.append(above(lead, limit, level=level, supports=reached[fast], refutes=reached[slow]))
        found[letter] = Best(max(tried, key=lambda one: one.ends(level)[0]), tuple(tried))
    return found


LINEAR_TEXT, TEXT = "linear-causal-rn", ("transformer", "linear-transformer")


@claim("002-7", "002-own-2", "002-own-5")
def texts(data: Measured) -> dict[str, Part]:
    bits = {model: last(of) for model, of in grouped(data.rows("text_curve"), "model").items()}
    ends = {
        model: {row["seed"]: row["validation_bits_per_byte"] * math.log(2) for row in of} for model, of in bits.items()
    }
    return {"": each(equal(minus(ends[LINEAR_TEXT], ends[other]), data.margin["loss_nats"]) for other in TEXT)}


LINEAR_IMAGES, IMAGES = "linear-birn", ("transformer-classifier", "linear-transformer-classifier")


@claim("002-8", "002-own-3", "002-own-6")
def images(data: Measured) -> dict[str, Part]:
    ends = {model: last(of) for model, of in grouped(data.rows("image_curve"), "model").items()}
    found: dict[str, Part] = {}
    columns = ("test_nats", data.margin["loss_nats"]), ("test_accuracy_1", data.margin["accuracy_1"])
    for letter, (column, margin) in zip("ab", columns, strict=True):
        of = {model: by_seed(rows, column) for model, rows in ends.items()}
        found[letter] = each(equal(minus(of[LINEAR_IMAGES], of[other]), margin) for other in IMAGES)
        if "birn" in of:
            found[{"a": "c", "b": "d"}[letter]] = equal(minus(of["birn"], of[LINEAR_IMAGES]), margin)
    return found


@claim("002-own-4")
def operations(data: Measured) -> dict[str, Part]:
    per_step = {row["run"]: row["counted_flops"] / row["steps_done"] for row in data.rows("cost", part="comparison")}
    rows = data.rows("falls", part="comparison", model=("causal-rn", "transformer"))
    spent = {
        key: {
            row["seed"]: per_step[row["run"]] * float(row["iterations"] if row["reached"] else row["budget"])
            for row in of
        }
        for key, of in grouped(rows, "model", "string_length").items()
    }
    reached = {model: all(row["reached"] for row in of) for model, of in grouped(rows, "model").items()}
    lengths = sorted({row["string_length"] for row in rows})
    ratios = mean_over(log_ratios(spent["transformer", n], spent["causal-rn", n]) for n in lengths)
    limits = {"supports": reached["causal-rn"], "refutes": reached["transformer"]}
    return {"": above(ratios, data.margin["cost_log2"], **limits)}
