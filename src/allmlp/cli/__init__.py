"""`allmlp`: one thin command per verb of the pipeline.

app                                 the program, and the options that commands share
run, look, states, extend, house    the commands, by their group in `allmlp --help`
"""

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from allmlp import __version__, paths
from allmlp.cli import extend, house, look, run, states
from allmlp.cli.app import GROUPS, app, plan_of
from allmlp.errors import UserError, of_the_disk

__all__ = ["GROUPS", "app", "extend", "house", "look", "main", "run", "states"]  # modules: their commands enter `app`


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
        from allmlp import here as standing

        standing.show(plan_of(None, None, None))


def main() -> None:
    """Run a command. An error that the user can correct ends with one message and status 2."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a character gets its number
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if not {"--help", "--version"} & {*sys.argv}:
            os.chdir(paths.directory())
        app()
    except (UserError, OSError) as error:
        said = of_the_disk(error) if isinstance(error, OSError) else error
        if said is None:
            raise
        print(f"error: {said}", file=sys.stderr)
        raise SystemExit(2) from None
