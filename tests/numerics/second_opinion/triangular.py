"""Study 004, by the words of its claims.yaml. The unit is the training seed."""

import numpy as np

from tests.numerics.second_opinion.numbers import Fact, Part, above, equal
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import BySeed, Measured, by_seed, minus, smallest


def learnt(data: Measured, variant: str, column: str) -> BySeed:
    """seed -> a column of `learning` for one variant of the comparison."""
    return by_seed(data.rows("learning", part="comparison", variant=variant), column)


@claim("004-1")
def parameters(data: Measured) -> dict[str, Part]:
    counts = [row["parameters"] / 1e6 for row in data.rows("parameter_counts")]
    nearest = min(counts, key=lambda count: abs(count - data.paper["parameters_millions"]))
    return {"": Fact(abs(nearest - data.paper["parameters_millions"]) <= data.margin["count_millions"], nearest)}


@claim("004-3")
def discount(data: Measured) -> dict[str, Part]:
    kept, discounted = "one-averaging", "one-discounted"
    losses = minus(learnt(data, kept, "end_nats"), learnt(data, discounted, "end_nats"))
    logs = [{s: np.log2(v) for s, v in learnt(data, name, "step_seconds").items()} for name in (discounted, kept)]
    return {"a": equal(losses, data.margin["loss_nats"]), "b": above(minus(*logs), data.margin["speed_log2"])}


@claim("004-5")
def activations(data: Measured) -> dict[str, Part]:
    others = smallest(*(learnt(data, name, "end_nats") for name in ("leaky-relu", "gelu")))
    return {"": above(minus(others, learnt(data, "two-averaging", "end_nats")), -data.margin["loss_nats"])}


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


@claim("004-own-2")
def head_start(data: Measured) -> dict[str, Part]:
    leads = minus(learnt(data, "two-plain", "early_nats"), learnt(data, "one-averaging", "early_nats"))
    return {"": above(leads, -data.margin["loss_nats"])}
