"""Study 001's budgets: what cannot be compared at equal steps, time or FLOPs is refused, with the runs that differ."""

from types import SimpleNamespace

import numpy as np
import pytest

from allmlp import studies
from allmlp.report import judge
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import of_model
from allmlp.studies.rules import NotComparableError
from tests.unit.made_up_curves import SEEDS, curve, table


def models(first: dict, second: dict):
    rows = budgets.curves(table(curve("flat", 2.0, **first), curve("llama-4", 2.0, **second)))
    return of_model(rows, "flat"), of_model(rows, "llama-4")


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
        budgets.compared(flat, llama, unit)
    with pytest.raises(NotComparableError, match="needs ends within 10%"):
        budgets.compared(llama, flat, unit)
    constant = models({"seconds": 0.01}, {"seconds": 0.01, **longer})
    assert np.isfinite(budgets.compared(*constant, unit)).all(), "a loss on the way is one where the rate is constant"


@pytest.mark.parametrize("unit", ["steps", "seconds", "flops"])
def test_decaying_runs_whose_ends_lie_close_count_with_their_ends(unit):
    dearer = {"seconds": 0.0108, "flops": 1080}
    flat, llama = models({"schedule": "linear"}, {"schedule": "linear", **dearer})
    assert budgets.compared(llama, flat, unit) == pytest.approx((budgets.ends(llama) - budgets.ends(flat)).to_numpy())
    finished = budgets.at(flat, "steps", 380)
    assert finished.equals(budgets.ends(flat)), "a step shortly before the end stands for it"
    assert (budgets.at(flat, "steps", 300) > finished).all()


def test_equal_steps_of_different_batches_are_no_equal_amount_of_text():
    small, large = models({}, {"batch_size": 8})
    with pytest.raises(NotComparableError, match=r"flat of size base in batches of 16, llama-4 of .* 8$"):
        budgets.compared(small, large, "steps")
    for unit in ("seconds", "flops"):
        assert np.isfinite(budgets.compared(small, large, unit)).all()


def test_a_model_that_diverged_is_not_excused_by_its_early_end():
    decaying = {"schedule": "cosine"}
    flat, llama = models(decaying, {**decaying, "steps": 100, "diverged": tuple(SEEDS)})
    assert np.isnan(budgets.compared(llama, flat, "steps")).all()


def test_a_claim_about_runs_that_are_not_comparable_is_not_run_and_says_why(monkeypatch):
    def refuse(claim, found):
        raise NotComparableError("needs one batch size")

    monkeypatch.setattr(judge, "_at", refuse)
    claim = next(row for row in studies.ledger("mixers") if row["id"] == "001-15")
    complete = SimpleNamespace(scale="paper", of_parts=lambda runs: complete, whole_set=lambda unit: complete)
    found = judge.judge_claim("mixers", claim, {"paper": complete})
    assert (found["verdict"], found["text"]) == (judge.NOT_RUN, "needs one batch size at paper")
