"""What runs made again are compared with, whatever lies in the working tree."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from allmlp.measurements import store
from allmlp.pipeline import references
from allmlp.pipeline.reproduce import restore_results_on_failure, studies_to_take
from tests import stored
from tests.unit.test_ages import commit

PLACE = ("copying", "falls")


def put(run: str, verdict: str) -> None:
    """What a call leaves here: one run's measurement alone, and one verdict."""
    shutil.rmtree(store.STORE, ignore_errors=True)
    stored.put(*PLACE, {run: pd.DataFrame({"seed": [0]})})
    Path("results/claims.json").write_text(f'{{"claims": [{{"id": "002-1", "verdict": "{verdict}"}}]}}')


def found(root: Path, against: str | None = None) -> tuple[list[str], dict[str, str], str]:
    """Runs, verdicts and name of the reference."""
    reference = references.choose_reference(root, root / "work/reproduce", against)
    return [run for run, _ in reference.read_measure(*PLACE).places], dict(reference.verdicts()), reference.name


def test_the_reference_is_head_whatever_lies_here(project: Path) -> None:
    put("a", "reproduced")
    first = commit(project)
    put("b", "undecided")
    assert found(project) == (["a"], {"002-1": "reproduced"}, "committed")
    second = commit(project)
    put("c", "contradicted")
    assert found(project) == (["b"], {"002-1": "undecided"}, "committed")
    assert found(project, first) == (["a"], {"002-1": "reproduced"}, f"in {first}")
    assert found(project, second)[0] == ["b"]
    assert [run for run, _ in store.read_measure(*PLACE).places] == ["c"], "what lies here is left alone"


def test_a_state_without_results_has_none(project: Path) -> None:
    put("a", "reproduced")
    assert found(project) == ([], {}, "committed")


@pytest.mark.parametrize("own", [True, False])
def test_outside_git_what_was_there_first_is_kept_until_the_end(
    project: Path, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a repository, and in a user's own folder, which git ignores."""
    if own:
        (project / "own/mine").mkdir(parents=True)
        monkeypatch.chdir(project / "own/mine")
    else:
        shutil.rmtree(project / ".git")
    put("a", "reproduced")
    before = (["a"], {"002-1": "reproduced"}, "before")
    assert found(project) == before
    put("b", "undecided")
    assert found(project) == before, "a call that was killed has put its own there"
    references.choose_reference(project, project / "work/reproduce", None).forget()
    assert found(project) == (["b"], {"002-1": "undecided"}, "before")


def test_an_own_folder_is_compared_with_a_named_state_of_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a", "reproduced")
    commit(project)
    (project / "own/mine").mkdir(parents=True)
    monkeypatch.chdir(project / "own/mine")
    assert found(project, "HEAD") == (["a"], {"002-1": "reproduced"}, "in HEAD")


A, B, C, D = "identical", "within tolerance", "different", "new"


@pytest.mark.parametrize(
    ("compared", "here", "taken"),
    [
        ([A, A], [A, A], False),  # the same machine
        ([B, A], [B, A], False),  # another machine: within tolerance, all committed rows stay
        ([C, B], [C, B], True),  # one differs: all are taken
        ([D, B], [D, B], True),
        ([C, B], [A, A], False),  # a second call: all lies here already
        ([C, B], [A, B], True),  # after a kill between two measures
        ([A, A], [C, A], True),  # somebody's other numbers lie here
    ],
)
def test_a_study_is_taken_whole_or_not_at_all(compared: list[str], here: list[str], taken: bool) -> None:
    tables = [pd.DataFrame({"study": ["003", "003", "002"], "outcome": [*of, A]}) for of in (compared, here)]
    assert studies_to_take(*tables) == ({"003"} if taken else set())


def test_a_failed_call_leaves_the_results_as_they_were(project: Path) -> None:
    """A user's own results lie beside a link to the project's tokenizers."""
    results, shared = project / "own/mine/results", project / "shared"
    (results / "tables").mkdir(parents=True)
    shared.mkdir()
    (shared / "one").write_text("theirs")
    (results / "tokenizers").symlink_to(shared)
    (results / "tables/one.csv").write_text("before")

    @restore_results_on_failure(results.parent, results.parent / "work/reproduce")
    def fail() -> None:
        (results / "tables/one.csv").write_text("after")
        (results / "tables/two.csv").write_text("after")
        raise ValueError("the error")

    with pytest.raises(ValueError, match="the error"):
        fail()
    assert [(file.name, file.read_text()) for file in (results / "tables").iterdir()] == [("one.csv", "before")]
    assert (results / "tokenizers/one").read_text() == "theirs"
