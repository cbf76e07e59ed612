"""Study 002's ablations, sweeps and grid: the rules of claims.yaml on curves whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp.judging.rules import NotPlannedError
from allmlp.studies.copying import convergence
from allmlp.studies.copying.measures.costs import operations
from allmlp.studies.copying.measures.exact_forms import exact_forms
from allmlp.studies.copying.measures.strings import SHARES, falls, iterations_to_99, learning_curve, rises
from allmlp.studies.shared.curve_statistics import first_step_below
from tests import judging
from tests.unit.known_copying import HEIGHT, STEPS, ablations, curves, fall, grid, sweep, trained


def judged(claim: str, tables: dict[str, pd.DataFrame]):
    return judging.judged(claim, models=["causal-rn", "transformer"], **tables)


def with_jump(loss: np.ndarray, nats: float = 1.0, steps: int = 3) -> np.ndarray:
    """A loss that is learned, rises for a few steps and is low again."""
    jumped = loss.copy()
    jumped[350 : 350 + steps] += nats
    return jumped


def stability(published: list[np.ndarray], without: list[np.ndarray]):
    return judged("002-1", {"rises": ablations(rises, {"published": published, "no-post-norm": without})})


LEARNED = curves(100)
UNFINISHED = [loss[:STEPS] + 0.02 for loss in LEARNED]  # never at 0.01 nats
JUMPS = [with_jump(loss) for loss in LEARNED]
STOPPED = [loss[:150] for loss in LEARNED]  # diverged


@pytest.mark.parametrize(
    ("published", "without", "expected"),
    [
        (LEARNED, JUMPS, "reproduced"),
        (LEARNED, STOPPED, "reproduced"),  # a run that diverged is unstable
        (JUMPS, LEARNED, "contradicted"),
        (LEARNED, JUMPS[:4] + LEARNED[4:], "undecided"),  # 4 of 6, as a coin might fall
        (JUMPS, JUMPS, "undecided"),
        (LEARNED, [with_jump(loss, 0.4) for loss in LEARNED], "undecided"),  # noise; six seeds do not prove the absence
        (LEARNED, JUMPS[:4] + UNFINISHED[4:], "undecided"),
        (UNFINISHED, JUMPS, "undecided"),
    ],
)
def test_stability_is_a_matter_of_jumps_after_learning(published, without, expected):
    assert stability(published, without).verdict == expected


def test_without_any_jump_in_many_seeds_the_norm_changes_nothing():
    rows = ablations(rises, {"published": LEARNED, "no-post-norm": LEARNED})
    many = pd.concat([rows.assign(seed=rows["seed"] + 6 * times) for times in range(3)], ignore_index=True)
    assert judged("002-1", {"rises": many}).verdict == "contradicted"


def test_seeds_that_never_learned_are_counted():
    assert "2 of 6 seeds had a run that never learned" in stability(LEARNED, JUMPS[:4] + UNFINISHED[4:]).text


def test_a_jump_between_the_rows_that_a_curve_keeps_is_found():
    loss = np.append(fall(150), np.full(6000, 1e-4))
    thinned = learning_curve(trained(loss, len(loss)))
    lost = next(step for step in range(2000, 6000) if step not in set(thinned["step"]))
    loss[lost] = 2.0
    row = rises(trained(loss, len(loss))).iloc[0]
    assert learning_curve(trained(loss, len(loss)))["loss_nats"].iloc[1000:].max() < 0.01
    assert (row["rise_nats"], row["rise_step"]) == (pytest.approx(2.0, abs=1e-3), lost)
    assert row["learned"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([0.001, 0.005, 0.02, 0.7, 3.0, float("nan")]), min_size=1, max_size=30))
def test_the_largest_rise_is_the_largest_of_all_pairs_after_learning(losses):
    loss = np.array(losses)
    found = convergence.largest_rise(np.arange(len(loss)), loss)
    learned = next((step for step, value in enumerate(losses) if value <= convergence.LEARNED_NATS), None)
    if learned is None:
        assert found is None
        return
    pairs = [b - a for first, a in enumerate(losses[learned:]) for b in losses[learned + first :]]
    assert found.learned == learned
    assert found.nats == pytest.approx(np.nanmax(pairs))
    assert loss[found.step] - np.nanmin(loss[learned : found.step + 1]) == pytest.approx(found.nats)


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
    for elu in (curves(250, 400), curves(9999)):  # ReLU decides alone; a budget understates ELU, which needs no more
        alike = {"published": curves(100), "relu": curves(104), "elu": elu}
        assert judging.parts(judged("002-3", {"falls": ablations(falls, alike)})) == ["below margin", "contradicted"]
    never = {"published": curves(380), "relu": curves(9999), "elu": curves(9999)}
    found = judged("002-3", {"falls": ablations(falls, never)})
    assert judging.parts(found) == ["undecided", "undecided"], "budgets understate both"
    assert "not below margin: ELU is censored" in found.parts[0].text


def test_an_ablation_that_is_not_planned_is_named():
    rows = ablations(iterations_to_99, {"published": curves(100), "approximate-pre-norm": curves(200)})
    with pytest.raises(NotPlannedError, match="needs the ablations no-pre-norm"):
        judged("002-2", {"iterations_to_99": rows})
    with pytest.raises(NotPlannedError, match="needs runs of ablation"):
        judged("002-2", {"iterations_to_99": rows[rows["part"] == "comparison"]})


def test_falls_are_those_of_the_curve_and_censored_at_the_budget():
    row = falls(trained(fall(150))).iloc[0]
    for name, share in SHARES.items():
        assert row[name] == first_step_below(np.arange(STEPS), fall(150), share * HEIGHT)
    assert row["fell"]
    assert row["fell_to_half"]
    never = falls(trained(fall(9999))).iloc[0]
    assert not never[["fell", "fell_to_half", "reached", "perfect"]].any()
    assert never["to_half_steps"] == never["iterations"] == STEPS


@pytest.mark.parametrize(
    ("leads", "expected"),
    [
        ([0.5, -0.5], ["reproduced", "reproduced"]),
        ([0.5, 0.6], ["reproduced", "contradicted"]),
        ([0.0, -0.05], ["below margin", "contradicted"]),
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
    rows = exact_forms()
    assert (rows["difference_1"] < 1e-10).all()
    assert judged("002-6", {"exact_forms": rows}).verdict == "reproduced"
    assert judged("002-6", {"exact_forms": rows.assign(difference_1=1e-3)}).verdict == "contradicted"


def test_linear_relations_cost_in_proportion_to_length_and_quadratic_ones_do_not():
    rows = operations().assign(run="r")
    tables = {"exact_forms": exact_forms(), "operations": rows}
    assert judged("002-11", tables).verdict == "reproduced"
    quadratic = {**tables, "operations": rows[rows["model"] == "causal-rn"].assign(model="linear-causal-rn")}
    assert [part.verdict for part in judged("002-11", quadratic).parts][1:] == ["contradicted", "contradicted"]
