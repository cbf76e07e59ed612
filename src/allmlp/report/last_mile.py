"""The last mile in one go: select, judge, draw, tabulate and render, where the plan's results lie."""

from pathlib import Path

from allmlp.common import git, paths
from allmlp.common.dvc import run_dvc
from allmlp.judging.ages import head
from allmlp.measurements import store
from allmlp.plan.plan import Plan
from allmlp.spec import catalogue

SOURCES = (
    "CITATION.cff",
    "config",
    "corpora.local.lock",
    "corpora.lock",
    "dvc.yaml",
    "paper",
    "params.yaml",
    "rules.lock",
    "src/allmlp",
)
RESULTS = (
    "claims.json",
    "figures",
    "metrics.json",
    "moved.json",
    "power.json",
    "report.html",
    "selected.json",
    "sets.json",
    "stages.json",
    "tables",
)


def report(plan: Plan, force: bool = False) -> dict[str, list[str]]:
    """Write everything from results/selected.json to the report, in the working folder. Returns study -> drawn figures.

    If nothing changed since the last report, nothing is made. With new measurements, or with `force`, everything is
    made in this process, side by side, and DVC records it. If only code may have changed, DVC finds what is out of
    date. Outside the project there is no DVC pipeline, and without git no DVC: then everything is made.
    """
    at_home = Path.cwd().samefile(plan.root)
    recorded = at_home and bool(git.output(plan.root, "rev-parse", "--git-dir"))
    stamp = Path("work/report.txt")
    if not force and _read(stamp) == _stamp(plan) and not any(store.new_measurements(plan.reported)):
        _numbers_of_readme(plan, at_home)
        return {}
    newest = max([*_times().values(), *_times(plan.root).values()], default=0)
    from allmlp.judging.select import select  # a slow import, needed only here

    changed = select(plan) or force
    if changed or not recorded:
        make()
    if recorded and changed:
        run_dvc("commit", "--force", "dvc.yaml")
    elif recorded:
        _record_selection()
        run_dvc("repro")
    _numbers_of_readme(plan, at_home)
    paths.write_atomically(stamp, _stamp(plan))
    drawn: dict[str, list[str]] = {}
    for file in (file for file, time in _times().items() if time > newest):
        drawn.setdefault(file.parent.name, []).append(file.stem)
    return drawn


def _record_selection() -> None:
    """DVC's stage of that name refuses an incomplete plan; here what there is was selected, and is reported."""
    run_dvc("commit", "--force", "select")


def _numbers_of_readme(plan: Plan, at_home: bool) -> None:
    """README's numbers, of the project's own results."""
    if at_home and not plan.overlays:
        from allmlp.report import readme  # imports pandas

        readme.write()


def make() -> None:
    """Everything but the selection."""
    from allmlp.common.workers import Work, run_all
    from allmlp.judging import judge, planned_power
    from allmlp.report import draw, metrics, render, stages, tabulate

    run_all([judge.work(), tabulate.work(), Work([stages.write])])
    with_runs = [study for study in catalogue.STUDIES if catalogue.has_runs(study)]
    run_all([Work([planned_power.write, metrics.write]), *map(draw.work, with_runs)])  # power and metrics read claims
    render.render()


def _times(folder: Path = Path()) -> dict[Path, int]:
    """figure -> when it was drawn: those that did not change are not written again."""
    return {file: file.stat().st_mtime_ns for file in sorted(folder.glob("results/figures/*/*.svg"))}


def _stamp(plan: Plan) -> str:
    """Digests of the report's inputs and outputs."""
    places = [*(plan.root / name for name in SOURCES), *(Path("results") / name for name in RESULTS)]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
    read = [[str(file), paths.file_sha256(file)] for file in files if file.is_file() and file.suffix != ".pyc"]
    return paths.digest([plan.digest(), plan.scale, head(plan.root), read], 32)


def _read(stamp: Path) -> str:
    return stamp.read_text(encoding="utf-8") if stamp.is_file() else ""
