"""`allmlp`: one thin command per verb of the pipeline.

app                                 the program, and the options that commands share
run, look, states, extend, steps    the commands, by their group in `allmlp --help`
"""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from allmlp import __version__
from allmlp.cli import extend, look, run, states, steps
from allmlp.cli.app import GROUPS, app, options_plan
from allmlp.common import paths
from allmlp.common.errors import UserError, disk_error

__all__ = ["GROUPS", "app", "extend", "look", "main", "run", "states", "steps"]  # modules: their commands enter `app`


def _version(asked: bool) -> None:
    if asked:
        print(f"allmlp {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def here(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Experiments of five papers on MLPs: run, judged, reported. `allmlp` alone says what is next."""
    if context.invoked_subcommand is None:
        from allmlp.pipeline import next_step

        next_step.show(options_plan(None, None, None))


def main() -> None:
    """Run a command. An error that the user can correct ends with one message and status 2."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a character gets its number
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if not {"--help", "--version"} & {*sys.argv}:
            paths.enter(sys.argv[1] if sys.argv[1:] else "")
        app()
    except (UserError, OSError) as error:
        said = disk_error(error) if isinstance(error, OSError) else error
        if said is None:
            raise
        if (folders := sys.modules.get("allmlp.plan.results_folder")) is not None:  # imported by commands that make one
            folders.remove_unused()
        print(f"error: {said}", file=sys.stderr)
        raise SystemExit(2) from None
