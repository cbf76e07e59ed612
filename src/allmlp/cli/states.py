"""Commands for states of the project: kept, pinned, verified, compared."""

from pathlib import Path
from typing import Annotated

import typer

from allmlp.cli.app import (
    START,
    STATES,
    STEPS,
    DeviceOption,
    Overlays,
    RunArguments,
    ScaleOption,
    command,
    options_plan,
)
from allmlp.common import cores
from allmlp.common.errors import UserError


@command(STATES, "allmlp keep --push")
def keep(
    runs: RunArguments = None,
    push: Annotated[bool, typer.Option("--push", help="Send them to your remote.")] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Put these runs into results/models, for every clone; 10 MB in all.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take the pointers of these runs back; their weights stay here.")
    ] = False,
) -> None:
    """Hand complete runs and tokens to DVC, one pointer each: those named, or those of git's plan.

    Your own texts, their runs and trials must be named: from tokens that are pushed, the text can be read.
    """
    from allmlp.common import dvc
    from allmlp.plan import results_folder

    if undo and (push or publish or not runs):
        raise UserError("--undo: name the runs or tokens, and leave out --push and --publish.")
    if undo:
        dvc.undo(runs or [])
        return
    if publish and (push or not runs):
        raise UserError("--publish: name the runs, and leave out --push: results/models is their remote.")
    if publish:
        dvc.publish(runs or [])
    else:
        dvc.keep(runs, push, results_folder.names_of_git)


@command(STATES, "allmlp pin NAME")
def pin(
    name: Annotated[str, typer.Argument(help="Of the state, and of git's tag.")],
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """Name this state, if everything is committed, measured and in the remote: a tag, and a row of results/PINS.md."""
    from allmlp.pipeline.states import pinning

    pinning.pin(options_plan(params, scale, None), name)


@command(STEPS, "allmlp pins")
def pins() -> None:
    """The pinned states: name, commit, day, verdicts. `git checkout NAME && dvc pull --allow-missing` restores one."""
    from allmlp.pipeline.states import pinning

    pinning.pins()


@command(STATES, "allmlp verify --rerun --claim 002-5")
def verify(
    rerun: Annotated[bool, typer.Option("--rerun", help="Train and measure again, apart, and compare.")] = False,
    claim: Annotated[
        str | None, typer.Option(help="The runs behind this claim's verdict, which is judged too.")
    ] = None,
    study: Annotated[str | None, typer.Option(help="All runs of this study at a scale.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="With --claim: only so many seeds; the others stay as committed.")
    ] = None,
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    cores: Annotated[int, typer.Option(min=1, help="All of this machine by default.")] = cores.count(),
) -> None:
    """Read every result again: is it the bytes that were recorded? Status 1 if one is not.

    With --rerun, train and measure runs again, apart, and compare; no committed file changes. --claim says first how
    long that takes, and in the end compares the verdict. It takes the scale of the verdict, and the learning rates that
    the committed searches chose; a search is trained again where git does not have how it ended. --study trains all.
    """
    from allmlp.pipeline.states import rerunning, verifying

    if not rerun:
        if given := [f"--{name}" for name, value in (("claim", claim), ("study", study), ("seeds", seeds)) if value]:
            raise UserError(f"{given[0]}: says what --rerun trains. Give both.")
        raise typer.Exit(verifying.show(verifying.verify()))
    if bool(claim) == bool(study) or (seeds and study):
        raise UserError("--rerun: needs --claim or --study, one of them; --seeds goes with --claim.")
    if claim:
        raise typer.Exit(rerunning.rerun_claim(claim, scale, seeds, cores, params or (), device))
    raise typer.Exit(rerunning.rerun_study(options_plan(params, scale, device, study), cores))


@command(STATES, "allmlp diff STATE_A STATE_B")
def diff(
    before: Annotated[str, typer.Argument(help="A commit, tag or pinned name, or a folder such as own/my.")],
    after: Annotated[str | None, typer.Argument(help="Another one; the working folder by default.")] = None,
    page: Annotated[Path | None, typer.Option(help="HTML too.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write results/moved.json, the report's table of verdicts that moved.")
    ] = False,
) -> None:
    """What two states say otherwise: parameters; verdicts, and why; values beyond the other state's interval."""
    from allmlp.pipeline.states import comparing

    comparing.show(before, after, START / page if page else None, write)
