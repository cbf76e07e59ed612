"""Commands for a model of your own, and for models that leave this project."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from allmlp.cli.app import EXTEND, START, DeviceOption, Overlays, RunArgument, ScaleOption, command, options_plan

TRIED = "copying, stories or, at larger scales, bytes, recall, multi-recall, addition; may be given more than once."


@command(EXTEND, "allmlp try my_mixer.py --minutes 5")
def try_(
    file: Annotated[Path, typer.Argument(help="A Python file with one torch.nn.Module: Mixer(d_model, context).")],
    minutes: Annotated[float, typer.Option(min=0.01, help="Of all trainings; steps are cut to it.")] = 5,
    task: Annotated[list[str] | None, typer.Option(help=TRIED)] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many; those of the scale by default.")] = None,
    scale: Annotated[
        str | None, typer.Option(help="Of sizes and budgets; by default laptop, and workstation where it fits.")
    ] = None,
) -> None:
    """A mixer of your own on the crossover's tasks, beside the committed architectures. Runs the file's code."""
    from allmlp.pipeline import try_mixer
    from allmlp.plan.plan import load_plan

    asked = try_mixer.Request(Path(os.path.normpath(START / file)), minutes, task or (), seeds, larger=scale is None)
    print(try_mixer.attempt(load_plan(changes={"scale": scale or "laptop"}), asked))


@command(EXTEND, "allmlp new study averages")
def new(
    kind: Annotated[Literal["study", "architecture"], typer.Argument(help="What to make.")],
    name: Annotated[str, typer.Argument(help="A study's is one word, an architecture's words with - between.")],
) -> None:
    """The files of a study or an architecture of your own, ready to run; change them to yours."""
    from allmlp.pipeline import new as writing

    raise typer.Exit(writing.make(kind, name))


@command(EXTEND, "allmlp audit transformer")
def audit(
    architectures: Annotated[list[str] | None, typer.Argument(help="Names of the registry; all unless given.")] = None,
    run: Annotated[list[str] | None, typer.Option(help="A trained run's id: its weights, at its own size.")] = None,
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="for people or for machines")] = "text",
) -> None:
    """Does any architecture see the future, its padding or its batch? Status 1 if one does without declaring it."""
    from allmlp import models
    from allmlp.models import audit as auditor
    from allmlp.models.audit.findings import show
    from allmlp.training.published import TrainedRun

    findings = auditor.audit(architectures or ([] if run else models.REGISTRY))
    if run:
        current = options_plan(params, scale, device)
        for trained in (TrainedRun(current.run(name)) for name in run):
            of = trained.run
            findings += auditor.audit_weights(of.id, of.architecture, of.hyperparameters, trained.model())
    raise typer.Exit(1 if show(findings, format) else 0)


@command(EXTEND, "allmlp export RUN --format hf")
def export(
    run: RunArgument,
    format: Annotated[Literal["hf", "tensorboard"], typer.Option(help="hf: a folder that transformers loads.")] = "hf",
    to: Annotated[Path | None, typer.Option(help="The folder; of hf a new one, by default in work/.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="tensorboard: go on until the training ends.")] = False,
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """A run for other tools: a trained language model for transformers, or a training log for TensorBoard.

    hf writes weights, the architecture's source files, tokenizer, and a card from what was measured. transformers runs
    these files; the card shows how.
    """
    from allmlp.pipeline.exporting import hf, tensorboard
    from allmlp.training.published import load_trained_run

    found = options_plan(params, scale, None).find(run)
    if format == "hf":
        folder = START / to if to else Path.cwd() / "work/hf" / found.id
        hf.write(load_trained_run(found), folder)
        print(f"{folder}: README.md there shows how to load it")
    else:
        folder = START / to if to else Path.cwd() / "work/tensorboard"
        print(f"tensorboard --logdir {folder}", flush=True)
        tensorboard.write(found, folder / found.id, follow)  # a folder per run: older events there are replaced
