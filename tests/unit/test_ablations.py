"""Study 002's ablations, sweeps and grid: the rules of claims.yaml on curves whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from allmlp.studies.copying import convergence
from allmlp.studies.copying.measures import exact_forms, falls, iterations_to_99, learning_curve, operations
from allmlp.studies.rules import NotPlannedError
from tests import judging
from tests.unit.known_copying import HEIGHT, STEPS, ablations, curves, fall, grid, sweep, trained


def both(losses: dict[str, list[np.ndarray]]) -> dict[str, pd.DataFrame]:
    return {"learning_curve": ablations(learning_curve, losses), "falls": ablations(falls, losses)}


def judged(claim: str, tables: dict[str, pd.DataFrame]):
    return judging.judged(claim, models=["causal-rn", "transformer"], **tables)


@pytest.mark.parametrize(("noise", "expected"), [(0.5, "reproduced"), (0.0, "contradicted")])
def test_a_noisy_loss_without_the_norm_is_instability(noise, expected):
    late = [loss + noise * np.random.default_rng(seed).random(STEPS) for seed, loss in enumerate(curves(100))]
    assert judged("002-1", both({"published": curves(100), "no-post-norm": late})).verdict == expected


def test_a_diverged_run_counts_as_unstable_with_the_plateau():
    short = [loss[:150] for loss in curves(100)]
    found = judged("002-1", both({"published": curves(100), "no-post-norm": short}))
    assert found.verdict == "reproduced"
    assert found.value == pytest.approx(HEIGHT, abs=0.2)


@pytest.mark.parametrize(("width", "expected"), [(180.0, "reproduced"), (20.0, "contradicted")])
def test_only_a_sudden_fall_of_the_exact_norm_alone_is_its_phase_change(width, expected):
    losses = {"published": curves(100), "approximate-pre-norm": curves(200, 180), "no-pre-norm": curves(200, width)}
    rows = ablations(iterations_to_99, losses)
    assert judged("002-2", {"iterations_to_99": rows}).verdict == expected


NEVER = [loss + 0.0 for loss in curves(9999)]  # still on the plateau when the budget ends
DIVERGED = [loss[:150] for loss in NEVER]


@pytest.mark.parametrize(
    ("none", "expected"), [(NEVER, "undecided"), (DIVERGED, "reproduced"), (curves(200, 180), "reproduced")]
)
def test_a_model_that_has_not_arrived_is_not_one_without_a_phase_change(none, expected):
    losses = {"published": curves(100), "approximate-pre-norm": curves(200, 180), "no-pre-norm": none}
    found = judged("002-2", {"iterations_to_99": ablations(iterations_to_99, losses)})
    assert found.verdict == expected
    assert ("no-pre-norm 6 of 6" in found.text) == (expected == "undecided")


def test_without_the_fall_of_the_exact_norm_there_is_nothing_to_contradict():
    losses = {"published": NEVER, "approximate-pre-norm": curves(200), "no-pre-norm": curves(200)}
    assert judged("002-2", {"iterations_to_99": ablations(iterations_to_99, losses)}).verdict == "undecided"


@pytest.mark.parametrize(
    ("exp", "relu", "expected"),
    [
        (curves(100), curves(200, 400), "reproduced"),
        (curves(100), NEVER, "undecided"),  # its fall may still come, as sharp as the other's
        (curves(100), DIVERGED, "reproduced"),
        (NEVER, curves(200), "undecided"),
        (curves(100), curves(200), "contradicted"),
    ],
)
def test_sharpness_waits_for_the_fall(exp, relu, expected):
    found = judged("002-3", {"falls": ablations(falls, {"published": exp, "relu": relu, "elu": curves(200, 400)})})
    assert found.parts[1].verdict == expected


def test_activations_are_judged_by_speed_and_by_sharpness():
    slow = {"published": curves(100), "relu": curves(200, 400), "elu": curves(220, 400)}
    assert judged("002-3", {"falls": ablations(falls, slow)}).verdict == "reproduced"
    alike = {"published": curves(100), "relu": curves(104), "elu": curves(250, 400)}
    assert judged("002-3", {"falls": ablations(falls, alike)}).verdict == "contradicted"
    never = {"published": curves(100), "relu": curves(104), "elu": curves(9999)}
    assert judged("002-3", {"falls": ablations(falls, never)}).verdict == "undecided"  # its budget understates ELU


def test_an_ablation_that_is_not_planned_is_named():
    rows = ablations(iterations_to_99, {"published": curves(100), "approximate-pre-norm": curves(200)})
    with pytest.raises(NotPlannedError, match="needs the ablations no-pre-norm"):
        judged("002-2", {"iterations_to_99": rows})
    with pytest.raises(NotPlannedError, match="needs runs of ablation"):
        judged("002-2", {"iterations_to_99": rows[rows["part"] == "comparison"]})


def test_falls_are_those_of_the_curve_and_censored_at_the_budget():
    row = falls.measure(trained(fall(150))).iloc[0]
    for name, share in falls.SHARES.items():
        assert row[name] == convergence.fell_to(np.arange(STEPS), fall(150), share * HEIGHT)
    assert row["fell"]
    assert row["fell_to_half"]
    never = falls.measure(trained(fall(9999))).iloc[0]
    assert not never[["fell", "fell_to_half", "reached", "perfect"]].any()
    assert never["to_half_steps"] == never["iterations"] == STEPS


@pytest.mark.parametrize(
    ("leads", "expected"),
    [
        ([0.5, -0.5], ["reproduced", "reproduced"]),
        ([0.5, 0.6], ["reproduced", "contradicted"]),
        ([0.0, -0.05], ["contradicted", "contradicted"]),
    ],
)
def test_a_lead_somewhere_is_found_in_its_cell(leads, expected):
    assert [part.verdict for part in judged("002-own-1", {"falls": grid(leads)}).parts] == expected


def test_a_censored_run_decides_nothing_in_its_own_favour():
    rows = grid([0.5, -0.5])
    rows.loc[(rows["model"] == "causal-rn") & (rows["d_model"] == 32) & (rows["seed"] == 0), "reached"] = False
    assert judged("002-own-1", {"falls": rows}).parts[0].verdict == "undecided"


@pytest.mark.parametrize(("factor", "expected"), [(1.0, "reproduced"), (4.0, "contradicted")])
def test_operations_weigh_iterations_by_what_a_step_costs(factor, expected):
    rows = grid([0.5]).assign(part="comparison")
    of_causal_rn = rows["model"] == "causal-rn"
    cost = rows[["run"]].assign(counted_flops=np.where(of_causal_rn, factor, 1.0) * 1e9, steps_done=1000)
    assert judged("002-own-4", {"falls": rows, "cost": cost}).verdict == expected


def test_the_sweep_finds_the_best_rate_and_number_of_heads():
    counts = pd.DataFrame(
        {"model": ["causal-rn", "transformer"], "blocks_and_head": [1337280, 5325504], "seed": [0, 0]}
    )
    found = judged("002-10", {"falls": sweep(1e-3, 1), "parameter_counts": counts})
    verdict = {part.name[:3]: part.verdict for part in found.parts}
    assert verdict == {"(a)": "reproduced", "(b)": "reproduced", "(c)": "contradicted", "(d)": "reproduced"}
    lost = sweep(1e-3, 1)
    lost.loc[(lost["part"] == "comparison") & (lost["seed"] == 0), "perfect"] = False
    assert judged("002-10", {"falls": lost, "parameter_counts": counts}).parts[1].verdict == "undecided"
    other = judged("002-10", {"falls": sweep(5e-4, 4), "parameter_counts": counts.assign(blocks_and_head=1)})
    assert other.parts[0].verdict == "contradicted"


def test_the_exact_forms_are_exact_and_a_wrong_scale_would_show():
    rows = exact_forms.measure()
    assert (rows["difference_1"] < 1e-10).all()
    assert judged("002-6", {"exact_forms": rows}).verdict == "reproduced"
    assert judged("002-6", {"exact_forms": rows.assign(difference_1=1e-3)}).verdict == "contradicted"


def test_linear_relations_cost_in_proportion_to_length_and_quadratic_ones_do_not():
    rows = operations.measure().assign(run="r")
    tables = {"exact_forms": exact_forms.measure(), "operations": rows}
    assert judged("002-11", tables).verdict == "reproduced"
    quadratic = {**tables, "operations": rows[rows["model"] == "causal-rn"].assign(model="linear-causal-rn")}
    assert [part.verdict for part in judged("002-11", quadratic).parts][1:] == ["contradicted", "contradicted"]
