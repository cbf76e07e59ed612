"""`allmlp`: one thin command per verb of the pipeline."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperGroup

from allmlp import paths
from allmlp.errors import UserError, of_the_disk

RUN, LOOK, STATES, EXTEND, HOUSE = GROUPS = ("Run", "Look", "States", "Extend", "Keep the house")


class _InGroups(TyperGroup):
    """Help lists the groups of commands in their order."""

    def list_commands(self, ctx: Any) -> list[str]:
        places = {name: GROUPS.index(str(found.rich_help_panel)) for name, found in self.commands.items()}  # type: ignore[attr-defined]
        return sorted(super().list_commands(ctx), key=places.__getitem__)


app = typer.Typer(cls=_InGroups, pretty_exceptions_enable=False)
Command = TypeVar("Command", bound=Callable[..., None])


def command(group: str, example: str) -> Callable[[Command], Command]:
    """A command in a group of the help, named as its example names it, with that in its own help."""
    return app.command(example.split()[1], rich_help_panel=group, epilog=f"Example: {example}")


START = Path.cwd()  # where the user typed it; commands then work in the project's folder

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
StudyOption = Annotated[str | None, typer.Option(help="One study alone.")]


def _plan(overlays: list[Path] | None, scale: str | None, device: str | None, study: str | None = None):  # type: ignore[no-untyped-def]
    try:
        from allmlp.plan import load_plan
    except ImportError:  # a machine with torch alone: the plan that a bundle brought
        from allmlp.resolved import brought

        return brought(scale, overlays)
    from allmlp import own

    current = load_plan(overlays or (), {"scale": scale, "device": device, "study": study})
    own.enter(current)
    return current


@app.callback(invoke_without_command=True)
def here(context: typer.Context) -> None:
    """Experiments of five papers on MLPs: run, judged, reported. `allmlp` alone says what is next."""
    if context.invoked_subcommand is None:
        from allmlp import here as standing

        standing.show(_plan(None, None, None))


@command(LOOK, "allmlp plan --scale long")
def plan(
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    study: StudyOption = None,
    runs: Annotated[bool, typer.Option("--runs", help="A row per run.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="What changed parameters would do.")] = False,
    devices: Annotated[
        list[int] | None, typer.Option(min=1, help="Devices that work at the same time; may be given more than once.")
    ] = None,
    on: Annotated[str | None, typer.Option(help='A type of GPU, such as "RTX 3060"; the first one listed.')] = None,
    price: Annotated[float | None, typer.Option(min=0, help="Of an hour of one device, in your currency.")] = None,
    budget: Annotated[str | None, typer.Option(help="Hours, such as 100h: the claims that these decide.")] = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="for people or for machines")] = "table",
) -> None:
    """What would run, and what it costs, before anything runs."""
    others = {"--runs": runs, "--price": price, "--budget": budget, "--devices": devices, "--on": on}
    given = [name for name, value in others.items() if value]
    if clash := given if diff else [name for name in given if budget and name in ("--runs", "--price", "--devices")]:
        raise UserError(f"{clash[0]}: says nothing beside {'--diff' if diff else '--budget'}. Give one of them.")
    current = _plan(params, scale, device, study)
    if diff:
        from allmlp import differing

        differing.show(current)
    else:
        from allmlp import budgeting, overview

        hours = None if budget is None else budgeting.hours_of(budget)
        overview.show(current, runs, format, devices or overview.DEVICES, price, on, hours)


@command(LOOK, "allmlp doctor")
def doctor(
    gpu: Annotated[bool, typer.Option("--gpu", help="Does its GPU compute what a CPU does? Minutes.")] = False,
) -> None:
    """Is this machine fit for the work? Status 1, and the one next step, if not."""
    if gpu:
        from allmlp import gpu_check

        raise typer.Exit(gpu_check.show())
    from allmlp import doctor as examining

    raise typer.Exit(examining.show())


@command(LOOK, "allmlp show RUN")
def show(
    run: Annotated[str, typer.Argument(help="A run's id, or the beginning or end of it.")],
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """One run: settings, files, logs, measurements, and the claims that rest on it."""
    from allmlp import showing

    showing.show(_plan(params, scale, None), run)


@command(RUN, "allmlp tokenize stories")
def tokenize(
    corpora: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None
) -> None:
    """Corpora -> tokens: results/tokens/<corpus>-<digest>/."""
    from allmlp.tokenizing import tokenize_corpus

    for corpus in corpora:
        tokenize_corpus(_plan(params, scale, device), corpus)


@command(RUN, "allmlp train RUN")
def train(runs: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Tokens -> checkpoints: results/checkpoints/<run>/. A killed training goes on where it was."""
    from allmlp.jobs import train_runs
    from allmlp.training.deadline import leave_if_passed

    leave_if_passed(runs[0])
    current = _plan(params, scale, device)
    train_runs([current.run(run) for run in runs])


@command(RUN, "allmlp measure RUN")
def measure(runs: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Checkpoints -> measurements: work/measurements/; `allmlp select` takes them into the store."""
    from allmlp import releasing
    from allmlp.jobs import measure_runs
    from allmlp.training.deadline import leave_if_passed

    leave_if_passed(runs[0])
    current = _plan(params, scale, device)
    measure_runs([current.run(run) for run in runs])
    releasing.release(current)


@command(EXTEND, "allmlp try my_mixer.py --minutes 5")
def try_(
    file: Annotated[Path, typer.Argument(help="A Python file with one torch.nn.Module: Mixer(d_model, context).")],
    minutes: Annotated[float, typer.Option(min=0.01, help="Of all trainings; steps are cut to it.")] = 5,
    task: Annotated[list[str] | None, typer.Option(help="A task; may be given more than once. All by default.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many; those of the scale by default.")] = None,
    scale: Annotated[str, typer.Option(help="Sizes and budgets: smoke, laptop, workstation.")] = "laptop",
) -> None:
    """A mixer of your own on the crossover's tasks, beside the committed architectures. Runs the file's code."""
    from allmlp import trying
    from allmlp.plan import load_plan

    asked = trying.Request(START / file, minutes, task or (), seeds)
    print(trying.attempt(load_plan(changes={"scale": scale}), asked))


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
    from allmlp import audit as auditor
    from allmlp import models
    from allmlp.audit.findings import show
    from allmlp.training.trained import Trained

    findings = auditor.audit(architectures or ([] if run else models.REGISTRY))
    if run:
        current = _plan(params, scale, device)
        findings += [finding for name in run for finding in auditor.audit_run(Trained(current.run(name)))]
    raise typer.Exit(1 if show(findings, format) else 0)


@command(LOOK, "allmlp certify RUN")
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
    run: Annotated[str, typer.Argument(help="A run's id, or the beginning or end of it.")],
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
    from allmlp import generating
    from allmlp.training.trained import at_hand

    trained, seeds = at_hand(_plan(params, scale, None).find(run)), range(seed, seed + count)
    for text in generating.texts(trained, prompt, tokens=tokens, temperature=temperature, seeds=seeds, step=step):
        print(f"{prompt}{text}\n")


@command(EXTEND, "allmlp export RUN --format hf")
def export(
    run: Annotated[str, typer.Argument(help="A run's id, or the beginning or end of it.")],
    format: Annotated[Literal["hf", "tensorboard"], typer.Option(help="hf: a folder that transformers loads.")] = "hf",
    to: Annotated[Path | None, typer.Option(help="The folder; of hf a new one, by default in work/.")] = None,
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """A run for other tools: a trained language model for transformers, or a training log for TensorBoard.

    hf writes weights, the architecture's source files, tokenizer, and a card from what was measured. transformers runs
    these files; the card shows how.
    """
    from allmlp.exporting import hf, tensorboard
    from allmlp.training.trained import at_hand

    found = _plan(params, scale, None).find(run)
    if format == "hf":
        folder = START / to if to else Path.cwd() / "work/hf" / found.id
        hf.write(at_hand(found), folder)
        print(f"{folder}: README.md there shows how to load it")
    else:
        folder = START / to if to else Path.cwd() / "work/tensorboard"
        tensorboard.write(found, folder / found.id)  # a folder per run: older events there are replaced
        print(f"tensorboard --logdir {folder}")


@command(HOUSE, "allmlp select")
def select(params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Plan -> results/selected.json: the measurements that the last mile reads."""
    from allmlp.report.select import select as write

    write(_plan(params, scale, device))


@command(HOUSE, "allmlp stages")
def stages() -> None:
    """Sources -> results/stages.json: a digest of the code behind each stage of the last mile."""
    from allmlp.report.stages import write

    write()


@command(HOUSE, "allmlp judge")
def judge() -> None:
    """Measurements -> results/claims.json: a verdict for every claim."""
    from collections import Counter

    from allmlp.report import judge
    from allmlp.report.workers import done

    (found,) = done([judge.work()])
    verdicts = Counter(claim["verdict"] for claim in found["claims"])
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))


@command(LOOK, "allmlp power --scale long")
def power(
    scale: Annotated[str | None, typer.Option(help="Only this scale; all planned scales by default.")] = None,
    claim: Annotated[str | None, typer.Option(help="Only this claim, such as 003-6.")] = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="for people or for machines")] = "table",
    write: Annotated[bool, typer.Option(help="Write results/power.json, which the report shows.")] = False,
) -> None:
    """Before a run: the chance that each rule decides, if the claim is true and if it is not."""
    from allmlp.report import planned_power

    if write:
        planned_power.write()
    else:
        planned_power.show(scale, claim, format)


@command(HOUSE, "allmlp draw crossover")
def draw(
    studies: list[str],
    png: Annotated[bool, typer.Option("--png", help="All figures as PNG, in work/figures/<study>, instead.")] = False,
) -> None:
    """Measurements -> results/figures/<study>; only changed figures are drawn."""
    from allmlp.report import draw
    from allmlp.report.workers import done

    for study, files in zip(studies, done([draw.work(study, png) for study in studies]), strict=True):
        drawn = ", ".join(file.name if png else file.stem for file in files)
        print(f"{study}: drew {drawn or 'nothing: all figures are up to date'}")


@command(HOUSE, "allmlp tabulate")
def tabulate() -> None:
    """Measurements -> results/tables."""
    from allmlp.report import tabulate
    from allmlp.report.workers import done

    done([tabulate.work()])


@command(HOUSE, "allmlp render --pdf")
def render(
    pdf: Annotated[bool, typer.Option(help="Also write results/report.pdf (needs Chromium or Chrome).")] = False,
) -> None:
    """Claims, figures, tables -> results/report.html."""
    from allmlp.report.render import render as write

    print(write(pdf=pdf))


@command(RUN, "allmlp report")
def report(params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Measurements -> everything up to results/report.html: select, then the stages that are out of date."""
    from allmlp.report.last_mile import report as write

    for study, figures in write(_plan(params, scale, device)).items():
        print(f"{study}: drew {', '.join(figures)}")
    print(f"report: {Path.cwd() / paths.REPORT}")


@command(STATES, "allmlp keep --push")
def keep(runs: Annotated[list[str] | None, typer.Argument()] = None, push: bool = False) -> None:
    """Hand complete runs (all, or those named) and tokens to DVC, one pointer each; --push sends them to the remote."""
    from allmlp.keeping import keep as add

    add(runs, push)


@command(STATES, "allmlp pin NAME")
def pin(name: str, params: Overlays = None, scale: ScaleOption = None) -> None:
    """Name this state, if everything is committed, measured and in the remote: a tag, and a row of results/PINS.md."""
    from allmlp.states import pinning

    pinning.pin(_plan(params, scale, None), name)


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
    cores: int = os.cpu_count() or 1,
) -> None:
    """Read every result again: is it the bytes that were recorded? Status 1 if one is not.

    With --rerun, train and measure a study's runs again, apart, and compare; no file changes. The other options choose
    these runs.
    """
    from allmlp.states import rerunning, verifying

    if rerun:
        raise typer.Exit(rerunning.rerun(_plan(params, scale, device, rerun), cores))
    raise typer.Exit(verifying.show(verifying.verify()))


@command(STATES, "allmlp diff STATE_A STATE_B")
def diff(before: str, after: str, page: Annotated[Path | None, typer.Option(help="HTML too.")] = None) -> None:
    """Parameters and verdicts that differ between two states, and values beyond the other state's interval."""
    from allmlp.states import comparing

    comparing.show(before, after, START / page if page else None)


@command(HOUSE, "allmlp prune --apply")
def prune(
    params: Overlays = None, apply: Annotated[bool, typer.Option(help="Delete; without it, only list.")] = False
) -> None:
    """Remove measurements, and checkpoints of laptop runs, that were made again under a newer recipe."""
    from allmlp.compacting import prune as remove

    remove(_plan(params, None, None), apply)


@command(HOUSE, "allmlp compact")
def compact() -> None:
    """Merge the parts of results/measurements into one per measure; the measurements stay the same."""
    from allmlp.compacting import compact as merge

    before, after = merge()
    print(f"{before} parts, now {after}")


@command(HOUSE, "allmlp check --fix")
def check(
    fix: Annotated[bool, typer.Option("--fix", help="Write everything that needs no decision.")] = False,
    same_behaviour: Annotated[
        list[str] | None,
        typer.Option(help="A module whose change alters no result, or `all`; or a claim whose rule judges as before."),
    ] = None,
    new_rule: Annotated[list[str] | None, typer.Option(help="A claim with a new rule.")] = None,
) -> None:
    """Do recipes.lock, rules.lock, known.json, golden.json and corpora.lock agree with the sources? Status 1 if not."""
    from allmlp import checking

    decided = same_behaviour or new_rule
    raise typer.Exit(checking.check(fix or bool(decided), same_behaviour or (), new_rule or ()))


@command(RUN, "allmlp reproduce --cores 2")
def reproduce(params: Overlays = None, cores: int = os.cpu_count() or 1) -> None:
    """Every run of the chosen scale again from nothing, compared with the committed measurements, and the report."""
    from allmlp.reproducing import reproduce as again

    raise typer.Exit(again(params or [], cores))


@command(RUN, "allmlp advance --minutes 60")
def advance(
    minutes: Annotated[float, typer.Option(help="When to save all states and exit.")],
    cores: Annotated[int, typer.Option(min=1)] = os.cpu_count() or 1,
    params: Overlays = None,
    scale: ScaleOption = "long",
    device: DeviceOption = None,
    study: StudyOption = None,
) -> None:
    """Work through a scale's open runs until a deadline, most claims per hour first; the next call goes on."""
    from allmlp import advancing

    words = advancing.snakemake_words(params or [], scale, device, study)
    raise typer.Exit(advancing.advance(_plan(params, scale, device, study), minutes, cores, words))


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

    packing.pack(_plan(params, scale, device, study), START / file, max_mb)


@command(RUN, "allmlp unpack open.bundle")
def unpack(file: Path) -> None:
    """Unpack the parts of a bundle that are newer than the files here; everything in it is checked first."""
    from allmlp.bundles import unpacking

    unpacking.unpack(START / file)


def main() -> None:
    """Run a command. An error that the user can correct ends with one message and status 2."""
    try:
        if "--help" not in sys.argv:
            os.chdir(paths.directory())
        app()
    except (UserError, OSError) as error:
        said = of_the_disk(error) if isinstance(error, OSError) else error
        if said is None:
            raise
        print(f"error: {said}", file=sys.stderr)
        raise SystemExit(2) from None
