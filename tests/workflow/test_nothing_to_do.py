"""A finished state stays finished: nothing is planned, nothing redrawn, and a change plans itself and what follows."""

import os
import random
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT, call, edit, git
from tests.workflow.asking import contents, planned, up_to_date


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
    assert planned(fresh) == ["all", "train_quadrature_1"]
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
    said = call(fresh, "snakemake", "-n").stdout
    trained = [line for line in said.splitlines() if "train and measure " in line]
    assert len(trained) == 1
    assert "linear-causal-rn" in trained[0]
    assert "more" not in trained[0]


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
    assert planned(fresh) == ["all", "train_quadrature_1"]


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
    made_by_dvc = {next(iter(out)) for body in bodies for out in body["outs"]}
    read_by_dvc = {dep for body in bodies for dep in body["deps"]}
    lines = [line for path in (fresh / "workflow/rules").glob("*.smk") for line in path.read_text().splitlines()]
    rules = "\n".join(line.split("#")[0] for line in lines)
    for made in made_by_dvc:
        assert made.replace("${item}", "") not in rules
    for kind in ("results/tokens", "results/checkpoints", "results/measurements"):
        assert not any(dep.startswith(kind) for dep in read_by_dvc | made_by_dvc)
