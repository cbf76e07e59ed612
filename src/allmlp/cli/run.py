"""Commands that make results: from tokens to the report, alone or many at once."""

from pathlib import Path
from typing import Annotated

import typer

from allmlp.cli.app import (
    RUN,
    START,
    DeviceOption,
    DirtyOption,
    Overlays,
    RunArguments,
    ScaleOption,
    StudyOption,
    command,
    options_plan,
)
from allmlp.common import cores, paths
from allmlp.common.errors import UserError


@command(RUN, "allmlp tokenize stories")
def tokenize(
    corpora: Annotated[
        list[str], typer.Argument(help="Names in config/corpora.yaml, corpora.local.yaml or your own files.")
    ],
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
) -> None:
    """Corpora -> tokens: results/tokens/<corpus>-<digest>/."""
    from allmlp.pipeline.tokenize import tokenize_corpus

    for corpus in corpora:
        tokenize_corpus(options_plan(params, scale, device), corpus)


BatchOption = Annotated[str | None, typer.Option(help="In place of runs: what is open of one of Snakemake's batches.")]


@command(RUN, "allmlp train RUN")
def train(
    runs: RunArguments = None,
    batch: BatchOption = None,
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    measure: Annotated[bool, typer.Option("--measure", help="Take the missing measures too.")] = False,
) -> None:
    """Tokens -> checkpoints: results/checkpoints/<run>/. A killed training goes on where it was."""
    from allmlp.common.deadline import leave_if_passed
    from allmlp.pipeline import jobs, working_tree
    from allmlp.plan.batches import study_name

    leave_if_passed(_run_or_batch(runs, batch))
    current = options_plan(params, scale, device, batch and study_name(batch))
    working_tree.caution(current.root)
    if batch:
        jobs.train_batch(current.batch(batch), measure)
    else:
        named = list(map(current.run, runs or ()))
        jobs.train_runs(named, named if measure else ())


@command(RUN, "allmlp measure RUN")
def measure(
    runs: RunArguments = None,
    batch: BatchOption = None,
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
) -> None:
    """Checkpoints -> measurements: work/measurements/; `allmlp select` takes them into the store."""
    from allmlp.common.deadline import leave_if_passed
    from allmlp.pipeline import jobs, release_weights
    from allmlp.plan.batches import study_name

    leave_if_passed(_run_or_batch(runs, batch))
    current = options_plan(params, scale, device, batch and study_name(batch))
    if batch:
        jobs.measure_batch(current.batch(batch))
    else:
        jobs.measure_runs(list(map(current.run, runs or ())))
    release_weights.release(current)


def _run_or_batch(runs: list[str] | None, batch: str | None) -> str:
    """The first run, or the batch. UserError for both and for none."""
    if bool(runs) == bool(batch):
        raise UserError("name runs, or one batch by --batch: `allmlp plan --runs` lists runs, `snakemake -n` batches.")
    return batch or (runs or [""])[0]


@command(RUN, "allmlp report")
def report(
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    export: Annotated[
        Path | None, typer.Option(help="Then write the verdicts into this folder, as a data set.", metavar="DIR")
    ] = None,
) -> None:
    """Measurements -> everything up to results/report.html: select, then the stages that are out of date."""
    from allmlp.plan import results_folder
    from allmlp.report.last_mile import report as write

    for study, figures in write(results_folder.report_plan(options_plan(params, scale, device))).items():
        print(f"{study}: drew {', '.join(figures)}")
    print(f"report: {Path.cwd() / paths.REPORT}")
    if export:
        from allmlp.report.dataset import export as write_data

        print(f"data set: {', '.join(str(file) for file in write_data(export))}")


@command(RUN, "allmlp reproduce --cores 2")
def reproduce(
    params: Overlays = None,
    cores: Annotated[int, typer.Option(min=1, help="All of this machine by default.")] = cores.count(),
    against: Annotated[str | None, typer.Option(metavar="STATE", help="Compare with this state of git.")] = None,
    dirty: DirtyOption = False,
) -> None:
    """Every run of the chosen scale again from nothing, compared with the results in git's HEAD, and the report."""
    from allmlp.pipeline import working_tree
    from allmlp.pipeline.reproduce import reproduce as again
    from allmlp.pipeline.states.repository import commit

    if not dirty:  # otherwise Snakemake warns
        working_tree.refuse(paths.project())
    if against:
        commit(against)
    raise typer.Exit(again(params or [], cores, against))


@command(RUN, "allmlp advance --minutes 60")
def advance(
    minutes: Annotated[float, typer.Option(help="When to save all states and exit.")],
    cores: Annotated[int, typer.Option(min=1, help="All of this machine by default.")] = cores.count(),
    params: Overlays = None,
    scale: ScaleOption = "long",
    device: DeviceOption = None,
    study: StudyOption = None,
    dirty: DirtyOption = False,
) -> None:
    """Work through a scale's open runs until a deadline, most claims per hour first; the next call goes on."""
    from allmlp.pipeline import advancing, working_tree

    (working_tree.caution if dirty else working_tree.refuse)(paths.project())
    current = options_plan(params, scale, device, study)
    words = advancing.snakemake_words(params or [], current.scale, current.parameters.device, study)
    raise typer.Exit(advancing.advance(current, minutes, cores, words))


@command(RUN, "allmlp pack open.bundle --scale long")
def pack(
    file: Annotated[Path, typer.Argument(help="The bundle to write.")],
    max_mb: Annotated[float, typer.Option(help="Refuse to write a larger bundle.")] = 64,
    hours: Annotated[float | None, typer.Option(help="Only as many runs as these do, most claims first.")] = None,
    params: Overlays = None,
    scale: ScaleOption = "long",
    device: DeviceOption = None,
    study: StudyOption = None,
) -> None:
    """A scale's open runs as one file: their newest states, their inputs, and finished work that is not in git."""
    from allmlp.pipeline.bundles import packing

    packing.pack(options_plan(params, scale, device, study), START / file, max_mb, hours)


@command(RUN, "allmlp unpack open.bundle")
def unpack(file: Annotated[Path, typer.Argument(help="The bundle.")]) -> None:
    """Unpack the parts of a bundle that are newer than the files here; everything in it is checked first."""
    from allmlp.pipeline.bundles import unpacking

    unpacking.unpack(START / file)
