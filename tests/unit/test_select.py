"""`allmlp select` in a real git repository: complete sets and the ages of rules, over commits and growing plans."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from allmlp.common import paths
from allmlp.judging import rule_digests, selection
from allmlp.judging.complete_runs import SETS
from allmlp.judging.select import select
from allmlp.measurements.measurement import Measurement, file_bytes
from allmlp.spec.run import Run
from tests import tiny
from tests.conftest import git

CLAIM, MEASURE = "002-3", "falls"  # what the claim reads


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / rule_digests.LOCK).write_text(
        "\n".join(f"{claim} {'0' * 16}" for claim in rule_digests.current_rules()) + "\n"
    )
    commit()


def commit() -> None:
    git(Path.cwd(), "add", "--all")
    git(Path.cwd(), "commit", "--quiet", "--message=more")


def runs(*seeds: int) -> list[Run]:
    return [tiny.run("transformer", seed=seed, measures=(MEASURE,)) for seed in seeds]


def measure(of: list[Run]) -> None:
    for run in of:
        about = Measurement(run.id, run.settings_digest, (1, 1, 1, run.recipe(MEASURE)))
        paths.write_atomically(
            Path(run.measurements[MEASURE]), file_bytes(about, pa.table({"run": [run.id], "seed": [0]}))
        )


def selected(planned: list[Run]) -> dict[str, Any]:
    """What is selected of the workstation, of a plan that has these runs there."""
    by_scale = {"workstation": {"copying": planned}}
    plan: Any = SimpleNamespace(
        root=Path.cwd(), report_runs=by_scale, reported=planned, has_own_results=False, scale="workstation", digest=str
    )
    plan.recorded_plans = {}
    select(plan)
    found: dict[str, Any] = selection.read()["studies"]["copying"]["workstation"]
    return found


def test_one_seed_more_leaves_the_complete_set_standing() -> None:
    measure(runs(0, 1, 2))
    assert not selected(runs(0, 1, 2))["standing"]
    commit()
    before = SETS.read_bytes()
    found = selected(runs(0, 1, 2, 3))
    assert sorted(found["standing"][MEASURE][MEASURE]) == sorted(run.id for run in runs(0, 1, 2))
    assert SETS.read_bytes() == before, "it grows by whole plans only"
    assert found["younger"][CLAIM] is False, "the standing set is judged, so its rule has an age"
    measure(runs(3))
    assert not selected(runs(0, 1, 2, 3))["standing"]
    assert SETS.read_bytes() != before


def test_a_standing_set_keeps_the_order_of_the_plan() -> None:
    measure(runs(9, 10))
    selected(runs(9, 10))
    found = selected(runs(9, 10, 11))
    assert found["standing"][MEASURE][MEASURE] == [run.id for run in runs(9, 10)]


def test_a_plan_without_a_run_of_the_set_says_which_it_dropped() -> None:
    measure(runs(0, 1, 2))
    selected(runs(0, 1, 2))
    found = selected(runs(0, 1, 3))
    assert [name.split("-seed")[1].split("-")[0] for name in found["dropped"][MEASURE]] == ["2"]
    assert not found["standing"]


def test_a_rule_written_after_the_results_is_marked_and_committing_changes_nothing() -> None:
    measure(runs(0, 1))
    before = selected(runs(0, 1))
    commit()
    assert selected(runs(0, 1)) == before
    assert before["younger"][CLAIM] is False
    lock = Path(rule_digests.LOCK)
    lock.write_text(lock.read_text().replace(f"{CLAIM} {'0' * 16}", f"{CLAIM} {'1' * 16}"))
    changed = selected(runs(0, 1))
    commit()
    assert selected(runs(0, 1)) == changed
    assert {claim for claim, younger in changed["younger"].items() if younger} == {CLAIM}


def test_without_git_ages_are_unknown(tmp_path: Path) -> None:
    measure(runs(0, 1))
    (tmp_path / ".git").rename(tmp_path / "elsewhere")
    assert set(selected(runs(0, 1))["younger"].values()) == {None}
