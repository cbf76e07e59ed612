"""Names for states, with real git, dvc and a local remote: pin, pins, verify, diff."""

import contextlib
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from allmlp.measurements import store
from tests.conftest import call, edit, git
from tests.workflow.test_states import commit

RATE = "learning_rate: {}, weight_decay: 2.0"
ANOTHER_RATE = ("config/quadrature/study.yaml", RATE.format("1e-3"), RATE.format("2e-3"))
KILLED_AT_THE_ROW = """
import os, runpy
from allmlp.common import atomic
atomic.sync = lambda path: os.kill(os.getpid(), 9)
runpy.run_module("allmlp", run_name="__main__", alter_sys=True)
"""


def refused(clone: Path, *words: str) -> str:
    """What a command says that ends with status 2."""
    done = call(clone, *words, ok=False)
    assert done.returncode == 2, done.stdout
    return done.stderr


@pytest.mark.slow
def test_a_state_is_pinned_only_where_everything_is_kept(finished: Path) -> None:
    assert "only a-z" in refused(finished, "allmlp", "pin", "../up")
    (finished / "note.txt").write_text("new\n")
    assert "not committed: note.txt" in refused(finished, "allmlp", "pin", "first")
    (finished / "note.txt").unlink()
    edit(finished, *ANOTHER_RATE)
    commit(finished, "another rate, not trained")
    said = refused(finished, "allmlp", "pin", "first")
    assert "are missing: run snakemake" in said
    git(finished, "reset", "--hard", "--quiet", "HEAD~1")
    call(finished, "allmlp", "pin", "first")
    call(finished, "git", "rev-parse", "first^{commit}")
    row = (finished / "results/PINS.md").read_text().splitlines()[-1]
    assert row.startswith("| first | ")
    assert call(finished, "allmlp", "pins").stdout.startswith("first")
    assert "already exists" in refused_after_commit(finished)


def refused_after_commit(clone: Path) -> str:
    """A second pin of the same name, once the row is committed."""
    commit(clone, "the pin's row")
    return refused(clone, "allmlp", "pin", "first")


def test_a_pin_that_was_killed_before_its_row_goes_on(finished: Path) -> None:
    killed = call(finished, sys.executable, "-c", KILLED_AT_THE_ROW, "pin", "first", ok=False)
    assert killed.returncode == -9
    call(finished, "git", "rev-parse", "first^{commit}")
    assert not (finished / "results/PINS.md").exists()
    call(finished, "allmlp", "pin", "first")
    assert git(finished, "status", "--porcelain").splitlines() == ["?? results/PINS.md"]
    assert (finished / "results/PINS.md").read_text().count("| first |") == 1


def test_verify_names_the_first_column_that_differs(finished: Path) -> None:
    assert "none not as recorded" in call(finished, "allmlp", "verify").stdout
    table = finished / "results/tables/runs.csv"
    rows = pd.read_csv(table)
    rows["parameters"] = rows["parameters"] * 1.5
    rows.to_csv(table, index=False)
    state = next((finished / "results/checkpoints").glob("*/final.safetensors"))
    flipped = bytearray(state.read_bytes())
    flipped[-1] ^= 1
    state.write_bytes(flipped)
    part = next((finished / "results/measurements").glob("*/*/*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    done = call(finished, "allmlp", "verify", ok=False)
    assert done.returncode == 1
    assert "tables/runs.csv: column parameters differs in" in done.stdout
    assert "by up to 0.5 of the recorded value" in done.stdout
    assert f"checkpoints/{state.parent.name}: another digest than recorded" in done.stdout
    assert f"{part.name}: cannot be read" in done.stdout
    assert "3 not as recorded" in done.stdout


def test_verify_names_what_is_gone(finished: Path) -> None:
    part = next((finished / "results/measurements").glob("*/*/*.parquet"))
    figure = next((finished / "results/figures").glob("*/*.svg"))
    for file in (part, figure, finished / "results/report.html"):
        file.unlink()
    done = call(finished, "allmlp", "verify", ok=False)
    assert done.returncode == 1
    for file in (part, figure, finished / "results/report.html"):
        assert f"{file.relative_to(finished)}: is in git and not here" in done.stdout
    assert "3 not as recorded" in done.stdout


def change_stored(clone: Path, measure: str, column: str, by: float) -> None:
    """Add to a column of a committed measurement of the quadrature study."""
    with contextlib.chdir(clone):
        stored = store.read_measure("quadrature", measure)
        taken = [(one, stored.rows(key).to_pandas()) for key, (one, _) in stored.places.items()]
        changed = [(one, pa.Table.from_pandas(rows.assign(**{column: rows[column] + by}))) for one, rows in taken]
        store.rewrite("quadrature", measure, changed, {})


@pytest.mark.slow
def test_a_study_trained_again_is_compared_with_what_is_committed(finished: Path) -> None:
    change_stored(finished, "accuracy", "mean_margin_nats", 1e-9)
    change_stored(finished, "coefficients", "ratio_1", 1.0)
    commit(finished, "two measurements that were not measured")
    done = call(finished, "allmlp", "verify", "--rerun", "--study", "quadrature", "--cores", "2", ok=False)
    assert done.returncode == 1, done.stderr
    *_, tiny, large, summary = done.stdout.splitlines()
    assert "accuracy: other bits on the same CPU type" in tiny
    assert "coefficients: ratio_1 is " in large
    assert "1 within tolerance, 1 different" in summary
    assert " identical" in summary
    assert git(finished, "status", "--porcelain") == ""
    assert not (finished / "work/rerun").exists()


def test_a_study_without_committed_measurements_is_not_trained_again(finished: Path) -> None:
    said = refused(finished, "allmlp", "verify", "--rerun", "--study", "quadrature", "--scale", "laptop")
    assert "nothing is committed to compare with" in said


def test_diff_shows_parameters_and_verdicts(finished: Path) -> None:
    edit(finished, *ANOTHER_RATE)
    claims = finished / "results/claims.json"
    text = claims.read_text()
    claims.write_text(text.replace('"verdict": "reproduced"', '"verdict": "<b>contradicted</b>"'))
    commit(finished, "another state")
    said = call(finished, "allmlp", "diff", "HEAD~1", "HEAD", "--page", "diff.html").stdout
    assert "parameters: 1" in said
    assert "2e-3" in said
    page = (finished / "diff.html").read_text()
    assert "learning_rate" in page
    assert "<b>" not in page
    assert "no state of that name" in refused(finished, "allmlp", "diff", "HEAD", "nowhere")


@pytest.mark.parametrize("state", ["HEAD~1:x", "--help-me"])
def test_a_state_that_is_none_is_refused(fresh: Path, state: str) -> None:
    done = call(fresh, "allmlp", "diff", "HEAD", state, ok=False)
    assert done.returncode == 2
