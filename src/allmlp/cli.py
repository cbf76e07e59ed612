"""`allmlp`: one thin command per verb of the pipeline."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from allmlp import paths
from allmlp.errors import UserError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)

START = Path.cwd()  # where the user typed it; commands then work in the project's folder

Overlays = Annotated[
    list[Path] | None,
    typer.Option(
        "--params",
        parser=lambda text: START / text,
        help="A file laid over params.yaml; may be given more than once.",
    ),
]
ScaleOption = Annotated[
    str | None, typer.Option(help="smoke, laptop, workstation, gpu or paper, instead of params.yaml's.")
]
DeviceOption = Annotated[str | None, typer.Option(help="cpu or cuda, instead of the scale's own.")]


def _plan(overlays: list[Path] | None, scale: str | None, device: str | None):  # type: ignore[no-untyped-def]
    from allmlp.plan import load_plan

    return load_plan(overlays or (), {"scale": scale, "device": device})


@app.command()
def plan(
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="for people or for machines")] = "table",
) -> None:
    """What would run, and what it costs, before anything runs."""
    from allmlp import costs

    costs.show(_plan(params, scale, device), format)


@app.command()
def tokenize(
    corpora: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None
) -> None:
    """Corpora -> tokens: results/tokens/<corpus>-<digest>/."""
    from allmlp.corpora.tokenizing import tokenize_corpus

    for corpus in corpora:
        tokenize_corpus(_plan(params, scale, device), corpus)


@app.command()
def train(runs: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Tokens -> checkpoints: results/checkpoints/<run>/. A killed training goes on where it was."""
    from allmlp.training.jobs import train_runs

    current = _plan(params, scale, device)
    train_runs([current.run(run) for run in runs])


@app.command()
def measure(runs: list[str], params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Checkpoints -> measurements: results/measurements/<study>/<measure>/<run>-r<recipe>.parquet."""
    from allmlp import measuring
    from allmlp.training.checkpoint import Trained

    current = _plan(params, scale, device)
    for run in map(current.run, runs):
        trained = Trained(run)
        for name, file in run.measurements.items():
            if not Path(file).is_file():
                print(measuring.take(run, name, trained), flush=True)


@app.command()
def audit(
    architectures: Annotated[list[str] | None, typer.Argument(help="Names of the registry; all unless given.")] = None,
    run: Annotated[list[str] | None, typer.Option(help="A trained run's id: its weights, at its own size.")] = None,
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="for people or for machines")] = "text",
) -> None:
    """Does any architecture see the future, its padding or its batch? Status 1 if one does that does not say so."""
    from allmlp import audit as auditor
    from allmlp import models
    from allmlp.training.checkpoint import Trained

    findings = auditor.audit(architectures or ([] if run else models.REGISTRY))
    if run:
        current = _plan(params, scale, device)
        findings += [finding for name in run for finding in auditor.audit_run(Trained(current.run(name)))]
    raise typer.Exit(1 if auditor.show(findings, format) else 0)


@app.command()
def certify(
    run: Annotated[str, typer.Argument(help="A run id, a run's folder, or your own weights as safetensors.")],
) -> None:
    """Proved lower bounds on all margins of a network that adds modulo p.

    Tensors of a safetensors file: W_E (p, d), W_pos (2, d), W_V (h, d, k), W_O (h, k, d), W_in (d, m), b_in (m),
    W_out (m, d), b_out (d), W_U (d, p).
    """
    from allmlp.studies.quadrature.certify import show

    show(run, START)


@app.command()
def select(params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Plan -> results/selected.json: the measurements that the last mile speaks of."""
    from allmlp.report.select import select as write

    write(_plan(params, scale, device))


@app.command()
def judge() -> None:
    """Measurements -> results/claims.json: a verdict for every claim."""
    from collections import Counter

    from allmlp.report.judge import judge as write

    verdicts = Counter(claim["verdict"] for claim in write()["claims"])
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))


@app.command()
def draw(studies: list[str]) -> None:
    """Measurements -> results/figures/<study>: only what changed is drawn."""
    from allmlp.report.draw import draw as write

    for study in studies:
        print(f"{study}: drew {', '.join(write(study)) or 'nothing: all figures are up to date'}")


@app.command()
def tabulate() -> None:
    """Measurements -> results/tables."""
    from allmlp.report.tabulate import tabulate as write

    write()


@app.command()
def render(
    pdf: Annotated[bool, typer.Option(help="Also write results/report.pdf (needs the weasyprint package).")] = False,
) -> None:
    """Claims, figures, tables -> results/report.html."""
    from allmlp.report.render import render as write

    print(write(pdf=pdf))


@app.command()
def keep(runs: Annotated[list[str] | None, typer.Argument()] = None, push: bool = False) -> None:
    """Hand complete runs (all, or those named) and tokens to DVC, one pointer each; --push sends them to the remote."""
    from allmlp.keeping import keep as add

    add(runs, push)


@app.command()
def prune(
    params: Overlays = None,
    apply: Annotated[bool, typer.Option(help="Delete; without it, only say what would be.")] = False,
) -> None:
    """Remove measurements, and checkpoints of laptop runs, that were made again under a newer recipe."""
    from allmlp.keeping import prune as remove

    remove(_plan(params, None, None), apply)


@app.command()
def recipes(
    write: Annotated[bool, typer.Option(help="Record new and raised recipes.")] = False,
    same_behaviour: Annotated[
        list[str] | None, typer.Option(help="A module whose change alters no result, or `all`.")
    ] = None,
) -> None:
    """Check recipes.lock against the sources behind each RECIPE."""
    from allmlp import recipes as book

    if write or same_behaviour:
        book.write(same_behaviour or [])
    problems = book.check()
    print("\n".join(problems) or f"{len(book.modules())} recipes, all as locked")
    raise typer.Exit(1 if problems else 0)


@app.command()
def reproduce(params: Overlays = None, cores: int = os.cpu_count() or 1) -> None:
    """Every run of the chosen scale again from nothing, compared with the committed measurements, and the report."""
    from allmlp.reproducing import reproduce as again

    raise typer.Exit(again(params or [], cores))


def main() -> None:
    """Run a command. What the user can mend ends with one message and status 2."""
    try:
        if "--help" not in sys.argv:
            os.chdir(paths.directory())
        app()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
