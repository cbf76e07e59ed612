"""A finished state stays finished: nothing is planned, nothing redrawn, and a change plans itself and what follows."""

import os
import random
import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT, call, edit, git
from tests.workflow.asking import contents, jobs, planned, up_to_date


def test_a_finished_pipeline_has_nothing_to_do(finished: Path) -> None:
    said = call(finished, "snakemake", "--cores", "all", "--resources", "gpu=4")
    assert "Nothing to be done" in said.stdout + said.stderr
    assert up_to_date(finished)
    assert git(finished, "status", "--porcelain") == ""


def test_a_fresh_clone_has_nothing_to_do(fresh: Path) -> None:
    assert planned(fresh) == []
    assert up_to_date(fresh)
    assert git(fresh, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_fresh_clone_brings_back_its_figures(fresh: Path) -> None:
    before = {name: contents(fresh / "results" / name) for name in ("figures", "tables")}
    call(fresh, "rm", "-r", "results/figures", "results/tables")
    call(fresh, "dvc", "repro")
    assert {name: contents(fresh / "results" / name) for name in ("figures", "tables")} == before
    assert git(fresh, "status", "--porcelain") == ""


def test_this_commit_has_nothing_to_do(committed_last_mile: None) -> None:
    """Whoever checks it out finds everything done: after a change of sources, `dvc repro` belongs to the commit."""
    said = call(PROJECT, "dvc", "status", "dvc.yaml").stdout
    assert "up to date" in said, f"`dvc repro`, then commit what it wrote:\n{said}"
    assert planned(PROJECT) == []


def test_files_that_arrive_in_any_order_plan_nothing(fresh: Path) -> None:
    files = [path for path in (fresh / "results").rglob("*") if path.is_file()]
    random.Random(0).shuffle(files)
    for age, path in enumerate(files):
        os.utime(path, (1e9 + age, 1e9 + age))
    assert planned(fresh) == []


def test_one_changed_rate_plans_its_run_and_what_follows(fresh: Path) -> None:
    edit(
        fresh,
        "config/quadrature/study.yaml",
        "learning_rate: 1e-3, weight_decay: 2.0",
        "learning_rate: 1.5e-3, weight_decay: 2.0",
    )
    assert planned(fresh) == ["all", "measure", "report", "train"]
    edit(
        fresh,
        "config/quadrature/study.yaml",
        "learning_rate: 1.5e-3, weight_decay: 2.0",
        "learning_rate: 1e-3, weight_decay: 2.0",
    )
    assert planned(fresh) == []


def test_one_changed_model_leaves_its_neighbours_alone(fresh: Path) -> None:
    models = "      causal-rn: {}\n      linear-causal-rn: "
    edit(fresh, "config/copying/study.yaml", models + "{}", models + "{learning_rate: 1e-3}")
    (batch,) = [name.removeprefix("train ") for name in jobs(fresh) if name.startswith("train ")]
    asked = "[run.name for batch in load_plan().batches_to_train for run in batch.to_train]"
    open_runs = call(fresh, "python", "-c", f"from allmlp.plan.plan import load_plan; print(*{asked})").stdout.split()
    assert batch.startswith("copying-")
    assert [name.partition("-string")[0] for name in open_runs] == ["linear-causal-rn"]


def test_the_same_holds_with_some_checkpoints_pulled(pipeline: Path, fresh: Path) -> None:
    edit(fresh, ".dvc/config", "../../allmlp-remote", str(pipeline.parent / "allmlp-remote"))
    pointers = sorted((fresh / "results/checkpoints").glob("*.dvc"))
    call(fresh, "dvc", "pull", *(str(path.relative_to(fresh)) for path in pointers[:2]))
    assert sum(path.is_dir() for path in (fresh / "results/checkpoints").iterdir()) == 2
    assert planned(fresh) == []
    edit(
        fresh,
        "config/quadrature/study.yaml",
        "learning_rate: 1e-3, weight_decay: 2.0",
        "learning_rate: 1.5e-3, weight_decay: 2.0",
    )
    assert planned(fresh) == ["all", "measure", "report", "train"]


def test_a_changed_figure_redraws_those_of_its_file_only(fresh: Path) -> None:
    before = contents(fresh / "results/figures/quadrature")
    file = fresh / "src/allmlp/studies/quadrature/figures/sums.py"
    file.write_text(file.read_text().replace('@figure("The', '@figure("Changed: the', 1))
    stages = call(fresh, "dvc", "repro").stdout
    drawn = stages.split("quadrature: drew ")[1].splitlines()[0].split(", ")
    assert "phases" in drawn
    assert "accuracy" not in drawn, "a figure of another file"
    assert "copying: drew" not in stages, "another study, whose stage is skipped"
    after = contents(fresh / "results/figures/quadrature")
    assert {name for name in after if after[name] != before[name]} == {"index.json"}, "a title is no part of a drawing"


def test_no_edge_is_written_twice(fresh: Path) -> None:
    stages = yaml.safe_load((fresh / "dvc.yaml").read_text())["stages"]
    bodies = [stage.get("do", stage) for stage in stages.values()]
    made_by_dvc = {next(iter(out)) for body in bodies for out in body.get("outs") or body["metrics"]}
    read_by_dvc = {dep for body in bodies for dep in body["deps"]}
    rules = "".join(path.read_text() for path in (fresh / "workflow/rules").glob("*.smk"))
    commands = re.findall(r"^    (?:shell|run|script):\n((?: {8}.*\n)+)", rules, re.MULTILINE)
    assert len(commands) == 4, "those of tokenize, train, measure and report: files of the last mile have none"
    for made in made_by_dvc:
        assert not any(made.replace("${item}", "") in command for command in commands)
    for kind in ("results/tokens", "results/checkpoints", "results/measurements"):
        assert not any(dep.startswith(kind) for dep in read_by_dvc | made_by_dvc)
