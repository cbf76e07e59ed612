"""Commands that keep the house: the steps of the report one by one, and the order of what is stored."""

from typing import Annotated

import typer

from allmlp.cli.app import HOUSE, DeviceOption, Overlays, ScaleOption, command, plan_of


@command(HOUSE, "allmlp select")
def select(params: Overlays = None, scale: ScaleOption = None, device: DeviceOption = None) -> None:
    """Plan -> results/selected.json: the measurements that the last mile reads."""
    from allmlp.report.select import select as write

    write(plan_of(params, scale, device))


@command(HOUSE, "allmlp stages")
def stages() -> None:
    """Sources -> results/stages.json: a digest of the code behind each stage of the last mile."""
    from allmlp.report.stages import write

    write()


@command(HOUSE, "allmlp judge")
def judge() -> None:
    """Measurements -> results/claims.json: a verdict for every claim."""
    from allmlp.report import claims, judge
    from allmlp.report.workers import done

    (found,) = done([judge.work()])
    verdicts = claims.counts(found["claims"])
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))


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


@command(HOUSE, "allmlp prune --apply")
def prune(
    params: Overlays = None, apply: Annotated[bool, typer.Option(help="Delete; without it, only list.")] = False
) -> None:
    """Remove measurements, and checkpoints of laptop runs, that were made again under a newer recipe."""
    from allmlp.compacting import prune as remove

    remove(plan_of(params, None, None), apply)


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
