"""`allmlp plan --why RUN`: is a run stored, and if not, what differs from the nearest one that is."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from allmlp.common.errors import UserError
from allmlp.measurements import store
from allmlp.measurements.measurement import Measurement
from allmlp.plan import nearest_run, params
from allmlp.plan.plan import Plan
from allmlp.spec.run import Run


def plan(project: Path, overlay: str = "") -> Plan:
    (project / "my.yaml").write_text(overlay)
    files = [project / "my.yaml"] if overlay else []
    return Plan(params.load(project / "params.yaml", files), project, overlays=files)


def first(plan: Plan) -> Run:
    """A run of quadrature that is trained."""
    return next(run for run in plan.chosen_runs["quadrature"] if run.steps)


def put(run: Run, name: str, recipes: tuple[int, ...], measures: tuple[str, ...] = ()) -> None:
    """Store measurements of a run's settings, under a name and by these recipes."""
    for measure in measures or run.measures:
        rows = pa.Table.from_pandas(pd.DataFrame({"run": [name], "value": [1.0]}), preserve_index=False)
        about = Measurement(name, run.settings_digest, (*recipes, run.recipe(measure)))
        store.write(run.study, measure, [(about, rows)])


def recipes(run: Run) -> tuple[int, ...]:
    return tuple(run.identity["recipes"])


def test_nothing_is_stored_at_first_and_nothing_differs_once_all_is(project: Path) -> None:
    run = first(plan(project))
    assert nearest_run.explain(plan(project), run) == [
        f"{run.id}: not stored, and nothing of quadrature is that could be compared with it"
    ]
    put(run, run.id, recipes(run), run.measures[:1])
    said, *lacking = nearest_run.explain(plan(project), run)
    assert said == (
        f"{run.id}: nothing differs, it is stored in results/measurements/quadrature; its weights are not here"
    )
    assert lacking == [f"  {measure}: not measured yet" for measure in run.measures[1:]]
    put(run, run.id, recipes(run), run.measures[1:])
    assert nearest_run.explain(plan(project), run) == [said]


def test_a_changed_setting_is_named_with_both_values(project: Path) -> None:
    before = first(plan(project))
    put(before, before.id, recipes(before))
    changed = plan(project, "studies: {quadrature: {optimiser: {learning_rate: 2e-3}}}")
    assert nearest_run.explain(changed, first(changed)) == [
        f"{first(changed).id}: not stored. The nearest stored run is {before.id}:",
        "  learning_rate was 0.001, is 0.002",
    ]
    both = plan(project, "studies: {quadrature: {seeds: [5], optimiser: {learning_rate: 2e-3}}}")
    assert nearest_run.explain(both, first(both))[1:] == ["  seed was 0, is 5", "  learning_rate was 0.001, is 0.002"]


def test_a_raised_recipe_is_named_with_both_numbers(project: Path) -> None:
    run = first(plan(project))
    put(run, "an-older-one", (recipes(run)[0] + 8, *recipes(run)[1:]))
    module = run.modules[0].removeprefix("allmlp.")
    assert nearest_run.explain(plan(project), run) == [
        f"{run.id}: not stored. The nearest stored run is an-older-one:",
        f"  recipe of {module} was {recipes(run)[0] + 8}, is {recipes(run)[0]}",
    ]


def test_a_name_that_is_nearly_right_is_answered_with_the_nearest(project: Path) -> None:
    run = first(plan(project))
    with pytest.raises(UserError, match=f"fits no run of the plan; nearest are .*{run.id}"):
        plan(project).find(run.id.replace("constant", "constnt"))
