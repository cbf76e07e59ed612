"""`allmlp plan`: what is done and open per study, each run on request, and what changed parameters would do."""

import json
import re
import shutil
import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.pipeline import show_run
from allmlp.plan import differences, overview, params
from allmlp.plan.merge import SCALES, Scale
from allmlp.plan.plan import Plan
from allmlp.plan.planned_runs import PlannedRuns
from allmlp.spec import catalogue
from allmlp.spec.run import Run
from tests.conftest import PROJECT, git

STUDY, SMOKE = "config/quadrature/study.yaml", "config/quadrature/smoke.yaml"


def plan(project: Path, overlay: str = "") -> Plan:
    """Its plan, perhaps under a file my.yaml."""
    (project / "my.yaml").write_text(overlay)
    files = [project / "my.yaml"] if overlay else []
    return Plan(params.load(project / "params.yaml", files), project, overlays=files)


def measured(plan: Plan, study: str) -> None:
    """Pretend that a study is done."""
    for run in plan.chosen_runs[study]:
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


def test_open_runs_alone_are_listed_on_request(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(plan(project), "quadrature")
    listed = {}
    for only_open in (False, True):
        overview.show(plan(project), runs=True, format="table", only_open=only_open)
        listed[only_open] = {row.split()[0] for row in capsys.readouterr().out.splitlines()[1:]}
    done = {run.id for run in plan(project).chosen_runs["quadrature"]}
    assert len(done) == 2
    assert listed[True] == listed[False] - done
    overview.show(plan(project), runs=True, format="json", only_open=True)
    assert {record["run"] for record in json.loads(capsys.readouterr().out)["runs"]} == listed[True]


def shown(plan: Plan, capsys: pytest.CaptureFixture[str]) -> list[str]:
    differences.show(plan)
    return capsys.readouterr().out.splitlines()


def test_a_changed_rate_is_compared_with_gits_parameters(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(plan(project), capsys) == ["no parameter changes a run, against git's HEAD; code is not compared"]
    measured(plan(project), "quadrature")
    files = sum(len(run.measurements) for run in plan(project).chosen_runs["quadrature"] if run.steps)
    (project / STUDY).write_text((project / STUDY).read_text().replace("1e-3", "1.5e-3"))
    first, now, _, row, last = shown(plan(project), capsys)
    assert [first, now] == ["against git's HEAD", "at smoke, to run now: 1 run changes, 1 min"]
    assert row.split() == ["quadrature", "smoke", "1", "0", "0", str(files), "1", "min"]
    assert last == f"{files} measurements are of runs before the change: they leave the report"


def test_new_and_gone_runs_are_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / SMOKE).write_text((project / SMOKE).read_text().replace("seeds: [0]", "seeds: [0, 1, 2]"))
    assert shown(plan(project), capsys)[3].split() == ["quadrature", "smoke", "0", "2", "0", "0", "1", "min"]
    shutil.rmtree(project / "config/quadrature")
    assert shown(plan(project), capsys)[3].split() == ["quadrature", "smoke", "0", "0", "2", "0", "0", "min"]


def test_a_users_file_is_compared_with_the_plan_without_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / STUDY).write_text((project / STUDY).read_text().replace("1e-3", "1.5e-3"))
    found = shown(plan(project, "studies: {copying: {images: {steps: 13}}}"), capsys)
    assert found[0] == "against the plan without my.yaml"
    assert [line.split()[:3] for line in found[3:]] == [["copying", "smoke", "4"]]


@pytest.mark.parametrize(
    ("overlay", "studies"),
    [
        ("studies: {}", set()),
        ("studies: {copying: {images: {steps: 13}}}", {"copying"}),
        ("corpora: {stories: {documents: 80}}", {"language", "mixers", "crossover"}),
    ],
)
def test_a_study_with_the_same_inputs_is_not_planned_and_differs_in_nothing(
    project: Path, overlay: str, studies: set[str]
) -> None:
    measured(plan(project), "copying")
    changed = plan(project, overlay)
    found, _ = differences.compare(changed)
    assert {study for study, _ in changed.planned._made} == studies
    assert found == differences.differences(plan(project).runs_by_scale, plan(project, overlay).runs_by_scale)
    assert {one.study for one in found} == studies


def test_a_scale_that_cannot_be_planned_is_named_and_left_out(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = "scale: smoke\nstudies: {quadrature: {optimiser: {learning_rate: 2e-3}}}"
    make = PlannedRuns._make

    def fails(self: PlannedRuns, study: str, scale: Scale) -> list[Run]:
        if self is asked.planned and (study, scale) == ("quadrature", refused):
            raise UserError("corpus 'mine': not there.")
        return make(self, study, scale)

    monkeypatch.setattr(PlannedRuns, "_make", fails)
    (project / "config/quadrature/laptop.yaml").write_text("studies: {quadrature: {seeds: [0, 1], steps: 20}}")
    refused = "laptop"
    asked = plan(project, overlay)
    first, _, now, *rest = shown(asked, capsys)
    assert first == "laptop is left out: corpus 'mine': not there."
    assert now == "at smoke, to run now: 1 run changes, 1 min"
    assert "would change too if you ran them:" not in rest
    refused = "smoke"
    with pytest.raises(UserError, match="not there"):
        differences.show(asked := plan(project, overlay))


@pytest.mark.parametrize(("chosen", "other"), [("smoke", "laptop"), ("laptop", "smoke")])
def test_the_chosen_scale_is_summed_and_the_others_stand_apart(
    project: Path, capsys: pytest.CaptureFixture[str], chosen: str, other: str
) -> None:
    (project / "config/quadrature/laptop.yaml").write_text("studies: {quadrature: {seeds: [0, 1, 2], steps: 20}}")
    measured(plan(project, f"scale: {chosen}"), "quadrature")
    overlay = f"scale: {chosen}\nstudies: {{quadrature: {{optimiser: {{learning_rate: 2e-3}}}}}}"
    _, now, _, row, apart, another, last = shown(plan(project, overlay), capsys)
    changes = {"smoke": "1 run changes, 1 min", "laptop": "3 runs change, 1 min"}
    assert now == f"at {chosen}, to run now: {changes[chosen]}"
    assert (row.split()[:2], another.split()[:2]) == (["quadrature", chosen], ["quadrature", other])
    assert apart == "would change too if you ran them:"
    assert last.endswith("the committed ones stay")


MIXERS = "config/mixers/study.yaml"


def test_a_rate_that_a_search_replaces_is_refused_in_a_users_file(project: Path) -> None:
    overlay = "studies:\n  mixers:\n    optimiser: {learning_rate: 1e-3}\n"
    advice = r"Change studies\.mixers\.search\.learning_rates, or set studies\.mixers\.search: null\."
    with pytest.raises(UserError, match=rf"^my\.yaml:3: the search of rates beside it replaces .*{advice}$"):
        plan(project, overlay)
    retrieval = overlay.replace("optimiser:", "retrieval:\n      optimiser:")
    with pytest.raises(UserError, match=r"^my\.yaml:4: .*Change studies\.mixers\.retrieval\.search\.learning_rates"):
        plan(project, retrieval)
    assert plan(project, f"{overlay}    search: null\n").runs, "nothing replaces it there"


def test_a_rate_that_a_search_replaces_is_named_where_it_is_changed_for_all(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (project / MIXERS).read_text()
    (project / MIXERS).write_text(text.replace("optimiser: {learning_rate: 6e-3", "optimiser: {learning_rate: 7e-3"))
    shown_lines = shown(plan(project), capsys)
    changed = int(shown_lines[3].split()[2])
    assert shown_lines[4].startswith(f"{changed} of these runs change in a learning rate that their search replaces")
    (project / MIXERS).write_text(text.replace("clip: 1.0, warmup_steps: 20", "clip: 2.0, warmup_steps: 20"))
    assert not any("their search replaces" in line for line in shown(plan(project), capsys))


@pytest.mark.parametrize("scale", ["workstation", "long"])
def test_a_rate_beside_a_search_alters_no_result(published: Path, scale: Scale) -> None:
    """Of every study of the project: the runs under another one are the same by the name of their result."""
    current, blocks = params.load(published), 0
    old, new = (Plan(params.load(published), PROJECT) for _ in range(2))
    for (study, at), setting in current.settings.items():
        for place in params.searching_blocks(setting) if at == scale else ():
            changed = setting.model_dump()
            block = reduce(lambda values, key: values[key], place, changed)
            block["optimiser"]["learning_rate"] *= 1.5
            new.parameters.settings[study, at] = type(setting).model_validate(changed)
            blocks += 1
    known: dict[str, str] = {}
    names = [
        {
            differences.result_name(run, known)
            for study in catalogue.STUDIES
            for run in of.planned.of(study, scale)
            if run.steps
        }
        for of in (old, new)
    ]
    assert blocks > 2
    assert names[0] == names[1]


def test_parameters_that_git_does_not_have_or_cannot_be_read_are_named(project: Path) -> None:
    (project / STUDY).write_text("studies: {quadrature: {pp: 7}}")
    git(project, "commit", "--quiet", "--all", "--message=wrong")
    git(project, "revert", "--no-edit", "--no-commit", "HEAD")
    with pytest.raises(UserError, match=r"git's HEAD has parameters that this code cannot read: .*study.yaml:1: "):
        differences.show(plan(project))
    shutil.rmtree(project / ".git")
    with pytest.raises(UserError, match="git has no parameters to compare with"):
        differences.show(plan(project))


@pytest.mark.usefixtures("published")
def test_the_plan_of_every_scale_is_shown_without_torch() -> None:
    code = (
        "import sys; from allmlp.plan import overview; from allmlp.plan.params import SCALES\n"
        "from allmlp.plan.plan import load_plan\n"
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
    run = current.chosen_runs["copying"][0]
    Path("logs/train").mkdir(parents=True)
    Path("logs/train/copying_1.log").write_text(f"{run.id}: 20 steps\n")
    Path(next(iter(run.measurements.values()))).parent.mkdir(parents=True)
    Path(next(iter(run.measurements.values()))).touch()
    show_run.show(current, run.id[-8:])
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
