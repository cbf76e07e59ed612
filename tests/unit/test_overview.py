"""`allmlp plan`: what is done and open per study, each run on request, and what changed parameters would do."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from allmlp import differing, overview, params, showing
from allmlp.errors import UserError
from allmlp.layered import SCALES
from allmlp.plan import Plan
from tests.conftest import PROJECT, git

STUDY, SMOKE = "config/quadrature/study.yaml", "config/quadrature/smoke.yaml"


def plan(project: Path, overlay: str = "") -> Plan:
    """Its plan, perhaps under a file my.yaml."""
    (project / "my.yaml").write_text(overlay)
    files = [project / "my.yaml"] if overlay else []
    return Plan(params.load(project / "params.yaml", files), project, overlays=files)


def measured(plan: Plan, study: str) -> None:
    """Pretend that a study is done."""
    for run in plan.chosen[study]:
        for file in run.measurements.values():
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).touch()


def test_a_row_per_study_counts_runs_and_claims(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(plan(project), "quadrature")
    overview.show(plan(project), runs=False, format="table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "scale smoke"
    assert lines[1].split() == ["study", "runs", "done", "open", "hours", "disk", "claims"]
    assert re.search(r"^quadrature +2 +2 +0 +0.0 +0B +4 of 4$", lines[5])
    assert re.search(r"^all +\d+ +2 +\d+ +0.0 +[\d.]+ MB +4 of \d+$", lines[8])
    assert lines[10].startswith("tokens that open runs need, made first: digits-")
    assert max(map(len, lines[:10])) <= 120


def test_runs_are_listed_for_people_and_for_machines(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(plan(project), "quadrature")
    overview.show(plan(project), runs=True, format="table")
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == ["run", "state", "parameters"]
    overview.show(plan(project), runs=False, format="json")
    found = json.loads(capsys.readouterr().out)
    assert [row.split()[0] for row in rows] == [record["run"] for record in found["runs"]]
    assert {record["state"] for record in found["runs"] if record["study"] == "quadrature"} == {"measured"}
    assert next(one for one in found["studies"] if one["study"] == "quadrature")["open"] == 0


def shown(plan: Plan, capsys: pytest.CaptureFixture[str]) -> list[str]:
    differing.show(plan)
    return capsys.readouterr().out.splitlines()


def test_a_changed_rate_is_compared_with_gits_parameters(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(plan(project), capsys) == ["no parameter changes a run, against git's HEAD; code is not compared"]
    measured(plan(project), "quadrature")
    files = sum(len(run.measurements) for run in plan(project).chosen["quadrature"] if run.steps)
    (project / STUDY).write_text((project / STUDY).read_text().replace("1e-3", "1.5e-3"))
    first, now, _, row, last = shown(plan(project), capsys)
    assert [first, now] == ["against git's HEAD", "at smoke, to run now: 1 run changes, 0 min"]
    assert row.split() == ["quadrature", "smoke", "1", "0", "0", str(files), "0", "min"]
    assert last == f"{files} measurements are of runs before the change: they leave the report"


def test_new_and_gone_runs_are_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / SMOKE).write_text((project / SMOKE).read_text().replace("seeds: [0]", "seeds: [0, 1, 2]"))
    assert shown(plan(project), capsys)[3].split() == ["quadrature", "smoke", "0", "2", "0", "0", "0", "min"]
    shutil.rmtree(project / "config/quadrature")
    assert shown(plan(project), capsys)[3].split() == ["quadrature", "smoke", "0", "0", "2", "0", "0", "min"]


def test_a_users_file_is_compared_with_the_plan_without_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / STUDY).write_text((project / STUDY).read_text().replace("1e-3", "1.5e-3"))
    found = shown(plan(project, "studies: {copying: {images: {steps: 13}}}"), capsys)
    assert found[0] == "against the plan without my.yaml"
    assert [line.split()[:3] for line in found[3:]] == [["copying", "smoke", "4"]]


@pytest.mark.parametrize(("chosen", "other"), [("smoke", "laptop"), ("laptop", "smoke")])
def test_the_chosen_scale_is_summed_and_the_others_stand_apart(
    project: Path, capsys: pytest.CaptureFixture[str], chosen: str, other: str
) -> None:
    (project / "config/quadrature/laptop.yaml").write_text("studies: {quadrature: {seeds: [0, 1, 2], steps: 20}}")
    measured(plan(project, f"scale: {chosen}"), "quadrature")
    overlay = f"scale: {chosen}\nstudies: {{quadrature: {{optimiser: {{learning_rate: 2e-3}}}}}}"
    _, now, _, row, apart, another, last = shown(plan(project, overlay), capsys)
    changes = {"smoke": "1 run changes", "laptop": "3 runs change"}
    assert now == f"at {chosen}, to run now: {changes[chosen]}, 0 min"
    assert (row.split()[:2], another.split()[:2]) == (["quadrature", chosen], ["quadrature", other])
    assert apart == "would change too if you ran them:"
    assert last.endswith("the committed ones stay")


def test_parameters_that_git_does_not_have_or_cannot_be_read_are_named(project: Path) -> None:
    (project / STUDY).write_text("studies: {quadrature: {pp: 7}}")
    git(project, "commit", "--quiet", "--all", "--message=wrong")
    git(project, "revert", "--no-edit", "--no-commit", "HEAD")
    with pytest.raises(UserError, match=r"git's HEAD has parameters that this code cannot read: .*study.yaml:1: "):
        differing.show(plan(project))
    shutil.rmtree(project / ".git")
    with pytest.raises(UserError, match="git has no parameters to compare with"):
        differing.show(plan(project))


@pytest.mark.usefixtures("published")
def test_the_plan_of_every_scale_is_shown_without_torch() -> None:
    code = (
        "import sys; from allmlp import overview; from allmlp.params import SCALES; from allmlp.plan import load_plan\n"
        "for scale in SCALES: overview.show(load_plan(changes={'scale': scale}), False, 'table')\n"
        "assert 'torch' not in sys.modules, 'run `allmlp check --fix`'"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("scale ")] == [
        f"scale {scale}" for scale in SCALES
    ]


def test_a_run_is_shown_from_its_settings_to_its_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    current = plan(project)
    run = current.chosen["copying"][0]
    Path("logs/train").mkdir(parents=True)
    Path("logs/train/copying_1.log").write_text(f"{run.id}: 20 steps\n")
    Path(next(iter(run.measurements.values()))).parent.mkdir(parents=True)
    Path(next(iter(run.measurements.values()))).touch()
    showing.show(current, run.id[-8:])
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["run", run.id] in shown
    assert ["log", "logs/train/copying_1.log"] in shown
    assert any(name == "study" and value.startswith("copying, at smoke") for name, value in shown)
    places = [value for name, value in shown if name == "measurement"]
    assert places[0].endswith(f"{run.id}-r{run.recipe(run.measures[0])}.parquet")
    assert all(value.endswith(": not measured yet") for value in places[1:])


def test_a_name_that_fits_no_run_or_several_is_refused_with_candidates(project: Path) -> None:
    with pytest.raises(UserError, match="'nothing' fits no run of the plan"):
        plan(project).find("nothing")
    with pytest.raises(UserError, match=r"'' fits \d+ runs, such as .*-seed"):
        plan(project).find("")
