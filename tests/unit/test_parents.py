"""Runs that need others: ids, batches without cycles, what is trained again, weights that go on, chosen rates."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allmlp.common import recipes
from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.data.tasks.copying import Copying
from allmlp.measurements import search_losses, store
from allmlp.pipeline import jobs, prune
from allmlp.plan import batches, params
from allmlp.plan.plan import Plan
from allmlp.spec.run import Run, link_runs
from allmlp.training.published import TrainedRun
from tests import stored, tiny
from tests.conftest import PARAMETERS

pytestmark = pytest.mark.usefixtures("here")


def child(parent: Run, **changes: object) -> Run:
    """A run that needs another."""
    return tiny.run("transformer", **{"parent": parent.id, "relatives": {parent.id: parent}, "seed": 2, **changes})


def at(rate: float, **changes: object) -> Run:
    return tiny.run("transformer", optimiser={**tiny.OPTIMISER, "learning_rate": rate}, **changes)


# --- identity


def test_what_is_new_alters_the_id_only_where_it_is_used() -> None:
    run = tiny.run("transformer")
    assert replace(run, continues=False, search=(), tested=(), relatives={"x": run}).id == run.id
    for change in ({"continues": True}, {"search": ("x",)}, {"tested": (3,)}, {"parent": "x"}):
        assert replace(run, **change).id != run.id
        assert replace(run, **change).settings_digest != run.settings_digest


def test_a_changed_parent_renames_its_child_and_a_raised_recipe_keeps_the_childs_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent = tiny.run("causal-rn")
    before = child(parent, search=(parent.id,))
    other = replace(parent, steps=13)
    assert child(other, search=(other.id,)).id != before.id
    assert child(other, search=(other.id,)).settings_digest != before.settings_digest
    settings, original = before.settings_digest, recipes.recipe_number
    monkeypatch.setattr(
        recipes, "recipe_number", lambda module: original(module) + ("relation" in module or "rn" in module)
    )
    raised = child(replace(parent), search=(replace(parent).id,))
    assert raised.parent != before.parent
    assert raised.settings_digest == settings


# --- the plan


@st.composite
def families(draw: st.DrawFn) -> list[Run]:
    """Runs of which each may need some of those before it, in any order, in processes of different sizes."""
    made: list[Run] = []
    for seed in range(draw(st.integers(1, 12))):
        needed = draw(st.lists(st.sampled_from(made), max_size=3, unique_by=lambda run: run.id)) if made else []
        parent, searched = (needed[0].id, needed[1:]) if needed and draw(st.booleans()) else (None, needed)
        made.append(
            tiny.run(
                "transformer",
                seed=seed,
                parent=parent,
                search=tuple(run.id for run in searched),
                relatives={run.id: run for run in needed},
                runs_per_process=draw(st.sampled_from([1, 2, 3, 5])),
            )
        )
    return draw(st.permutations(made))


@given(families(), st.data())
def test_no_batch_needs_a_later_one_and_thinning_moves_no_run(runs: list[Run], data: st.DataObject) -> None:
    whole = batches.make_batches(runs, {run.id for run in runs}).values()
    assert sorted(run.id for batch in whole for run in batch.runs) == sorted(run.id for run in runs)
    assert len({batch.name for batch in whole}) == len(whole)
    done: set[str] = set()
    for batch in whole:
        assert len(batch.runs) <= min(run.runs_per_process for run in batch.runs)
        read = {one for run in batch.to_train for one in search_losses.runs_it_reads(run)} - {
            run.id for run in batch.runs
        }
        assert read <= done, "it reads what earlier batches made"
        for run in batch.runs:
            assert set(run.needs) <= done, "its own earlier runs included"
            done.add(run.id)
    kept = set(data.draw(st.lists(st.sampled_from(sorted(done)), unique=True)))
    members = {batch.name: [run.id for run in batch.runs if run.id in kept] for batch in whole}
    thinned = {batch.name: [run.id for run in batch.to_train] for batch in batches.make_batches(runs, kept).values()}
    assert thinned == members


def make(*files: str) -> None:
    for file in files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()


def test_what_is_trained_is_closed_over_parents_and_searches() -> None:
    searched, parent = at(1e-3, measures=()), tiny.run("causal-rn")
    run = child(parent, search=(searched.id,), relatives={parent.id: parent, searched.id: searched})
    family = [searched, parent, run]

    def waiting() -> set[str]:
        return batches.runs_to_train(family, filter(batches.is_unmeasured, family))

    assert waiting() == {searched.id, parent.id, run.id}
    make(*parent.measurements.values())
    assert waiting() == {searched.id, parent.id, run.id}, "a measured parent too: its weights are gone"
    make(run.checkpoint)
    assert waiting() == {parent.id}, "a measure may read the parent's; the search has done its work"
    make(*run.measurements.values())
    assert waiting() == set(), "all is measured: no weights are missed"


class Few(Plan):
    """A plan of these runs alone."""

    def __init__(self, *runs: Run, releases: bool = False) -> None:
        super().__init__(params.load(PARAMETERS / "params.yaml"), PARAMETERS)
        self.parameters = replace(self.parameters, weights="released" if releases else "kept")
        self.runs = list(runs)


def test_a_batch_waits_for_tokens_and_for_what_others_make(here: Path) -> None:
    parent = replace(tiny.run("causal-rn"), tokens="text-00000000")
    few = Few(parent, run := child(parent))
    first, second = few.batches.values()
    assert (first.runs, second.runs) == ((parent,), (run,))
    assert few.training_inputs(first) == [parent.token_file]
    assert few.training_inputs(second) == sorted([first.training_manifest, str(parent.token_file)]), (
        "its measures read tokens"
    )
    assert few.measuring_inputs(second) == sorted(
        [first.training_manifest, second.training_manifest, str(parent.token_file)]
    )
    make(parent.checkpoint)
    again = Few(parent, run)
    assert again.measuring_inputs(again.batch(second.name)) == sorted(
        [second.training_manifest, str(parent.token_file)]
    )
    make(*parent.measurements.values(), *run.measurements.values())
    done = Few(parent, run)
    assert [*done.batches] == [first.name, second.name]
    assert done.batches_to_train == done.batches_to_measure == []
    assert done.training_inputs(done.batch(first.name)) == done.measuring_inputs(done.batch(first.name)) == []


def test_a_batch_is_named_after_what_its_runs_have_in_common() -> None:
    runs = [tiny.run("causal-rn", seed=seed, runs_per_process=2) for seed in (0, 1, 2)]
    together, alone = batches.make_batches(runs).values()
    assert together.name.startswith(f"{runs[0].study}-{runs[0].name}-")
    assert "seed" not in together.name
    assert alone.name == f"{runs[2].study}-{runs[2].id}"
    other = tiny.run("causal-rn", seed=1, steps=9, runs_per_process=2)
    assert next(iter(batches.make_batches([runs[0], other, runs[2]]))) != together.name, "its content is another"


@pytest.mark.parametrize("more", [{"device": "cuda"}, {"threads": 2}, {"processes": 2}])
def test_no_gpu_and_no_second_core_is_held_for_measures(here: Path, more: dict[str, Any]) -> None:
    parent = replace(tiny.run("causal-rn"), tokens="text-00000000")
    few = Few(parent, run := replace(child(parent), **more))
    small, large = few.batches.values()
    assert (few.is_measured_in_training(small), few.is_measured_in_training(large)) == (True, False)
    assert few.training_inputs(large) == [small.training_manifest], "no tokens, which its measures read"
    few.apart = True
    assert not few.is_measured_in_training(small)
    assert not Few(parent, run, releases=True).is_measured_in_training(small)


def test_a_run_whose_parent_is_not_listed_is_refused() -> None:
    parent = tiny.run("causal-rn")
    with pytest.raises(ValueError, match=f"copying at scale smoke: .* needs {parent.id}"):
        link_runs({one.id: one for one in [child(parent)]}, "copying at scale smoke")
    grandchild = child(child(parent), seed=3)
    listed = {one.id: replace(one, relatives={}) for one in (grandchild, child(parent), parent)}
    assert [run.depth for run in link_runs(listed, "")] == [2, 1, 0]


def checkpoint(run: Run, name: str = "") -> Path:
    """What stands in a published run's folder, as far as `prune` reads it."""
    folder = Path("results/checkpoints") / (name or run.id)
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"settings": run.settings_digest, "run": run.identity}))
    return folder


def test_a_parent_that_was_made_again_stays_while_a_run_that_reads_it_does() -> None:
    parent = tiny.run("causal-rn")
    checkpoint(parent)
    old = checkpoint(parent, "tiny-causal-rn-seed1-0000000a")  # under an older recipe
    reader = checkpoint(tiny.run("transformer", parent=old.name), "from-a-gpu")
    plan = SimpleNamespace(runs_by_scale={"smoke": {}, "laptop": {"copying": [parent]}})
    assert prune.superseded_checkpoints(plan) == []  # type: ignore[arg-type]
    shutil.rmtree(reader)
    assert prune.superseded_checkpoints(plan) == [old]  # type: ignore[arg-type]


def test_prune_removes_what_was_made_again_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    run = tiny.run("transformer", measures=("falls",))
    rows, now = pd.DataFrame({"iterations": [1.0]}), run.recipe("falls")
    stored.put("copying", "falls", {"older-00000000": rows}, run.settings_digest, now)
    stored.put("copying", "falls", {"from-a-gpu": rows}, "f" * 16, now)  # of no plan
    plan: Any = SimpleNamespace(all_runs=[run], runs_by_scale={"smoke": {}, "laptop": {"copying": [run]}})

    def held(apply: bool) -> set[str]:
        prune.prune(plan, apply)
        return {name for name, _ in store.read_measure("copying", "falls").places}

    assert held(apply=True) == {"older-00000000", "from-a-gpu"}, "not made again yet"
    stored.put("copying", "falls", {run.id: rows}, run.settings_digest, now)
    assert held(apply=False) == {"older-00000000", "from-a-gpu", run.id}
    assert f"older-00000000-r{now}" in (said := capsys.readouterr().out)
    assert "1 would be removed; --apply removes them" in said
    assert held(apply=True) == {"from-a-gpu", run.id}


# --- training


def test_a_missing_parent_is_named_before_anything_is_trained(here: Path) -> None:
    parent = tiny.run("causal-rn")
    with pytest.raises(UserError, match=f"needs {parent.id}, its parent, .* `allmlp train {parent.id}`"):
        jobs.train_runs([tiny.run("linear-causal-rn"), child(parent)])
    assert not (here / "results").exists()
    searched = at(1e-3)
    run = at(1, seed=2, search=(searched.id,), relatives={searched.id: searched})
    with pytest.raises(UserError, match="a run of its search for a learning rate, which is not trained here"):
        jobs.train_runs([run])


def test_a_child_that_continues_begins_with_its_parents_weights_and_a_fresh_optimiser() -> None:
    parent = tiny.run("transformer")
    run = child(parent, continues=True, steps=4, keep=(0,))
    jobs.train_runs([run, parent])  # in whatever order they are named
    trained = TrainedRun(run)
    last = TrainedRun(parent).weights()
    assert all(torch.equal(weight, last[name]) for name, weight in trained.weights(0).items())
    assert trained.log.learning_rate[0] == 0, "its own warm-up"
    assert not all(torch.equal(weight, last[name]) for name, weight in trained.weights().items())
    fresh = child(parent, steps=4, keep=(0,))
    jobs.train_runs([fresh])
    assert not all(torch.equal(weight, last[name]) for name, weight in TrainedRun(fresh).weights(0).items())


def test_weights_that_do_not_fit_are_reported() -> None:
    parent = tiny.run("transformer", hyperparameters={**tiny.COPYING, "d_model": 8})
    deeper = tiny.run("transformer", hyperparameters={**tiny.COPYING, "n_blocks": 2})
    for other, said in ((parent, r"\(29, 16\), the parent's \(29, 8\)"), (deeper, "is only in the parent")):
        with pytest.raises(UserError, match=f"cannot continue {other.id}: their weights differ: .*{said}"):
            jobs.train_runs([other, child(other, continues=True)])


def test_the_rate_with_the_lowest_loss_is_chosen(here: Path) -> None:
    searched = [at(rate, measures=(), steps=30, keep=()) for rate in (1e-6, 1e-2, 3e30)]
    relatives = {one.id: one for one in searched}
    run = at(1.0, seed=2, search=tuple(relatives), relatives=relatives)
    jobs.train_runs([*searched, run])
    assert TrainedRun(searched[2]).diverged
    assert TrainedRun(run).learning_rate == 1e-2
    assert TrainedRun(run).log.learning_rate.max() == 1e-2
    assert json.loads((run.folder / "run.json").read_text())["learning_rate"] == 1e-2
    assert TrainedRun(searched[0]).learning_rate == 1e-6
    assert "learning_rate" not in json.loads((searched[0].folder / "run.json").read_text())


@pytest.mark.parametrize("stored", [False, True], ids=["in work/", "in the store"])
def test_a_measured_search_needs_no_checkpoints(here: Path, stored: bool) -> None:
    tiny.write_tokens(here)
    rates = [{**tiny.OPTIMISER, "learning_rate": rate} for rate in (1e-6, 1e-2, 3e30)]
    searched = [tiny.run("mlp", optimiser=rate, steps=30, keep=()) for rate in rates]
    relatives = {one.id: one for one in searched}
    run = tiny.run("mlp", seed=2, search=tuple(relatives), relatives=relatives)
    jobs.train_runs([*searched, run])
    weights = Path(run.checkpoint).read_bytes()
    jobs.measure_runs(searched)
    if stored:
        store.add_measurements(searched)
        shutil.rmtree("work")
    shutil.rmtree("results/checkpoints")
    assert batches.runs_to_train([*searched, run], [run]) == {run.id}
    jobs.train_runs([run])
    assert Path(run.checkpoint).read_bytes() == weights
    assert TrainedRun(run).learning_rate == 1e-2


def test_a_search_without_a_held_out_loss_needs_its_checkpoints(here: Path) -> None:
    searched = at(1e-2, steps=3)
    run = at(1.0, seed=2, search=(searched.id,), relatives={searched.id: searched})
    jobs.train_runs([searched])
    jobs.measure_runs([searched])
    shutil.rmtree(searched.folder)
    assert batches.runs_to_train([searched, run], [run]) == {searched.id, run.id}
    with pytest.raises(UserError, match=r"a run of its search .* is not trained here"):
        jobs.train_runs([run])


def ended(run: Run, loss: float | None, diverged: bool = False) -> TrainedRun:
    """A run that ended so, trained by nobody."""
    trained = TrainedRun(run)
    trained.__dict__["_description"] = {"ending": {"validation_loss": loss, "diverged": diverged}}
    return trained


def test_ties_go_to_the_lower_rate_and_diverged_runs_come_last() -> None:
    from allmlp.training.inputs import choose_settings

    def rate(*endings: tuple[float, float | None, bool]) -> float:
        return choose_settings(run, [ended(at(rate), loss, lost) for rate, loss, lost in endings]).learning_rate

    run = tiny.run("transformer")
    assert rate((3e-3, 2.0, False), (1e-3, 2.0, False)) == 1e-3
    assert rate((3e-3, 1.0, True), (1e-3, 2.0, False)) == 1e-3
    assert rate((3e-3, float("nan"), False), (6e-3, 9.0, False)) == 6e-3
    assert rate((3e-3, 1.0, True), (1e-3, 1.5, True)) == 1e-3, "of none that ended well the lowest"
    assert rate((3e-3, 1.0, False), (3e-3, 3.0, False), (1e-3, 2.1, False), (1e-3, 2.1, False)) == 3e-3, "the mean"
    assert rate((3e-3, 1.0, False), (3e-3, 1.0, True), (1e-3, 2.0, False)) == 1e-3, "one of its seeds diverged"


def test_a_search_also_fills_what_the_task_leaves_open() -> None:
    from allmlp.training.inputs import choose_settings

    open_, best = {"string_length": None, "batch_size": 4}, {"string_length": 4, "batch_size": 8}
    run = tiny.run("transformer", task_parameters=open_)
    endings: Sequence[TrainedRun] = [
        ended(at(1e-3, task_parameters=best), 1.0),
        ended(at(2e-3, task_parameters={**best, "string_length": 3}), 2.0),
    ]
    assert choose_settings(run, endings) == (1e-3, {"string_length": 4})
    with pytest.raises(UserError, match=r"leaves .string_length. to its search, but the best run, .* has no value"):
        choose_settings(run, [ended(at(1e-3, task_parameters=open_), 1.0)])


class Reading(Copying):
    """A task that reads its run's parent."""

    reads_parent = True

    def __init__(self, parent: TrainedRun, **parameters: int) -> None:
        super().__init__(**parameters)
        self.read = parent.weights()


def test_a_task_may_read_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "recipe_number", lambda module: 1)
    parent = tiny.run("causal-rn", steps=2)
    jobs.train_runs([parent])
    monkeypatch.setitem(tasks.REGISTRY, "copying", f"{__name__}:Reading")
    run = child(parent, steps=2)
    jobs.train_runs([run])
    task, weights = TrainedRun(run).task(), TrainedRun(parent).weights()
    assert isinstance(task, Reading)
    assert all(torch.equal(task.read[name], weights[name]) for name in weights)


def test_held_out_losses_are_taken_at_the_steps_that_ask_for_it_and_alter_nothing(here: Path) -> None:
    tiny.write_tokens(here)
    plain = tiny.run("mlp", keep=(6,))
    tested = replace(plain, tested=(3, 9))
    jobs.train_runs([plain, tested])
    asked, before = (TrainedRun(run).log.set_index("step").validation_loss.dropna() for run in (tested, plain))
    assert asked.index.tolist() == [3, 6, 9]
    assert before.index.tolist() == [6]
    assert asked[6] == before[6]
    assert TrainedRun(tested).steps == [6, 12], "no weights are kept there"
    last, other = TrainedRun(plain).weights(), TrainedRun(tested).weights()
    assert all(torch.equal(last[name], other[name]) for name in last)
