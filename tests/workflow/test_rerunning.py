"""`allmlp verify --rerun --claim`, the command that the report prints beside each claim: everything is measured."""

import re
from pathlib import Path

import pytest

from tests.conftest import call, git
from tests.workflow.asking import planned
from tests.workflow.test_pins import change_stored, refused
from tests.workflow.test_states import commit

CHEAP = {  # a claim of each study: the runs behind it, and the runs of searches that are not trained again
    "000-5": (1, 0),
    "001-own-1": (2, 4),
    "002-4": (4, 0),
    "003-1": (1, 0),
    "004-2": (5, 10),
    "all-own-1": (21, 14),
    "001-9": (1, 0),  # a formula
}


@pytest.mark.slow
@pytest.mark.parametrize("claim", CHEAP)
def test_the_runs_behind_a_claim_are_trained_again_and_give_its_verdict(claim: str, fresh: Path) -> None:
    runs, searched = CHEAP[claim]
    said = call(fresh, "allmlp", "verify", "--rerun", "--claim", claim, "--cores", "2").stdout
    assert f"{claim} at scale smoke rests on {runs} run" in said
    assert (f"{searched} committed run" in said) == bool(searched), said
    ahead = "nothing is trained" if claim == "001-9" else "trainings take about "
    read = 7 if claim == "all-own-1" else 0  # searches over strings, whose measurements do not say how they ended
    assert (f"{read} more runs will be trained" in said) == bool(read), said
    assert said.index(ahead) < said.index(f"smoke: {runs + read} runs, "), "before it starts"
    assert re.search(rf"^{claim}, {runs + read} runs? again: measurements \d+ identical$", said, re.MULTILINE), said
    assert re.search(rf"^{claim} again: .*, as committed$", said, re.MULTILINE), said
    assert git(fresh, "status", "--porcelain") == ""
    assert not (fresh / "work/rerun").exists()


@pytest.mark.slow
def test_a_measurement_and_a_verdict_that_do_not_come_out_again_are_named(finished: Path) -> None:
    change_stored(finished, "bound_cost", "operations_1", 10**12)  # as many at every p: an exponent of 0
    call(finished, "allmlp", "select")
    call(finished, "allmlp", "judge")
    commit(finished, "counts that nobody counted, judged")
    done = call(finished, "allmlp", "verify", "--rerun", "--claim", "003-8", "--cores", "2", ok=False)
    assert done.returncode == 1, done.stderr
    assert " bound_cost: operations_1 differs in " in done.stdout
    assert " identical, 1 different" in done.stdout
    *_, verdict, _, part = done.stdout.splitlines()
    assert verdict == "003-8 again: reproduced, committed: partly"
    assert part == "  (b) brute force: reproduced, committed: contradicted"
    assert git(finished, "status", "--porcelain") == ""


def test_what_cannot_be_trained_again_says_why(fresh: Path) -> None:
    assert planned(fresh) == [], "everything is measured"
    assert "no runs are behind it yet" in refused(fresh, "allmlp", "verify", "--rerun", "--claim", "002-7")
    assert "says what --rerun trains" in refused(fresh, "allmlp", "verify", "--claim", "003-1")
