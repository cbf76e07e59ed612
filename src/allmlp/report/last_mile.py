"""The last mile in one go: select, judge, draw, tabulate and render, where the plan's results lie."""

from pathlib import Path

from allmlp import git, paths, store, studies
from allmlp.keeping import dvc
from allmlp.plan import Plan
from allmlp.report.ages import head

SOURCES = (
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
    stamp = Path("work", "report.txt" if at_home else f"report-{Path.cwd().name}.txt")  # overlays share work/
    if not force and _read(stamp) == _stamp(plan) and not any(store.new(plan.every)):
        _numbers_of_readme(plan, at_home)
        return {}
    before = _times()
    from allmlp.report.select import select  # a slow import, needed only here

    changed = select(plan) or force
    if changed or not recorded:
        make()
    if recorded:
        dvc(*(("commit", "--force", "dvc.yaml") if changed else ("repro",)))
    _numbers_of_readme(plan, at_home)
    paths.write_whole(stamp, _stamp(plan))
    drawn: dict[str, list[str]] = {}
    for file in (file for file, time in _times().items() if before.get(file) != time):
        drawn.setdefault(file.parent.name, []).append(file.stem)
    return drawn


def _numbers_of_readme(plan: Plan, at_home: bool) -> None:
    """README's numbers, of the project's own results."""
    if at_home and not plan.overlays:
        from allmlp.report import readme  # imports pandas

        readme.write()


def make() -> None:
    """Everything but the selection."""
    from allmlp.report import draw, judge, planned_power, render, stages, tabulate
    from allmlp.report.workers import Work, done

    done([judge.work(), tabulate.work(), Work([stages.write])])
    with_runs = [study for study in studies.STUDIES if studies.has_runs(study)]
    done([Work([planned_power.write]), *map(draw.work, with_runs)])  # the power reads claims
    render.render()


def _times() -> dict[Path, int]:
    """figure -> when it was drawn: those that did not change are not written again."""
    return {file: file.stat().st_mtime_ns for file in sorted(Path("results/figures").glob("*/*.svg"))}


def _stamp(plan: Plan) -> str:
    """Digests of the report's inputs and outputs."""
    places = [*(plan.root / name for name in SOURCES), *(Path("results") / name for name in RESULTS)]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
    read = [[str(file), paths.file_sha256(file)] for file in files if file.is_file() and file.suffix != ".pyc"]
    return paths.digest([plan.digest(), plan.scale, head(plan.root), read], 32)


def _read(stamp: Path) -> str:
    return stamp.read_text(encoding="utf-8") if stamp.is_file() else ""
