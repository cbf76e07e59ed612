"""`allmlp` alone: where one is and the one next thing; and a help in groups whose examples are right."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from allmlp.cli import main
from allmlp.cli.app import STEPS
from allmlp.pipeline import next_step
from allmlp.plan import params
from allmlp.plan.plan import Plan
from tests.conftest import PROJECT, environment


def said(project: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The lines by their first word."""
    next_step.show(Plan(params.load(project / "params.yaml"), project))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 8
    return {line.split()[0]: line[10:] for line in lines}


def test_the_next_thing_follows_from_what_is_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(params.load(project / "params.yaml"), project)
    asked = sum(bool(run.measures) for run in plan.runs)  # the others are only read by them
    lines = said(project, capsys)
    assert lines["clone"].startswith(f"{project}, at ")
    assert lines["clone"].endswith(" parameters")
    assert lines["scale"] == "smoke, on cpu"
    assert lines["measured"] == f"{len(plan.runs) - asked} of {len(plan.runs)} runs"
    assert lines["open"] == f"{asked} runs"
    assert lines["next"] == "snakemake --cores all"

    for file in (file for run in plan.runs for file in run.measurements.values()):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    lines = said(project, capsys)
    count = sum(len(run.measurements) for run in plan.runs)
    assert (
        lines["measured"]
        == f"{len(plan.runs)} of {len(plan.runs)} runs, {count} measurements are not in the report yet"
    )
    assert lines["next"] == "allmlp report"

    (project / "src/allmlp").mkdir(parents=True)
    (project / "src/allmlp/mine.py").write_text("x = 1\n")
    lines = said(project, capsys)
    assert "changed files" in lines["clone"]
    assert lines["next"] == "allmlp check"


def test_the_committed_results_are_all_measured(committed_last_mile: None, published: Path) -> None:
    found = next_step.scale_status(Plan(params.load(published, committed=True), PROJECT, committed=True))
    assert (found.measured, found.stale, found.open_count, found.new) == (found.runs, 0, 0, 0)


def test_it_imports_none_of_the_slow_libraries() -> None:
    asked = "import sys; from allmlp.cli.main import main; main(); sys.exit()"
    program = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {asked}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, env=environment(PROJECT), capture_output=True, text=True
    )
    assert "\nnext " in done.stdout
    assert "pydantic" in done.stderr.split()
    assert not {"torch", "pandas", "scipy", "matplotlib"} & set(done.stderr.split())


COMMANDS = typer.main.get_command(main.app).commands  # type: ignore[attr-defined]


def test_help_lists_the_groups_in_their_order_and_names_the_single_steps() -> None:
    help = subprocess.run(
        [sys.executable, "-m", "allmlp", "--help"],
        cwd=PROJECT,
        env=environment(PROJECT),
        capture_output=True,
        text=True,
    ).stdout
    shown = [group for group in main.GROUPS if group != STEPS]
    places = [help.index(f" {group} ─") for group in shown]
    assert places == sorted(places)
    words = help[help.index("Single steps") :].replace(",", " ").replace(".", " ").split()
    steps = {name for name, command in COMMANDS.items() if command.rich_help_panel == STEPS}
    assert steps <= set(words)
    assert {name for name, command in COMMANDS.items() if command.hidden} == steps


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_group_and_an_example_that_can_be_typed(name: str) -> None:
    command = COMMANDS[name]
    assert command.rich_help_panel in main.GROUPS
    program, verb, *words = shlex.split(command.epilog.removeprefix("Example: "))
    assert (program, verb) == ("allmlp", name)
    command.make_context(name, words)


def test_it_says_what_larger_scales_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    done, gpu = (
        next_step.ScaleStatus(3, 3, 0, 0),
        {"planned": {"cost": ["a", "b"]}, "measurements": {"cost": {"a": None}}},
    )
    monkeypatch.setattr(next_step, "_selected_measurements", lambda: {"mine": {"gpu": gpu}})
    plan = SimpleNamespace(scale="long")
    assert next_step.next_command(plan, done, edited=False) == (  # type: ignore[arg-type]
        "allmlp try my_mixer.py",
        "every run that needs no GPU is measured; of gpu 1 are open. A mixer of your own goes beside them",
    )
    monkeypatch.setattr(next_step, "_selected_measurements", lambda: {"mine": {"long": gpu}})
    command, why = next_step.next_command(SimpleNamespace(scale="laptop"), done, edited=False)  # type: ignore[arg-type]
    assert (command, why) == ("allmlp advance --minutes 60", "all of scale laptop is measured; of long 1 are open")


@pytest.mark.usefixtures("in_project")
def test_the_shell_completes_the_ids_of_runs() -> None:
    run = selected_ids()[0]
    typed = {"_ALLMLP_COMPLETE": "complete_bash", "COMP_WORDS": f"allmlp show {run[:-3]}", "COMP_CWORD": "2"}
    done = subprocess.run(
        [Path(sys.executable).with_name("allmlp")],
        env={**os.environ, **typed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run in done.stdout.split()
    assert all(line.startswith(run[:-3]) for line in done.stdout.split())


def selected_ids() -> list[str]:
    studies = json.loads((PROJECT / "results/selected.json").read_text())["studies"]
    return [row[0] for scales in studies.values() for at in scales.values() for row in at["runs"]]
