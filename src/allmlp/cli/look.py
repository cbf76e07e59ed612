"""Commands that only look: at plans, machines, runs and what trained models do."""

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import typer

from allmlp.cli.app import (
    LOOK,
    START,
    STEPS,
    DeviceOption,
    Overlays,
    RunArgument,
    ScaleOption,
    StudyOption,
    command,
    options_plan,
)
from allmlp.common.errors import UserError


@command(LOOK, "allmlp plan --scale long")
def plan(
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    study: StudyOption = None,
    runs: Annotated[bool, typer.Option("--runs", help="A row per run.")] = False,
    only_open: Annotated[bool, typer.Option("--open", help="A row per run that is open.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="What changed parameters would do.")] = False,
    why: Annotated[
        str | None, typer.Option(metavar="RUN", help="What differs between a run and the nearest stored one.")
    ] = None,
    devices: Annotated[
        list[int] | None, typer.Option(min=1, help="Devices that work at the same time; may be given more than once.")
    ] = None,
    on: Annotated[str | None, typer.Option(help='A type of GPU, such as "RTX 3060"; the first one listed.')] = None,
    price: Annotated[float | None, typer.Option(min=0, help="Of an hour of one device, in your currency.")] = None,
    budget: Annotated[str | None, typer.Option(help="Hours, such as 100h: the claims that these decide.")] = None,
    disk: Annotated[float | None, typer.Option(min=1, help="GB that trainings under way may take together.")] = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="for people or for machines")] = "table",
) -> None:
    """What would run, and what it costs, before anything runs."""
    options: dict[str, object] = {"--why": why, "--diff": diff, "--budget": budget}
    options |= {"--runs": runs, "--open": only_open, "--price": price, "--devices": devices, "--on": on, "--disk": disk}
    given = [name for name, value in options.items() if value]
    for name in given[1:]:
        if given[0] in ("--why", "--diff", "--budget") and (given[0], name) != ("--budget", "--on"):
            raise UserError(f"{name} cannot be combined with {given[0]}. Give one of them.")
    with _no_collection():
        current = options_plan(params, scale, device, study)
        if why:
            from allmlp.plan import nearest_run

            nearest_run.show(current, why)
        elif diff:
            from allmlp.plan import differences

            differences.show(current)
        else:
            from allmlp.plan import budgeting, overview

            hours = None if budget is None else budgeting.parse_hours(budget)
            room = math.inf if disk is None else 1e9 * disk
            rows = runs or only_open
            overview.show(current, rows, format, devices or overview.DEVICES, price, on, hours, room, only_open)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the garbage collector, an eighth of a plan's time: what it makes is needed until it is printed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@command(STEPS, "allmlp schema")
def schema() -> None:
    """The JSON schema of params.yaml, config/ and files of your own, for editors: workflow/schemas has it too."""
    from allmlp.pipeline import json_schema as keys

    print(keys.text(), end="")


@command(LOOK, "allmlp doctor")
def doctor(
    gpu: Annotated[bool, typer.Option("--gpu", help="Does its GPU compute what a CPU does? Minutes.")] = False,
) -> None:
    """Is this machine fit for the work? Status 1, and the one next step, if not."""
    if gpu:
        from allmlp.pipeline import gpu_check

        raise typer.Exit(gpu_check.show())
    from allmlp.pipeline import doctor as examining

    raise typer.Exit(examining.show())


@command(LOOK, "allmlp show RUN")
def show(
    run: RunArgument,
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """One run: settings, files, logs, measurements, and the claims that rest on it."""
    from allmlp.pipeline import show_run

    show_run.show(options_plan(params, scale, None), run)


@command(STEPS, "allmlp certify RUN")
def certify(
    run: Annotated[str, typer.Argument(help="A run id, a run's folder, or your own weights as safetensors.")],
    attention: Annotated[float, typer.Option(help="0.5 or 1: what your own weights were trained with.")] = 0.5,
) -> None:
    """Proved lower bounds on all margins of a network that adds modulo p.

    The network: embedding, attention 1/2 from the last token to both (no softmax, no norm), one layer of ReLUs.
    A file does not record the attention: --attention 1 scales the values of a network that was trained with it.

    Tensors of a safetensors file: W_E (p, d), W_pos (2, d), W_V (h, d, k), W_O (h, k, d), W_in (d, m), b_in (m),
    W_out (m, d), b_out (d), W_U (d, p).
    """
    from allmlp.studies.quadrature.certify import show

    show(run, START, attention)


@command(LOOK, 'allmlp generate RUN --prompt "Once upon a time"')
def generate(
    run: RunArgument,
    prompt: Annotated[str, typer.Option(help="The beginning of a document.")] = "",
    tokens: Annotated[int, typer.Option(min=0, help="At most so many after the prompt.")] = 100,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.")] = 0.7,
    seed: Annotated[int, typer.Option(help="Of the first text; the others have the next ones.")] = 0,
    count: Annotated[int, typer.Option(min=1, help="How many texts.")] = 1,
    step: Annotated[int | None, typer.Option(help="A step with kept weights; the last one by default.")] = None,
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """What a trained language model writes after a prompt."""
    from allmlp.pipeline import generating
    from allmlp.training.published import load_trained_run

    trained, seeds = load_trained_run(options_plan(params, scale, None).find(run)), range(seed, seed + count)
    for text in generating.texts(trained, prompt, tokens=tokens, temperature=temperature, seeds=seeds, step=step):
        print(f"{prompt}{text}\n")


@command(LOOK, "allmlp power --scale long")
def power(
    scale: Annotated[str | None, typer.Option(help="Only this scale; all planned scales by default.")] = None,
    claim: Annotated[str | None, typer.Option(help="Only this claim, such as 003-6.")] = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="for people or for machines")] = "table",
    write: Annotated[bool, typer.Option(help="Write results/power.json, which the report shows.")] = False,
) -> None:
    """Before a run: the chance that each rule decides, if the claim is true and if it is not."""
    from allmlp.judging import planned_power

    if write:
        planned_power.write()
    else:
        planned_power.show(scale, claim, format)
