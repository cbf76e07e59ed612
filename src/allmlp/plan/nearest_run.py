"""`allmlp plan --why RUN`: what differs between a run and the nearest stored one.

All values behind an id are compared. The store has a digest of a run's settings and the numbers of its recipes. The
settings themselves are known of the study's runs at any scale, with the user's files and without them or in git's HEAD,
and of checkpoints that are here.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from allmlp import models
from allmlp.common import formats
from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.measurements import store
from allmlp.plan.differences import previous_plan
from allmlp.plan.plan import Plan
from allmlp.spec.run import LOOP, STACK, Run

Values = dict[tuple[str, str], Any]  # part of the identity, name -> value
RECIPE = "recipe"  # the part of recipes
SHOWN = 60  # characters of a value


class Stored(NamedTuple):
    """A stored run. `planned`: does the plan have it too?"""

    id: str
    values: Values
    planned: bool


def show(plan: Plan, named: str) -> None:
    """Print it of the run with this id, or with the only id that begins or ends like it."""
    print("\n".join(explain(plan, plan.find(named))))


def explain(plan: Plan, run: Run) -> list[str]:
    """Lines: is the run stored, and if not, how it differs from the nearest one that is."""
    missing = store.unstored_files(run)
    if run.id in _stored_ids(run.study):
        lacking = [_explain_measure(run, measure) for measure in missing]
        weights = f"in {run.folder}" if run.folder.is_dir() else "not here"
        first = f"{run.id}: nothing differs, it is stored in {store.STORE / run.study}; its weights are {weights}"
        return [first, *lacking]
    mine = identity_values(run.identity)
    found = [(_differences(one.values, mine), one) for one in stored_runs(plan, run)]
    if not found:
        return [f"{run.id}: not stored, and nothing of {run.study} is that could be compared with it"]
    differing, nearest = min(found, key=lambda of: (len(of[0]), of[1].planned, of[1].id))
    lines = differing or ["the tokens, or a run that it reads, were made by another recipe"]
    return [f"{run.id}: not stored. The nearest stored run is {nearest.id}:", *(f"  {line}" for line in lines)]


def _explain_measure(run: Run, measure: str) -> str:
    older = [recipe for of, recipe in store.read_measure(run.study, measure).places if of == run.id]
    was = f"recipe of {measure} was {max(older)}, is {run.recipe(measure)}" if older else "not measured yet"
    return f"  {measure}: {was}"


def _stored_ids(study: str) -> set[str]:
    return {run for of, measure in store.measures() if of == study for run, _ in store.read_measure(of, measure).places}


def stored_runs(plan: Plan, run: Run) -> Iterator[Stored]:
    """The stored runs of a run's study whose settings are known."""
    ids, mine = _stored_ids(run.study), _known_runs(plan, run.study)
    known = dict(mine)
    with suppress(UserError), previous_plan(plan) as (before, _):  # no git, or parameters that this code cannot read
        known |= _known_runs(before, run.study)
    for one in known.values():
        if one.id in ids:
            yield Stored(one.id, identity_values(one.identity), one.id in mine)
        elif (older := _newest_measurement(one)) is not None:
            recipes = older.recipes[: len(one.modules)]
            yield Stored(older.run, identity_values({**one.identity, "recipes": recipes}), False)
    for file in sorted(Path("results/checkpoints").glob("*/run.json")):
        identity = formats.read("checkpoint", file)["run"]
        if file.parent.name not in known and identity["architecture"][0] in models.REGISTRY:
            yield Stored(file.parent.name, identity_values(identity), False)


def _known_runs(plan: Plan, study: str) -> dict[str, Run]:
    return {run.id: run for of in plan.study_runs([study]).values() for runs in of.values() for run in runs}


def _newest_measurement(run: Run) -> Any:
    """That of the same settings by other recipes; None without one."""
    stored = (store.read_measure(run.study, measure).measurements_by_settings for measure in run.measures)
    found = [one for of in stored for one in of.get(run.settings_digest, [])]
    return max(found, key=lambda one: one.recipes, default=None)


def identity_values(identity: Mapping[str, Any]) -> Values:
    """The values behind an id, by their names in the settings."""
    (architecture, hyperparameters), (task, task_parameters, tokens) = identity["architecture"], identity["task"]
    optimiser, *training = identity["training"]
    names = ("steps", "seed", "keep", "loss_dtype", "precision", "compile")
    rest = {key: value for key, value in identity.items() if isinstance(value, list | int | float | str | None)}
    groups = {
        "": {"architecture": architecture, "task": task, "tokens": tokens, **dict(zip(names, training, strict=True))},
        "model": hyperparameters,
        "task": task_parameters,
        "optimiser": optimiser,
        "machine": dict(zip(("device", "threads"), identity["machine"], strict=True)),
        "run": {key: value for key, value in rest.items() if key not in GROUPED},
        RECIPE: dict(zip(_modules(architecture, task), identity["recipes"], strict=False)),
    }
    return {(group, name): value for group, values in groups.items() for name, value in values.items()}


GROUPED = ("architecture", "task", "training", "machine", "recipes")


def _modules(architecture: str, task: str) -> list[str]:
    named = (models.REGISTRY[architecture], tasks.REGISTRY[task], LOOP, STACK)
    return [place.split(":")[0] for place in named]


def _differences(then: Values, now: Values) -> list[str]:
    names = {key: key[1] if key[0] != RECIPE else f"recipe of {key[1].removeprefix('allmlp.')}" for key in then | now}
    return [
        f"{name} was {_text(then.get(key))}, is {_text(now.get(key))}"
        for key, name in names.items()
        if then.get(key) != now.get(key)
    ]


def _text(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else "not set" if value is None else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
