"""Study 001's budgets: what cannot be compared at equal steps, time or FLOPs is refused, with the runs that differ."""

from types import SimpleNamespace

import numpy as np
import pytest

from allmlp.judging import judge
from allmlp.judging.rules import NotComparableError, NotPlannedError
from allmlp.spec import catalogue
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import deepest_rows, half_width_pair, model_rows, widths
from tests.unit.made_up_curves import SEEDS, curve, noise, table


def models(first: dict, second: dict):
    rows = budgets.curves(table(curve("flat", 2.0, **first), curve("llama-4", 2.0, **second)))
    return model_rows(rows, "flat"), model_rows(rows, "llama-4")


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
@pytest.mark.parametrize(
    ("unit", "longer", "said"),
    [
        ("steps", {"steps": 500}, "at equal steps under .*: flat of size base ends at 400, llama-4 of .* ends at 500"),
        ("seconds", {"seconds": 0.0112}, "at equal time under"),
        ("flops", {"flops": 1200}, "at equal FLOPs under"),
    ],
)
def test_a_learning_rate_that_decays_to_an_end_elsewhere_is_no_finished_one(schedule, unit, longer, said):
    decaying = {"schedule": schedule, "seconds": 0.01}
    flat, llama = models(decaying, {**decaying, **longer})
    with pytest.raises(NotComparableError, match=rf"needs ends within 10% for a comparison {said}"):
        budgets.loss_differences(flat, llama, unit)
    with pytest.raises(NotComparableError, match="needs ends within 10%"):
        budgets.loss_differences(llama, flat, unit)
    constant = models({"seconds": 0.01}, {"seconds": 0.01, **longer})
    assert np.isfinite(budgets.loss_differences(*constant, unit)).all(), (
        "a loss on the way is one where the rate is constant"
    )


@pytest.mark.parametrize("unit", ["steps", "seconds", "flops"])
def test_decaying_runs_whose_ends_lie_close_count_with_their_ends(unit):
    dearer = {"seconds": 0.0108, "flops": 1080}
    flat, llama = models({"schedule": "linear"}, {"schedule": "linear", **dearer})
    assert budgets.loss_differences(llama, flat, unit) == pytest.approx(
        (budgets.ends(llama) - budgets.ends(flat)).to_numpy()
    )
    finished = budgets.loss_at_amount(flat, "steps", 380)
    assert finished.equals(budgets.ends(flat)), "a step shortly before the end stands for it"
    assert (budgets.loss_at_amount(flat, "steps", 300) > finished).all()


def test_equal_steps_of_different_batches_are_no_equal_amount_of_text():
    small, large = models({}, {"batch_size": 8})
    with pytest.raises(NotComparableError, match=r"flat of size base in batches of 16, llama-4 of .* 8$"):
        budgets.loss_differences(small, large, "steps")
    for unit in ("seconds", "flops"):
        assert np.isfinite(budgets.loss_differences(small, large, unit)).all()


def test_a_model_that_diverged_is_not_excused_by_its_early_end():
    decaying = {"schedule": "cosine"}
    flat, llama = models(decaying, {**decaying, "steps": 100, "diverged": tuple(SEEDS)})
    assert np.isnan(budgets.loss_differences(llama, flat, "steps")).all()


def test_a_claim_about_runs_that_are_not_comparable_is_not_run_and_says_why(monkeypatch):
    def refuse(claim, found):
        raise NotComparableError("needs one batch size")

    monkeypatch.setattr(judge, "_judge_at_scale", refuse)
    claim = next(row for row in catalogue.ledger("mixers") if row["id"] == "001-15")
    complete = SimpleNamespace(scale="paper", select_parts=lambda runs: complete, claim_set=lambda claim: complete)
    found = judge.judge_claim("mixers", claim, {"paper": complete})
    assert (found["verdict"], found["text"]) == (judge.NOT_RUN, "needs one batch size at paper")


def test_a_loss_at_a_budget_lies_on_the_curve():
    rows = budgets.curves(curve("flat", 2.0, seconds=0.5, flops=7))
    exact = {seed: 2.0 + noise(seed) + 1e-3 * ((seed + 4) % 3) for seed in SEEDS}
    median = 0.5 * (1 + 2.5 / 50)
    for unit, per_step in (("steps", 1), ("flops", 7), ("seconds", median)):
        at = budgets.loss_at_amount(rows, unit, 200 * per_step)
        assert at.to_dict() == pytest.approx({seed: loss + 0.1 for seed, loss in exact.items()})
        at = budgets.loss_at_amount(rows, unit, 150 * per_step)  # between two tests, in the logarithm of the steps
        assert at.to_dict() == pytest.approx({seed: loss + 0.1 * np.log2(400 / 150) for seed, loss in exact.items()})


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.2, 5.0), (3.0, 0.7)])
def test_a_common_budget_is_what_the_first_to_stop_has_spent(first, second):
    rows = budgets.curves(table(curve("flat", 2.0, seconds=first), curve("llama-4", 2.0, seconds=second)))
    both = [model_rows(rows, name) for name in ("flat", "llama-4")]
    assert budgets.budget(both, "seconds") == pytest.approx(400 * min(first, second) * 1.05)
    assert budgets.budget(both, "steps") == 400


def test_common_steps_are_on_the_way_of_a_longer_decaying_run():
    decaying = {"schedule": "cosine"}
    flat, llama = models(decaying, {**decaying, "steps": 100})
    with pytest.raises(NotComparableError, match="needs ends within"):
        budgets.budget([flat, llama], "steps")
    assert budgets.common_steps([flat, llama]) == 100
    with pytest.raises(NotComparableError, match="one batch size"):
        budgets.common_steps([flat, llama.assign(batch_size=1)])


def test_half_the_speed_costs_a_doubling_of_the_steps():
    rows = budgets.curves(table(curve("flat", 2.0, seconds=1), curve("llama-4", 2.0, seconds=2, flops=4000)))
    flat, llama = model_rows(rows, "flat"), model_rows(rows, "llama-4")
    assert budgets.loss_differences(llama, flat, "seconds").mean() == pytest.approx(0.1, abs=2e-3)
    assert budgets.loss_differences(llama, flat, "flops").mean() == pytest.approx(0.2, abs=2e-3)
    assert budgets.loss_differences(llama, flat, "steps").mean() == pytest.approx(0.0, abs=2e-3)


def test_a_diverged_seed_counts_and_a_decaying_rate_compares_ends():
    rows = budgets.curves(curve("flat", 2.0, diverged=(1,)))
    assert np.isnan(budgets.loss_at_amount(rows, "steps", 100)[1])
    assert np.isnan(budgets.ends(rows)[1])
    decaying = budgets.curves(curve("flat", 2.0, schedule="linear"))
    assert budgets.loss_at_amount(decaying, "seconds", 0.5).equals(budgets.ends(decaying))
    assert (budgets.loss_at_amount(decaying, "steps", 100) > budgets.ends(decaying)).all()


def test_what_is_not_planned_is_named():
    rows = table(curve("flat", 2.0), curve("llama-16", 2.0, size="d32-n2-b16", d_model=32))
    with pytest.raises(NotPlannedError, match="needs expanded of size base"):
        model_rows(rows, "expanded")
    with pytest.raises(NotPlannedError, match="needs a deeper flat"):
        deepest_rows(rows, "flat")
    with pytest.raises(NotPlannedError, match="half the width"):
        half_width_pair(rows, "llama-16", "flat")
    assert sorted(widths(rows, "llama-16")) == [32]
