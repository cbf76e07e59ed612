"""Study 002's slice: how curves fall and arrive, censored runs, the rules of claims.yaml, stable figures."""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp.judging.rules import NotPlannedError
from allmlp.measurements import search_losses
from allmlp.studies.copying import convergence
from allmlp.studies.copying.measures.strings import MOST_ROWS, iterations_to_99, learning_curve
from allmlp.studies.shared.curve_statistics import first_step_below
from tests import exhibits, judging
from tests.unit.known_copying import STEPS, STRINGS, fall, strings, tables, trained


def judged(claim: str, rows: pd.DataFrame, planned: Iterable[str] = STRINGS) -> list[str]:
    return judging.parts(judging.judged(claim, models=list(planned), learning_curve=rows, iterations_to_99=rows))


@pytest.mark.parametrize("measure", [learning_curve, iterations_to_99])
def test_a_measure_gives_the_same_twice(measure):
    rows = measure(trained(fall(100)))
    pd.testing.assert_frame_equal(rows, measure(trained(fall(100))))


def test_the_first_batch_at_99_percent_counts_and_none_is_none():
    accuracy = np.array([0.1, 0.5, 0.98999, 0.99, 0.4, 1.0])
    assert search_losses.first_step_at_level(np.arange(10, 16), accuracy) == 13
    assert search_losses.first_step_at_level(np.arange(3), np.array([0.1, np.nan, 0.98])) is None


def test_a_run_that_never_arrives_is_censored_at_its_budget():
    arrived, censored = (iterations_to_99(trained(fall(at))).iloc[0] for at in (100, 9999))
    assert arrived["reached"]
    assert arrived["iterations"] == np.flatnonzero(trained(fall(100)).log["token_accuracy"] >= 0.99)[0]
    assert not censored["reached"]
    assert (censored["iterations"], censored["budget"]) == (STEPS, STEPS)


@pytest.mark.parametrize("done", [0, 1, 30])
def test_a_diverged_run_is_censored_too_even_if_it_has_no_log(done):
    row = iterations_to_99(trained(fall(100)[:done])).iloc[0]
    assert row["diverged"]
    assert not row["reached"]
    assert row["iterations"] == STEPS
    assert len(learning_curve(trained(fall(100)[:done]))) == done


def test_a_long_curve_is_thinned_the_same_way_each_time():
    rows = learning_curve(trained(fall(100, steps=9000), 9000))
    assert len(rows) <= MOST_ROWS
    assert rows["step"].iloc[[0, -1]].tolist() == [0, 8999]
    assert rows["step"].is_monotonic_increasing
    assert (rows["step"].diff().dropna() > 0).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 9), min_size=1, max_size=40), st.integers(1, 12))
def test_the_largest_fall_is_the_largest_of_all_pairs(losses, within):
    pairs = [(losses[t] - later, t) for t in range(len(losses)) for later in losses[t : t + within + 1]]
    found = convergence.largest_fall(np.arange(len(losses)), np.array(losses), within)
    assert found.nats == pytest.approx(max(pairs)[0])
    assert found.nats == 0 or (found.nats, found.step) in pairs


def test_a_fall_is_found_where_it_is_whatever_is_missing_around_it():
    loss = np.array([3.0, np.nan, 3.0, 3.0, 0.5, np.inf, 0.4])
    assert convergence.largest_fall(np.arange(7), loss, within=1) == convergence.Fall(2.5, 3)
    assert convergence.largest_fall(np.arange(7) * 10, loss, within=25) == convergence.Fall(2.5, 20)
    with pytest.raises(ValueError, match="a value per rising step"):
        convergence.largest_fall(np.array([0, 0]), np.ones(2))


def test_the_plateau_is_the_loss_of_guessing_letters():
    """Averaged over n letters of probability 1/26 each and one certain EOS."""
    expected = -np.mean([math.log(1 / 26)] * 16 + [math.log(1.0)])
    assert convergence.plateau(16) == pytest.approx(expected)


def test_sharpness_has_the_values_that_its_rule_names():
    steps = np.arange(20000)
    straight, exponential = 1 - steps / 19999, np.exp(-steps / 3000)
    assert convergence.sharpness(steps, straight, 1.0, 20000) == pytest.approx(8, rel=0.01)
    assert convergence.sharpness(steps, exponential, 1.0, 20000) == pytest.approx(21, rel=0.02)
    assert convergence.sharpness(steps[:400], fall(200), convergence.plateau(16), 400) < 0.2


def test_a_curve_that_does_not_fall_is_never_sharp():
    steps = np.arange(STEPS)
    assert convergence.sharpness(steps, np.full(STEPS, 3.0), 3.0, STEPS) == 1.0
    assert convergence.sharpness(steps, np.linspace(3, 1, STEPS), 3.0, STEPS) > 5
    assert first_step_below(steps[:4], np.zeros(4), 1.0) is None


def test_the_gap_is_relative_to_the_plateau_and_ends_after_the_fall():
    steps, height = np.arange(STEPS), convergence.plateau(16)
    later = np.where(steps > 330, 5.0, 0.0)  # beyond twice the later fall, so not seen
    assert convergence.gap(steps, fall(150), fall(150) + later, height) == 0
    until = 2 * first_step_below(steps, fall(150), 0.1 * height)
    expected = np.abs(fall(100) - fall(150))[: until + 1].mean() / height
    assert convergence.gap(steps, fall(100), fall(150), height) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("transformer", "expected"),
    [
        (104, ["reproduced", "reproduced", "reproduced"]),
        (180, ["reproduced", "reproduced", "contradicted"]),
        (9999, ["contradicted", "undecided", "contradicted"]),
    ],
)
def test_similar_curves_are_judged_part_by_part(transformer, expected):
    rows = strings(learning_curve, {"causal-rn": 100, "transformer": transformer, "linear-transformer": 300})
    assert judged("002-4", rows) == expected


def test_a_diverged_seed_counts_with_the_plateau():
    rows = strings(learning_curve, {"causal-rn": 100, "transformer": 104}, done={"transformer": 40})
    assert judged("002-4", rows)[0] == "contradicted"


def test_a_seed_that_diverged_before_its_first_row_counts_with_the_plateau_too():
    rows = strings(learning_curve, {"causal-rn": 100, "transformer": 104})
    rows = rows[(rows["model"] != "transformer") | (rows["seed"] != 0)]
    assert judged("002-4", rows)[0] == "undecided"
    assert judged("002-4", rows[rows["model"] != "transformer"])[0] == "contradicted"


@pytest.mark.parametrize(
    ("claim", "measure", "missing"),
    [
        ("002-4", learning_curve, "transformer"),
        ("002-5", iterations_to_99, "linear-causal-rn"),
        ("002-5", iterations_to_99, "transformer"),
    ],
)
def test_a_model_that_the_plan_leaves_out_is_named(claim, measure, missing):
    models = {model: at for model, at in STRINGS.items() if model != missing}
    with pytest.raises(NotPlannedError, match=f"^needs runs of {missing}, which are not planned$"):
        judged(claim, strings(measure, models), planned=models)


def test_the_order_of_models_is_judged_part_by_part():
    assert judged("002-5", strings(iterations_to_99, lengths=(16, 24))) == [
        "reproduced",
        "reproduced",
        "reproduced",
        "undecided",  # strings of 24 say nothing of strings of 128
    ]
    swapped = {**STRINGS, "causal-rn": 150, "transformer": 100}
    assert judged("002-5", strings(iterations_to_99, swapped))[0] == "contradicted"


def test_censored_runs_never_decide_in_their_own_favour():
    never = {**STRINGS, "causal-rn": 9999, "linear-causal-rn": 9999, "transformer": 100}
    assert judged("002-5", strings(iterations_to_99, never)) == [
        "contradicted",  # CausalRN's budget understates how late it is
        "reproduced",
        "undecided",  # neither arrived
        "undecided",
    ]
    slow = strings(iterations_to_99, {**STRINGS, "transformer": 300, "linear-transformer": 9999})
    slow.loc[slow["model"] == "linear-transformer", ["iterations", "budget"]] = 310
    assert judged("002-5", slow)[1] == "undecided"


@pytest.mark.parametrize(("at", "expected"), [(9999, "reproduced"), (100, "contradicted")])
def test_failure_on_long_strings_is_judged_where_strings_are_long(at, expected):
    rows = strings(iterations_to_99, {**STRINGS, "linear-causal-rn": at}, lengths=(64, 128))
    assert judged("002-5", rows)[3] == expected


def drawn(rows: pd.DataFrame) -> bytes:
    return exhibits.svg(exhibits.figure("copying", "iterations_to_99"), {**tables(), "iterations_to_99": rows})


def test_the_figure_marks_censored_runs_and_the_papers_value_only_where_they_are():
    rows = strings(iterations_to_99, lengths=(64, 128))
    assert b"not within the budget" in drawn(rows)
    assert b"paper: Linear CausalRN" in drawn(rows)
    arrived = drawn(rows[rows["reached"] & (rows["string_length"] == 64)])
    assert b"not within the budget" not in arrived
    assert b"paper: Linear CausalRN" not in arrived


def test_the_table_counts_who_arrived():
    found = exhibits.table("copying", "iterations_to_99", {"iterations_to_99": strings(iterations_to_99)})
    by_model = found.set_index("model")
    assert by_model["reached"].to_dict() == {model: 0 if at > STEPS else 6 for model, at in STRINGS.items()}
    assert by_model.loc["linear-causal-rn", "iterations"] == STEPS
    assert (by_model["iterations_low"] <= by_model["iterations"]).all()
