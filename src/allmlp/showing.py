"""`allmlp show RUN`: one run, from its settings to the claims that rest on it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from allmlp import costs, store
from allmlp.outlook import step_of
from allmlp.paths import CLAIMS
from allmlp.plan import Plan
from allmlp.report import claims
from allmlp.run import Run
from allmlp.training.trained import way_to

Lines = Iterator[tuple[str, str]]  # a name, and its value


def show(plan: Plan, named: str) -> None:
    """Print the run with this id, or with the only id that begins or ends like it."""
    run = plan.find(named)
    lines = [*_settings(plan, run), *_files(run), *_measurements(run), *(("claim", said) for said in claims_of(run))]
    width = max(len(name) for name, _ in lines)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in lines))


def _settings(plan: Plan, run: Run) -> Lines:
    cost, scales = costs.cost(run), [scale for scale, of in plan.by_scale.items() if run in of.get(run.study, ())]
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
    if (step := step_of(run)) is not None:
        yield "state", f"work/runs/{run.id}: step {step:,} of {run.steps:,}"
    for log in sorted(Path("logs").glob("*/*.log")):
        if run.id in log.read_text(encoding="utf-8", errors="replace"):
            yield "log", str(log)


def _place(folder: Path, way: str) -> str:
    """The folder, or how to get it."""
    return str(folder) if folder.is_dir() else f"{folder} is not here; {way_to(folder, way)}"


def _measurements(run: Run) -> Lines:
    for measure, file in run.measurements.items():
        stored, key = store.of(run.study, measure), (run.id, run.recipe(measure))
        if key in stored.places:
            where = f"{stored.count(key):,} rows in {stored.places[key][1].part.relative_to(Path.cwd())}"
        else:
            where = file if Path(file).is_file() else "not measured yet"
        yield "measurement", f"{measure}: {where}"


def claims_of(run: Run) -> Iterator[str]:
    """The claims that rest on a run, with their verdicts."""
    for claim in claims.read()["claims"] if CLAIMS.is_file() else ():
        for scale, verdict in claim["at"].items():
            if run.id in verdict.get("runs", ()):
                yield f"{claim['id']} at {scale}: {verdict['verdict']}"
