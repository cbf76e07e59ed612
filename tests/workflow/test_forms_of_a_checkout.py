"""Other forms of a checkout than a full clone in which one stands: each works, or says the way out in one line."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import PROJECT, call, git

CONFLICT = "<<<<<<< HEAD\n{}=======\n{}>>>>>>> theirs\n"


@pytest.fixture
def shallow(pipeline: Path, tmp_path: Path) -> Path:
    """A clone with one commit, as a service for tests makes it."""
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{pipeline}", str(tmp_path / "shallow"))
    return tmp_path / "shallow"


@pytest.fixture
def download(fresh: Path) -> Path:
    """The files without .git, as in a zip."""
    shutil.rmtree(fresh / ".git")
    return fresh


def test_a_report_without_history_keeps_what_history_said(shallow: Path) -> None:
    said = call(shallow, "allmlp", "report").stderr
    assert "git's history is cut off in this clone; `git fetch --unshallow` brings it." in said
    assert git(shallow, "status", "--porcelain", "--", "results/claims.json", "results/selected.json") == ""


def test_ages_of_other_rules_or_measurements_are_not_kept(pipeline: Path, shallow: Path) -> None:
    lock = shallow / "rules.lock"
    first, *rest = lock.read_text().splitlines(keepends=True)
    lock.write_text("".join([re.sub(r" [0-9a-f]{16}", f" {'0' * 16}", first), *rest]))
    call(shallow, "allmlp", "select")
    ages = [age for of in studies(shallow) for age in of.get("younger", {}).values()]
    assert {*ages} == {None}
    assert any(age is not None for of in studies(pipeline) for age in of.get("younger", {}).values())


def test_the_doctor_names_the_way_to_a_whole_history(shallow: Path) -> None:
    assert "`git fetch --unshallow` brings it" in call(shallow, "allmlp", "doctor", ok=False).stdout
    shutil.rmtree(shallow / ".git")
    assert "history    no git repository" in call(shallow, "allmlp", "doctor", ok=False).stdout


def studies(clone: Path) -> list[dict[str, Any]]:
    """What selected.json holds of each study at each scale."""
    content = json.loads((clone / "results/selected.json").read_text())
    return [of for scales in content["studies"].values() for of in scales.values()]


def test_a_download_without_git_is_checked_and_reported(download: Path) -> None:
    before = {name: (download / name).read_bytes() for name in ("results/claims.json", "results/selected.json")}
    for words in (("allmlp", "check"), ("allmlp", "doctor")):
        assert "Traceback" not in call(download, *words, ok=False).stderr
    call(download, "allmlp", "report")
    assert {name: (download / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    ("name", "command"),
    [("recipes.lock", "check"), ("rules.lock", "check"), ("corpora.lock", "check"), ("corpora.lock", "report")],
)
def test_marks_of_a_conflict_are_named_with_the_way_out(fresh: Path, name: str, command: str) -> None:
    text = (fresh / name).read_text()
    (fresh / name).write_text(CONFLICT.format(text, text))
    done = call(fresh, "allmlp", command, ok=False)
    assert done.returncode
    said = next(line for line in (done.stdout + done.stderr).splitlines() if name in line)
    assert "git checkout" in said
    assert "Traceback" not in done.stderr


def test_marks_of_a_conflict_in_dvcs_lock_do_not_stop_the_report(fresh: Path) -> None:
    text = (fresh / "dvc.lock").read_text()
    (fresh / "dvc.lock").write_text(CONFLICT.format(text, text))
    call(fresh, "allmlp", "report")
    assert yaml.safe_load((fresh / "dvc.lock").read_text()) == yaml.safe_load(text)


def test_snakemake_typed_elsewhere_works_in_the_clone(fresh: Path) -> None:
    (fresh / "analysis").mkdir()
    said = call(fresh / "analysis", "snakemake", "-n", "-s", "../Snakefile", PYTHONPATH=str(fresh / "src")).stdout
    assert "Nothing to be done" in said
    assert not [*(fresh / "analysis").iterdir()]


def test_code_of_another_folder_is_refused(fresh: Path) -> None:
    theirs = {"PYTHONPATH": str(PROJECT / "src")}
    for words in (("allmlp", "report"), ("allmlp", "check"), ("snakemake", "-n")):
        done = call(fresh, *words, ok=False, **theirs)
        assert done.returncode != 0
        assert "is not the code that runs" in done.stderr
        assert "make install" in done.stderr
    doctor = call(fresh, "allmlp", "doctor", ok=False, **theirs)
    assert doctor.returncode == 1
    assert "is not the code that runs" in doctor.stdout


def test_no_state_is_pinned_whose_weights_are_nowhere(fresh: Path) -> None:
    done = call(fresh, "allmlp", "pin", "first", ok=False)
    assert done.returncode == 2
    assert "neither here nor in the remote" in done.stderr
