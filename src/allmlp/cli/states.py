"""Commands for states of the project: kept, pinned, verified, compared."""

from pathlib import Path
from typing import Annotated

import typer

from allmlp import processors
from allmlp.cli.app import START, STATES, DeviceOption, Overlays, ScaleOption, command, plan_of


@command(STATES, "allmlp keep --push")
def keep(runs: Annotated[list[str] | None, typer.Argument()] = None, push: bool = False) -> None:
    """Hand complete runs (all, or those named) and tokens to DVC, one pointer each; --push sends them to the remote."""
    from allmlp.keeping import keep as add

    add(runs, push)


@command(STATES, "allmlp pin NAME")
def pin(name: str, params: Overlays = None, scale: ScaleOption = None) -> None:
    """Name this state, if everything is committed, measured and in the remote: a tag, and a row of results/PINS.md."""
    from allmlp.states import pinning

    pinning.pin(plan_of(params, scale, None), name)


@command(STATES, "allmlp pins")
def pins() -> None:
    """The pinned states: name, commit, day, verdicts. `git checkout NAME && dvc pull` restores one."""
    from allmlp.states import pinning

    pinning.pins()


@command(STATES, "allmlp verify --rerun language")
def verify(
    rerun: Annotated[str | None, typer.Option(metavar="STUDY", help="Train its runs again and compare.")] = None,
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    cores: int = processors.count(),
) -> None:
    """Read every result again: is it the bytes that were recorded? Status 1 if one is not.

    With --rerun, train and measure a study's runs again, apart, and compare; no file changes. The other options choose
    these runs.
    """
    from allmlp.states import rerunning, verifying

    if rerun:
        raise typer.Exit(rerunning.rerun(plan_of(params, scale, device, rerun), cores))
    raise typer.Exit(verifying.show(verifying.verify()))


@command(STATES, "allmlp diff STATE_A STATE_B")
def diff(before: str, after: str, page: Annotated[Path | None, typer.Option(help="HTML too.")] = None) -> None:
    """Parameters and verdicts that differ between two states, and values beyond the other state's interval."""
    from allmlp.states import comparing

    comparing.show(before, after, START / page if page else None)


@command(STATES, "allmlp moved STATE --write")
def moved(
    before: str,
    after: Annotated[str | None, typer.Argument(help="The working folder by default.")] = None,
    write: Annotated[bool, typer.Option(help="Write results/moved.json, which the report shows.")] = False,
) -> None:
    """The verdicts that moved between two states, and why: scale, runs, rule, its code, or the family of tests."""
    from allmlp.states import moving

    moving.show(before, after, write)
