"""The last mile in one go: what is selected, judged, drawn, tabulated and rendered, where the plan's results lie."""

from pathlib import Path

from allmlp import studies
from allmlp.keeping import dvc
from allmlp.plan import REPORT, Plan
from allmlp.report.select import select


def report(plan: Plan, force: bool = False) -> Path:
    """Write everything from results/selected.json to the report, in the folder that this process works in.

    In the project DVC knows what is out of date (`force`: all of it). Elsewhere there is no pipeline to ask: all is
    made, but for figures, which know by themselves.
    """
    select(plan)
    if Path.cwd().samefile(plan.root):
        dvc("repro", "--quiet", *(["--force"] if force else []))
    else:
        _make()
    return Path.cwd() / REPORT


def _make() -> None:
    from allmlp.report.draw import draw
    from allmlp.report.judge import judge
    from allmlp.report.planned_power import write as write_power
    from allmlp.report.render import render
    from allmlp.report.tabulate import tabulate

    judge()
    write_power()
    for study in studies.STUDIES:
        if studies.has_runs(study):
            draw(study)
    tabulate()
    render()
