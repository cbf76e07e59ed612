"""Study 001 on trainings, by the words of its claims.yaml. The unit is the training seed."""

import math

from tests.numerics.second_opinion.crossing import Curve, lead_changes
from tests.numerics.second_opinion.mixers_curves import HELD_OUT, TRAINED, compared, model
from tests.numerics.second_opinion.numbers import Best, Fact, Part, above, below, each, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import Measured, by_seed, minus, number


@claim("001-4", scale="long")
def half_the_width(data: Measured) -> dict[str, Part]:
    leads = compared(model(data, "llama-16", d_model=32), model(data, "expanded"), "seconds")
    return {"c": above(leads, data.margin["loss_nats"])}


@claim("001-5", scale="long")
def best_llama(data: Measured) -> dict[str, Part]:
    llamas = {width: model(data, "llama-16", d_model=width) for width in (32, 64, 128)}
    unit = data.margin["long_unit_steps"] * llamas[64].seconds
    losses = {width: one.at("seconds", unit) for width, one in llamas.items()}
    return {"b": each(above(minus(losses[other], losses[64]), data.margin["loss_nats"]) for other in (32, 128))}


@claim("001-6", scale="long")
def flat_and_llama(data: Measured) -> dict[str, Part]:
    llamas = {width: model(data, "llama-16", d_model=width) for width in (32, 64, 128)}
    unit = data.margin["long_unit_steps"] * llamas[64].seconds
    flat = {width: model(data, "flat", d_model=width, n_blocks=2).at("seconds", unit) for width in (32, 64, 128, 256)}
    losses, margin, level = [one.at("seconds", unit) for one in llamas.values()], data.margin["loss_nats"], 1 - 0.05 / 4
    tried = [each(above(minus(llama, one), margin, level=level) for llama in losses) for one in flat.values()]
    return {
        "b": Best(max(tried, key=lambda one: one.weakest.ends(level)[0]), tuple(tried)),
        "c": each(above(minus(flat[other], flat[128]), margin) for other in (32, 256)),
    }


@claim("001-7")
def flat_and_expanded(data: Measured) -> dict[str, Part]:
    leads, base = [], model(data, "expanded").runs
    depth = next(iter(base.values()))[0]["n_blocks"]
    rows = data.rows("learning_curve", variant="expanded", part="training", padding="right", n_blocks=depth)
    for width in sorted({row["d_model"] for row in rows}):
        expanded, flat = (model(data, name, d_model=width, n_blocks=depth) for name in ("expanded", "flat"))
        leads.append(above(compared(expanded, flat, "seconds"), data.margin["loss_nats"]))
    return {"a": each(leads)}


@claim("001-8")
def equal_samples(data: Measured) -> dict[str, Part]:
    return {"a": above(compared(model(data, "expanded"), model(data, "flat"), "step"), data.margin["loss_nats"])}


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
    losses, mixer = [one.at("seconds", amount) for one in gpts], flat.at("seconds", amount)
    return {"a": each(above(minus(gpt, mixer), data.margin["gap_nats"]) for gpt in losses)}


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
    repeated = {name: by_seed(rows, "repeated_1") for name, rows in kept.items()}
    away = {
        name: by_seed([row | {"away": abs(row["names_kept_1"] - row["true_names_kept_1"])} for row in rows], "away")
        for name, rows in kept.items()
    }
    conditions = {"supports": alike, "refutes": alike}
    return {
        "a": above(minus(away["llama-4"], away["flat"]), data.margin["share_1"], **conditions),
        "b": above(minus(repeated["llama-4"], repeated["flat"]), data.margin["share_1"], **conditions),
    }


@claim("001-own-12")
def lead_changes_hands(data: Measured) -> dict[str, Part]:
    curves: list[dict[int, Curve]] = [{}, {}]
    for curve, name in zip(curves, ("flat", "llama-4"), strict=True):
        for row in data.rows("learning_curve", variant=name, size="base", padding="right", part="training"):
            if row["step"] > 0 and not math.isnan(number(row[HELD_OUT])):
                loss = math.nan if row["diverged"] else float(row[HELD_OUT])
                curve.setdefault(row["seed"], []).append((float(row["flops"]), loss))
    first, second = ({seed: sorted(points) for seed, points in curve.items()} for curve in curves)
    return {"": lead_changes(first, second, data.margin["loss_nats"], data.margin["interval_factor_1"])}
