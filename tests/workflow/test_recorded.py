"""Results of an overlay kept in git: judged, drawn and listed beside the plan's own, trained by nobody unasked."""

import json
from pathlib import Path

import pytest

from tests.conftest import call, edit, git
from tests.workflow.asking import planned

OTHER = "config/recorded/other.yaml"
OVERLAY = """
scale: smoke
corpora:
  other: {source: stories, documents: 300, seed: 9, tokenizer: {kind: bytes}}
studies:
  language: {corpus: other, scaling: null, variations: null, perplexity: null}
"""


@pytest.mark.slow
def test_an_overlay_is_judged_and_drawn_beside_the_plan(finished: Path) -> None:
    (finished / "config/recorded").mkdir()
    (finished / OTHER).write_text(OVERLAY)
    edit(finished, "params.yaml", "recorded: []", f"recorded: [{OTHER}]")
    assert planned(finished) == [], "what is recorded is trained by nobody unasked"
    call(
        finished,
        "snakemake",
        "--cores",
        "2",
        "measurements",
        "--configfile",
        "params.yaml",
        OTHER,
    )
    call(finished, "snakemake", "--cores", "2")
    figures = finished / "results/figures/language"
    about = json.loads((figures / "index.json").read_text())
    assert about["loss-other"]["recorded"] == "other"
    assert about["loss"]["recorded"] == ""
    assert (figures / "loss-other.svg").read_bytes() != (figures / "loss.svg").read_bytes()
    claims = {entry["id"]: entry for entry in json.loads((finished / "results/claims.json").read_text())["claims"]}
    assert claims["000-5"]["elsewhere"]["other"]["scale"] == "smoke"
    assert "elsewhere" not in claims["002-4"]
    report = (finished / "results/report.html").read_text()
    assert "<strong>On other</strong> (smoke)" in report
    assert ",other," in (finished / "results/tables/runs.csv").read_text()
    git(finished, "add", "--all")
    git(finished, "commit", "--quiet", "--message=recorded")
    assert planned(finished) == []
    for command in ("report", "select"):  # what is recorded has no results of its own
        call(finished, "allmlp", command, "--params", OTHER)
        assert git(finished, "status", "--porcelain") == "", command


def test_a_recorded_overlay_that_is_gone_is_named(finished: Path) -> None:
    edit(finished, "params.yaml", "recorded: []", "recorded: [config/recorded/gone.yaml]")
    said = call(finished, "allmlp", "plan", ok=False)
    assert said.returncode == 2
    assert "config/recorded/gone.yaml: named under `recorded:` in params.yaml, and not there" in said.stderr


@pytest.mark.slow
def test_the_report_has_the_same_bytes_whatever_the_order_of_sets(finished: Path) -> None:
    files = [finished / "results" / name for name in ("selected.json", "claims.json", "report.html", "tables/runs.csv")]
    found = set()
    for seed in ("1", "2"):
        for command in (["select"], ["judge"], ["tabulate"], ["render"]):
            call(finished, "allmlp", *command, PYTHONHASHSEED=seed)
        found.add(tuple(path.read_bytes() for path in files))
    assert len(found) == 1
