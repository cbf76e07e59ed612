"""Both implementations on made-up measurements, so that the second one holds whatever the runs to come will give."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allmlp.judging import judge
from allmlp.studies.copying.measures.strings import learning_curve
from tests import judging
from tests.numerics.second_opinion import comparing
from tests.numerics.second_opinion.stored import Measured
from tests.unit import known_copying, known_crossover, known_triangular, made_up_curves
from tests.unit.known_copying import fall, trained

Tables = dict[str, pd.DataFrame]
REPRODUCED, BELOW, CONTRADICTED, UNDECIDED = "reproduced", "below margin", "contradicted", "undecided"


def both(claim: str, tables: Tables, **options: Any) -> tuple[comparing.Entry, list[str]]:
    """The claim's entry by the project's rule, before Holm's correction, and what the second implementation says
    differently."""
    finding = judging.judged(claim, **tables, **options)
    entry = {**judge._finding(finding), "id": claim}
    rows = {name: table.to_dict("records") for name, table in tables.items()}
    return entry, comparing.differences(claim, entry, Measured(claim, rows))


def verdicts(entry: comparing.Entry) -> list[str]:
    return [part["verdict"] for part in entry["parts"]] or [entry["verdict"]]


def flat_and_llama(
    lead: float,
    fall: float = 0.3,
    seeds: int = 6,
    spread: float = 0.02,
    diverged: tuple[int, ...] = (),
    again: float = 0.0,
) -> Tables:
    """A flat mixer that leads by `lead` nats at the fewest operations and loses `fall` with each doubling of them; and
    `again`, with a wave of that size in the difference."""
    tables, rng = [], np.random.default_rng(1)
    for name, flops in (("flat", 1000), ("llama-4", 1600)):
        curve = made_up_curves.curve(name, 3.0, flops=flops, seeds=range(seeds), diverged=diverged)
        doublings = np.log2(curve["flops"] / 1600)
        curve["validation_nats"] = 4 - 0.1 * doublings
        if name == "llama-4":
            curve["validation_nats"] += lead - fall * doublings + again * np.sin(2 * doublings)
        own = curve["seed"].map(dict(enumerate(spread * rng.normal(size=seeds))))
        curve["validation_nats"] += own + spread / 4 * rng.normal(size=len(curve))
        tables.append(curve)
    return {"learning_curve": pd.concat(tables, ignore_index=True)}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({"lead": 1.0}, REPRODUCED),
        ({"lead": 1.0, "seeds": 4}, UNDECIDED),
        ({"lead": 1.0, "spread": 0.8}, UNDECIDED),
        ({"lead": 0.01, "fall": 0.001, "spread": 0.001}, CONTRADICTED),
        ({"lead": -1.0, "fall": -0.3}, CONTRADICTED),
        ({"lead": 1.0, "fall": 0.01}, CONTRADICTED),
        ({"lead": 0.6, "fall": 0.2, "again": 1.5}, UNDECIDED),
        ({"lead": 1.0, "diverged": (3,)}, UNDECIDED),
    ],
)
def test_where_the_lead_changes_hands(made: dict[str, Any], expected: str) -> None:
    entry, different = both("001-own-12", flat_and_llama(**made), scale="long")
    assert different == []
    assert entry["verdict"] == expected


def test_a_lead_below_the_margin_at_both_ends_is_below_margin() -> None:
    made = flat_and_llama(0.01, 0.0025, spread=0.0005)
    entry, different = both("001-own-12", made, scale="long")
    assert (different, entry["verdict"]) == ([], BELOW)


LADDERS = [{}, {"llama": 0.1}, {"masked": 0.3, "llama": 0.1}, {"seeds": 3}, {"hybrid": 0.0}, {"hybrid": 0.12}]


@pytest.mark.parametrize("claim", ["all-own-4", "all-own-5"])
@pytest.mark.parametrize("made", LADDERS, ids=str)
@pytest.mark.parametrize("spread", [0.0, 0.05, 0.5])
def test_ladders_of_budgets(claim: str, made: dict[str, Any], spread: float) -> None:
    rows = known_crossover.climbed(**made)
    rows["value"] += spread * np.random.default_rng(5).normal(size=len(rows))
    rows["skill_1"] = 1 - rows["value"] / 6
    _, different = both(claim, {"score": rows.drop(columns="counted_flops"), "cost": rows}, scale="long")
    assert different == []


def rises(jumps: dict[str, list[float | None]]) -> Tables:
    """`rises` of seeds: how far each jumps, None where it diverged, nan where it never learned."""
    rows = [
        {"run": f"{variant}-{seed}", "seed": seed, "variant": variant, "model": "causal-rn", "string_length": 16}
        | {"part": "ablation" if variant == "no-post-norm" else "comparison", "budget": 2000, "learned_steps": 100}
        | {"learned": jump is not None and not np.isnan(jump), "rise_step": 150, "diverged": jump is None}
        | {"rise_nats": np.nan if jump is None else jump}
        for variant, of_seeds in jumps.items()
        for seed, jump in enumerate(of_seeds)
    ]
    return {"rises": pd.DataFrame(rows)}


CALM = [0.01] * 9


@pytest.mark.parametrize(
    ("with_norm", "without", "expected"),
    [
        (CALM, [3.0] * 6 + [0.1] * 3, REPRODUCED),
        (CALM, [3.0, None, 2.0, 1.0, None, 3.0, 0.2, np.nan, 0.1], REPRODUCED),
        ([3.0] * 6 + [0.1] * 3, CALM, CONTRADICTED),
        (CALM + CALM, CALM + CALM, CONTRADICTED),
        (CALM, CALM, UNDECIDED),
        (CALM[:4], [3.0] * 4, UNDECIDED),
        ([np.nan] * 9, CALM, UNDECIDED),
        ([3.0, *CALM[1:]], [0.1, 3.0, 3.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], UNDECIDED),
    ],
)
def test_jumps_with_and_without_the_norm(with_norm: list[Any], without: list[Any], expected: str) -> None:
    entry, different = both("002-1", rises({"published": with_norm, "no-post-norm": without}))
    assert different == []
    assert entry["verdict"] == expected


def test_a_wrong_share_of_jumps_is_noticed() -> None:
    tables = rises({"published": CALM, "no-post-norm": [3.0] * 6 + [0.1] * 3})
    entry, _ = both("002-1", tables)
    data = Measured("002-1", {"rises": tables["rises"].to_dict("records")})
    for key in ("value", "low", "high", "p"):
        wrong = {**entry, key: entry[key] * (1 + 1e-5)}
        assert any(key in line for line in comparing.differences("002-1", wrong, data)), key


def strings(falls: dict[str, tuple[float, float]], lengths: tuple[int, ...], done: dict[int, int]) -> Tables:
    """`learning_curve`: model -> the step at which it falls, and within how many; `done`: steps of seeds that
    diverged."""
    rng, parts = np.random.default_rng(2), []
    for model, (at, width) in falls.items():
        for length in lengths:
            for seed in range(8):
                loss = fall(at + length / 8 + 3 * rng.normal(), width) * (1 + 0.05 * rng.random(known_copying.STEPS))
                rows = learning_curve(trained(loss[: done.get(seed)]))
                label = {"seed": seed, "model": model, "string_length": length, "part": "comparison"}
                parts.append(rows.assign(run=f"{model}-{length}-{seed}", variant="published", **label))
    return {"learning_curve": pd.concat(parts, ignore_index=True)}


@pytest.mark.parametrize(
    ("falls", "expected"),
    [
        ({"causal-rn": (100, 20), "transformer": (103, 20)}, [REPRODUCED] * 3),
        ({"causal-rn": (100, 20), "transformer": (250, 20)}, [REPRODUCED, REPRODUCED, CONTRADICTED]),
        ({"causal-rn": (200, 800), "transformer": (210, 800)}, [CONTRADICTED, CONTRADICTED, REPRODUCED]),
        ({"causal-rn": (100, 20), "transformer": (9999, 20)}, [CONTRADICTED, UNDECIDED, CONTRADICTED]),
    ],
)
@pytest.mark.parametrize("done", [{}, {3: 150}], ids=["whole", "one diverged"])
def test_curves_of_strings(falls: dict[str, tuple[float, float]], expected: list[str], done: dict[int, int]) -> None:
    entry, different = both("002-4", strings(falls, (16, 64), done))
    assert different == []
    assert done or verdicts(entry) == expected


def networks(n: int, scale: float, spread: float, odd: int = 0, rounding: float = 1.0) -> Tables:
    """`error_table` and `accuracy` of n networks with four keys and of `odd` ones with five, or with errors."""
    rng, rows, accuracy = np.random.default_rng(3), [], []
    for seed in range(n + odd):
        own = scale * np.exp(spread * rng.normal())
        for key in range(4 + (seed >= n and seed % 2)):
            one = own * np.exp(spread / 3 * rng.normal(size=4)) * [0.035, 0.0475, 0.15, 0.32]
            rows.append(
                {"seed": seed, "run": f"r{seed}", "part": "seeds", "frequency": key, "weight_share_1": 0.2}
                | {"abs_error_1": one[0], "identity_error_1": one[1], "angle_bound_1": one[2] * rounding}
                | {"total_bound_1": one[2] * rounding + one[3], "naive_bound_1": 0.8489}
            )
        rows.append({**rows[-1], "frequency": 9, "weight_share_1": 0.01, "total_bound_1": 99.0})
        right = 1.0 if seed < n or seed % 2 else 0.99
        accuracy += [{"seed": seed, "run": f"r{seed}", "part": "seeds", "step": s, "accuracy_1": a * right}
                     for s, a in ((0, 0.01), (9, 1.0))]  # fmt: skip
    return {"error_table": pd.DataFrame(rows), "accuracy": pd.DataFrame(accuracy)}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (partial(networks, 12, 1.0, 0.3), [REPRODUCED] * 4),
        (partial(networks, 12, 1.0, 0.3, odd=7), [REPRODUCED] * 4),
        (partial(networks, 12, 5.0, 0.1), [CONTRADICTED] * 4),
        (partial(networks, 12, 0.1, 0.2, odd=2), [CONTRADICTED, CONTRADICTED, CONTRADICTED, REPRODUCED]),
        (partial(networks, 9, 4.0, 1.2), [UNDECIDED] * 4),
        (partial(networks, 7, 1.0, 0.3, odd=5), [UNDECIDED] * 4),
    ],
)
def test_errors_and_bounds_of_networks_that_are_alike(made: Callable[[], Tables], expected: list[str]) -> None:
    entry, different = both("003-5", made())
    assert different == []
    assert verdicts(entry) == expected
    entry, different = both("003-6", made())
    assert different == []
    assert len(entry["parts"]) == 2


def written(*shares: tuple[float, float, float]) -> Tables:
    """`milestones` at 500, 1,000, 2,000 and 10,000 iterations: shares of words, pairs and fours."""
    steps = dict(zip((500, 1000, 2000, 10000), ((*of, 0.05) for of in shares), strict=True))
    return {"milestones": known_triangular.milestones(steps)}


IN_ORDER = written((0.4, 0.2, 0.0), (0.8, 0.4, 0.01), (0.9, 0.7, 0.01), (0.9, 0.7, 0.1))


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (IN_ORDER, [REPRODUCED] * 3 + [UNDECIDED, REPRODUCED]),
        (
            written((0.1, 0.6, 0.1), (0.1, 0.6, 0.1), (0.8, 0.6, 0.1), (0.8, 0.6, 0.1)),
            [CONTRADICTED, REPRODUCED, REPRODUCED, UNDECIDED, CONTRADICTED],
        ),
        (
            written((0.1, 0.1, 0.0), (0.5, 0.1, 0.0), (0.6, 0.1, 0.0), (0.7, 0.1, 0.0)),
            [UNDECIDED, CONTRADICTED, CONTRADICTED, UNDECIDED, UNDECIDED],
        ),
    ],
)
def test_milestones(tables: Tables, expected: list[str]) -> None:
    entry, different = both("004-6", tables)
    assert different == []
    assert verdicts(entry) == expected
    longer = known_triangular.milestones({100_000: (0.9, 0.8, 0.1, 0.3)})
    rows = pd.concat([tables["milestones"], longer], ignore_index=True)
    entry, different = both("004-6", {"milestones": rows}, scale="paper")
    assert (different, verdicts(entry)[3]) == ([], REPRODUCED)
