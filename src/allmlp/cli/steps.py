"""Single steps: those of the report one by one, those that tidy what is stored; and the check of the sources."""

from typing import Annotated

import typer

from allmlp.cli.app import EXTEND, STEPS, DeviceOption, Overlays, ScaleOption, command, options_plan


@command(STEPS, "allmlp select")
def select(
    params: Overlays = None,
    scale: ScaleOption = None,
    device: DeviceOption = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="Refuse a plan with open runs: for DVC's stage.")
    ] = False,
) -> None:
    """Plan -> results/selected.json: the measurements that the last mile reads."""
    from allmlp.judging import select as selecting
    from allmlp.plan import results_folder

    current = options_plan(params, scale, device)
    if complete:
        selecting.refuse_open(current)
    selecting.select(results_folder.report_plan(current))


@command(STEPS, "allmlp stages")
def stages() -> None:
    """Sources -> results/stages.json: a digest of the code behind each stage of the last mile."""
    from allmlp.report.stages import write

    write()


@command(STEPS, "allmlp judge")
def judge() -> None:
    """Measurements -> results/claims.json: a verdict for every claim."""
    from allmlp.common.workers import run_all
    from allmlp.judging import claims_json, judge

    (found,) = run_all([judge.work()])
    verdicts = claims_json.counts(found["claims"])
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))


@command(STEPS, "allmlp metrics")
def metrics() -> None:
    """Claims, measurements, tables -> results/metrics.json: the numbers of `dvc metrics show`."""
    from allmlp.report.metrics import write

    write()


@command(STEPS, "allmlp draw crossover")
def draw(
    studies: Annotated[list[str], typer.Argument(help="Names of studies, such as crossover.")],
    png: Annotated[bool, typer.Option("--png", help="All figures as PNG, in work/figures/<study>, instead.")] = False,
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """Measurements -> results/figures/<study>; only changed figures are drawn. With --params those of own results."""
    from allmlp.common.workers import run_all
    from allmlp.report import draw

    if params or scale:
        options_plan(params, scale, None)
    for study, files in zip(studies, run_all([draw.work(study, png) for study in studies]), strict=True):
        drawn = ", ".join(file.name if png else file.stem for file in files)
        print(f"{study}: drew {drawn or 'nothing: all figures are up to date'}")


@command(STEPS, "allmlp tabulate")
def tabulate() -> None:
    """Measurements -> results/tables."""
    from allmlp.common.workers import run_all
    from allmlp.report import tabulate

    run_all([tabulate.work()])


@command(STEPS, "allmlp render --pdf")
def render(
    pdf: Annotated[bool, typer.Option(help="Also write results/report.pdf (needs Chromium or Chrome).")] = False,
    params: Overlays = None,
    scale: ScaleOption = None,
) -> None:
    """Claims, figures, tables -> results/report.html, and README's numbers. With --params the page of own results."""
    from allmlp.plan import results_folder
    from allmlp.report import readme
    from allmlp.report.render import render as write

    mine = (params or scale) and results_folder.folder(options_plan(params, scale, None))
    print(write(pdf=pdf))
    if not mine:
        readme.write()


@command(STEPS, "allmlp prune --apply")
def prune(
    params: Overlays = None, apply: Annotated[bool, typer.Option(help="Delete; without it, only list.")] = False
) -> None:
    """Remove measurements, and checkpoints of laptop runs, that were made again under a newer recipe."""
    from allmlp.pipeline.prune import prune as remove

    remove(options_plan(params, None, None), apply)


@command(STEPS, "allmlp compact")
def compact() -> None:
    """Merge the parts of results/measurements into one per measure; the measurements stay the same."""
    from allmlp.pipeline.prune import compact as merge

    before, after = merge()
    print(f"{before} parts, now {after}")


@command(EXTEND, "allmlp check --fix")
def check(
    fix: Annotated[bool, typer.Option("--fix", help="Write everything that needs no decision.")] = False,
    same_behaviour: Annotated[
        list[str] | None,
        typer.Option(help="A module whose change alters no result, or `all`; or a claim whose rule judges as before."),
    ] = None,
    new_rule: Annotated[list[str] | None, typer.Option(help="A claim with a new rule.")] = None,
) -> None:
    """Do locks, known answers and README's numbers agree with the sources and results? Status 1 if not."""
    from allmlp.pipeline import checking

    decided = same_behaviour or new_rule
    raise typer.Exit(checking.check(fix or bool(decided), same_behaviour or (), new_rule or ()))
