"""The program `allmlp`: its groups of commands, the options that they share, and the plan of these options."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from allmlp.common.paths import SELECTED

RUN, LOOK, STATES, EXTEND, STEPS = GROUPS = ("Run", "Look", "States", "Extend", "Steps")


class _GroupedCommands(TyperGroup):
    """Help lists the groups of commands in their order; of the steps that other commands take, names alone."""

    def list_commands(self, ctx: Any) -> list[str]:
        places = {name: GROUPS.index(str(found.rich_help_panel)) for name, found in self.commands.items()}  # type: ignore[attr-defined]
        return sorted(super().list_commands(ctx), key=places.__getitem__)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        hidden = [name for name in self.list_commands(ctx) if self.commands[name].hidden]
        self.epilog = f"Single steps, each with --help: {', '.join(hidden)}."
        super().format_help(ctx, formatter)


app = typer.Typer(cls=_GroupedCommands, pretty_exceptions_enable=False)
Command = TypeVar("Command", bound=Callable[..., None])


def command(group: str, example: str) -> Callable[[Command], Command]:
    """A command in a group of the help, named as its example names it, with that in its own help."""
    epilog = f"Example: {example}"
    return app.command(example.split()[1], rich_help_panel=group, epilog=epilog, hidden=group == STEPS)


START = Path.cwd()  # where the user typed it; commands then work in the project's folder


def run_ids(incomplete: str) -> list[str]:
    """The ids of runs that begin so, for the shell: from results/selected.json, which takes less than a plan."""
    try:
        studies = json.loads(SELECTED.read_bytes())["studies"]
        known = {row[0] for scales in studies.values() for at in scales.values() for row in at["runs"]}
        return sorted(run for run in known if run.startswith(incomplete))
    except (OSError, ValueError, KeyError):
        return []


RunArgument = Annotated[str, typer.Argument(help="A run's id, or the beginning or end of it.", autocompletion=run_ids)]
RunArguments = Annotated[
    list[str] | None,
    typer.Argument(help="Ids of runs, whole: `allmlp plan --runs` lists them.", autocompletion=run_ids),
]
Overlays = Annotated[
    list[Path] | None,
    typer.Option(
        "--params",
        parser=lambda text: START / text,
        help="A file laid over params.yaml and config/; may be given more than once.",
    ),
]
ScaleOption = Annotated[
    str | None, typer.Option(help="smoke, laptop, workstation, long, gpu or paper, instead of params.yaml's.")
]
DeviceOption = Annotated[str | None, typer.Option(help="cpu or cuda, instead of the scale's own.")]
DirtyOption = Annotated[
    bool, typer.Option("--dirty", help="Go on although src/, config/ or params.yaml differ from git's HEAD.")
]
StudyOption = Annotated[str | None, typer.Option(help="One study alone.")]


def options_plan(overlays: list[Path] | None, scale: str | None, device: str | None, study: str | None = None) -> Any:
    """The plan of these options."""
    from allmlp.plan import results_folder
    from allmlp.plan.plan import load_plan

    current = load_plan(overlays or (), {"scale": scale, "device": device, "study": study})
    results_folder.enter(current)
    return current
