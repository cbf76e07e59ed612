"""Commands that make results: from tokens to the report, alone or many at once."""

from pathlib import Path
from typing import Annotated

import typer

from allmlp import paths, processors
from allmlp.cli.app import RUN, START, DeviceOption, DirtyOption, Overlays, ScaleOption, StudyOption, command, plan_of


@command(RUN, "allmlp tokenize stories")
def tokenize(
    corpora: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None
) -> None:
    """Corpora -> tokens: results/tokens/<corpus>-<digest>/."""
    from allmlp.tokenizing import tokenize_corpus

    for corpus in corpora:
        tokenize_corpus(plan_of(params, scale, device), corpus)


@command(RUN, "allmlp train RUN")
def train(
    runs: list[str],
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    measure: Annotated[bool, typer.Option("--measure", help="Take the missing measures too.")] = False,
) -> None:
    """Tokens -> checkpoints: results/checkpoints/<run>/. A killed training goes on where it was."""
    from allmlp import uncommitted
    from allmlp.jobs import train_runs
    from allmlp.training.deadline import leave_if_passed

    leave_if_passed(runs[0])
    current = plan_of(params, scale, device)
    uncommitted.caution(current.root)
    train_runs([current.run(run) for run in runs], measure)


@command(RUN, "allmlp measure RUN")
def measure(runs: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Checkpoints -> measurements: work/measurements/; `allmlp select` takes them into the store."""
    from allmlp import releasing
    from allmlp.jobs import measure_runs
    from allmlp.training.deadline import leave_if_passed

    leave_if_passed(runs[0])
    current = plan_of(params, scale, device)
    measure_runs([current.run(run) for run in runs])
    releasing.release(current)


@command(RUN, "allmlp report")
def report(params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Measurements -> everything up to results/report.html: select, then the stages that are out of date."""
    from allmlp.report.last_mile import report as write

    for study, figures in write(plan_of(params, scale, device)).items():
        print(f"{study}: drew {', '.join(figures)}")
    print(f"report: {Path.cwd() / paths.REPORT}")


@command(RUN, "allmlp reproduce --cores 2")
def reproduce(
    params: Overlays = None,
    cores: int = processors.count(),
    against: Annotated[str | None, typer.Option(metavar="STATE", help="Compare with this state of git.")] = None,
    dirty: DirtyOption = False,
) -> None:
    """Every run of the chosen scale again from nothing, compared with the results in git's HEAD, and the report."""
    from allmlp import uncommitted
    from allmlp.reproducing import reproduce as again
    from allmlp.states.repository import commit

    if not dirty:  # otherwise Snakemake warns
        uncommitted.refuse(paths.project())
    if against:
        commit(against)
    raise typer.Exit(again(params or [], cores, against))


@command(RUN, "allmlp advance --minutes 60")
def advance(
    minutes: Annotated[float, typer.Option(help="When to save all states and exit.")],
    cores: Annotated[int, typer.Option(min=1)] = processors.count(),
    params: Overlays = None,
    scale: ScaleOption = "long",
    device: DeviceOption = None,
    study: StudyOption = None,
    dirty: DirtyOption = False,
) -> None:
    """Work through a scale's open runs until a deadline, most claims per hour first; the next call goes on."""
    from allmlp import advancing, uncommitted

    (uncommitted.caution if dirty else uncommitted.refuse)(paths.project())
    words = advancing.snakemake_words(params or [], scale, device, study)
    raise typer.Exit(advancing.advance(plan_of(params, scale, device, study), minutes, cores, words))


@command(RUN, "allmlp pack open.bundle --scale long")
def pack(
    file: Path,
    max_mb: Annotated[float, typer.Option(help="Refuse to write a larger bundle.")] = 64,
    params: Overlays = None,
    scale: ScaleOption = "long",
    device: DeviceOption = None,
    study: StudyOption = None,
) -> None:
    """A scale's open runs as one file: their newest states, their inputs, and finished work that is not in git."""
    from allmlp.bundles import packing

    packing.pack(plan_of(params, scale, device, study), START / file, max_mb)


@command(RUN, "allmlp unpack open.bundle")
def unpack(file: Path) -> None:
    """Unpack the parts of a bundle that are newer than the files here; everything in it is checked first."""
    from allmlp.bundles import unpacking

    unpacking.unpack(START / file)
