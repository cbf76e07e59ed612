"""`allmlp show RUN`: one run, from its settings to the claims that rest on it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from allmlp.common import formats, git, paths, recipes
from allmlp.common.paths import CLAIMS
from allmlp.judging import claims_json
from allmlp.measurements import measurement, origins, store
from allmlp.measurements.search_losses import COST
from allmlp.plan import costs
from allmlp.plan.plan import Plan
from allmlp.plan.status import last_saved_step
from allmlp.report import badges
from allmlp.spec.run import Run
from allmlp.training.published import TIMINGS, fetch_advice

Lines = Iterator[tuple[str, str]]  # a name, and its value


def show(plan: Plan, named: str) -> None:
    """Print the run with this id, or with the only id that begins or ends like it."""
    run = plan.find(named)
    lines = [*_settings(plan, run), *_files(run), *_origin(run), *_measurements(run)]
    lines += [("claim", said) for said in run_claims(run)]
    width = max(len(name) for name, _ in lines)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in lines))


def _settings(plan: Plan, run: Run) -> Lines:
    cost, planned = costs.cost(run), plan.runs_by_scale
    scales = [scale for scale, of in planned.items() if any(one.id == run.id for one in of.get(run.study, ()))]
    rate = {"learning_rate": "the best of its search"} if run.search else {}
    yield "run", run.id
    yield "study", f"{run.study}, at {', '.join(scales)}"
    yield "labels", _words(run.labels)
    yield "architecture", f"{run.architecture} ({_words(run.hyperparameters)}), {cost['parameters']:,} parameters"
    yield "task", f"{run.task} ({_words(run.task_parameters)})"
    yield "optimiser", _words(run.optimiser | rate)
    yield "training", f"{run.steps:,} steps, seed {run.seed}, about {cost['estimated_s']:,.0f} s of one {run.device}"
    if run.parent:
        yield "parent", run.parent
    if run.search:
        yield "search", f"{len(run.search)} runs, such as {run.search[0]}"


def _words(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _files(run: Run) -> Lines:
    if run.tokens:
        yield "tokens", _place(Path("results/tokens") / run.tokens, f"`allmlp tokenize {run.corpus}` makes them")
    yield "checkpoints", _place(run.folder, f"`allmlp train {run.id}` makes them")
    if (step := last_saved_step(run)) is not None:
        yield "state", f"work/runs/{run.id}: step {step:,} of {run.steps:,}"
    for log in sorted(Path("logs").glob("*/*.log")):
        if run.id in log.read_text(encoding="utf-8", errors="replace"):
            yield "log", _from_project(log)


def _from_project(path: Path) -> str:
    """A path as one types it in the project's folder: the user's own results are worked on in a folder below."""
    return os.path.relpath(path, paths.project())


def _place(folder: Path, way: str) -> str:
    """The folder, or how to get it."""
    return str(folder) if folder.is_dir() else f"{folder} is not here; {fetch_advice(folder, way)}"


def _origin(run: Run) -> Lines:
    """Where the sources that trained it are in git's history."""
    if (versions := _versions(run)) is None:
        return
    found, repository = origins.read(versions), origins.Repository.read(paths.project())
    for made in found.made or [origins.ProcessSources()]:
        yield "origin", _place_in_git(made, repository)
    if found.recipes:
        now = [recipes.fingerprint(module) for module in run.modules]
        others = [module for module, one, then in zip(run.modules, now, found.recipes, strict=False) if one != then]
        changed = f"other sources here now: {', '.join(others)}" if others else "the same sources here now"
        yield "recipes", f"{' '.join(found.recipes)}, {changed}"


def _versions(run: Run) -> str | None:
    """What it was trained with; None before that."""
    key, stored, file = (
        (run.id, run.recipe(COST)),
        store.read_measure(run.study, COST),
        Path(run.measurements.get(COST, "")),
    )
    if key in stored.places:
        return str(stored.rows(key)["versions"][0].as_py())
    if file.is_file():
        return str(measurement.read(file)[1]["versions"][0].as_py())
    timing = TIMINGS / f"{run.id}.json"
    return str(formats.read_json(timing)["versions"]) if timing.is_file() else None


def _place_in_git(made: origins.ProcessSources, repository: origins.Repository | None) -> str:
    """The commits that hold the sources of a process, or why none is known."""
    if not (named := made.tree or made.commit):
        return "no record"
    said = f"{'git tree' if made.tree else 'commit'} {named[:8]}"
    said += f", {made.state} then" if made.tree else ", with changed files" * (made.state == origins.CHANGED)
    if repository is None:
        return f"{said}; no repository here to look it up in"
    if not (commits := repository.commits_with(made)):
        here = not made.tree and repository.commit(made.commit)
        return f"{said}: {'in this history, without the changes' if here else 'of no commit in this history'}"
    first, last = (
        git.lines(repository.root, "log", "-1", "--format=%h %s", one)[0] for one in (commits[-1], commits[0])
    )
    return f"{said}: src/ of {first}" + f" to {last}, {len(commits)} commits" * (len(commits) > 1)


def _measurements(run: Run) -> Lines:
    for measure, file in run.measurements.items():
        stored, key = store.read_measure(run.study, measure), run.keys[measure]
        if key in stored.places:
            where = f"{stored.count(key):,} rows in {_from_project(stored.places[key][1].part)}"
        else:
            where = _from_project(Path(file)) if Path(file).is_file() else "not measured yet"
        yield "measurement", f"{measure}: {where}"


def run_claims(run: Run) -> Iterator[str]:
    """The claims that rest on a run, with their verdicts."""
    for claim in claims_json.read()["claims"] if CLAIMS.is_file() else ():
        for scale, verdict in claim["at"].items():
            if run.id in verdict.get("runs", ()):
                yield f"{claim['id']} at {scale}: {badges.words(verdict)}"
