"""A run's id is a digest of its content: nothing else moves it, and everything that matters does."""

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from allmlp.common import recipes
from allmlp.common.errors import UserError
from allmlp.plan import batches
from allmlp.plan.context import Context
from allmlp.plan.params import SCALES
from allmlp.plan.plan import Plan, load_plan
from allmlp.spec.run import Run, log_spaced_steps
from tests import tiny
from tests.conftest import PROJECT

pytestmark = pytest.mark.usefixtures("published")


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(PROJECT)
    return load_plan()


def test_every_scale_has_a_plan_and_ids_are_unique(plan: Plan) -> None:
    for scale in SCALES:
        runs = [run for runs in plan.runs_by_scale[scale].values() for run in runs]
        assert runs
        assert len({run.id for run in runs}) == len(runs)


def test_a_run_of_two_scales_with_the_same_settings_is_one_run(plan: Plan) -> None:
    gpu, paper = (plan.runs_by_scale[scale]["quadrature"] for scale in ("gpu", "paper"))
    assert {run.id for run in paper} < {run.id for run in gpu}


def test_a_run_of_several_scales_is_measured_as_the_chosen_one_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    for scale in ("laptop", "workstation"):
        plan = load_plan(changes={"scale": scale})
        assert plan.scale == scale
        assert [plan.run(run.id).measures for run in plan.runs] == [run.measures for run in plan.runs]


def test_a_job_plans_the_scale_of_its_runs_alone(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[str] = []
    runs_of = Plan._runs
    monkeypatch.setattr(Plan, "_runs", lambda self, scale: planned.append(scale) or runs_of(self, scale))
    assert plan.run(plan.runs[0].id) == plan.runs[0]
    assert planned == [plan.scale]
    of_another = plan.runs_by_scale["smoke"]["copying"][0]
    assert plan.run(of_another.id) == of_another
    assert planned[: len(SCALES)] == [plan.scale, *(scale for scale in SCALES if scale != plan.scale)], "each once"


@pytest.mark.parametrize("name", ["gpu.yaml", "english.yaml"])
def test_a_recorded_overlay_has_a_name_of_its_own(plan: Plan, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("scale: workstation\n")
    parameters = replace(plan.parameters, recorded=("config/recorded/english.yaml", str(file)))
    with pytest.raises(UserError, match=f"{name}.*Rename the file"):
        _ = Plan(parameters, plan.root).recorded_plans


ALTERS_NOTHING: dict[str, Any] = {
    "labels": {"model": "x"},
    "measures": (),
    "study": "mixers",
    "runs_per_process": 7,
    "relatives": {"x": tiny.run("transformer")},
    "corpus": "other",  # its text is behind `tokens`
    "corpus_settings": "other",
}
ALTERS: dict[str, Any] = {
    "name": "other",
    "architecture": "causal-rn",
    "hyperparameters": {"d_model": 17},
    "task": "modular-addition",
    "task_parameters": {},
    "optimiser": {**tiny.OPTIMISER, "learning_rate": 1e-4},
    "steps": 13,
    "seed": 2,
    "keep": (0,),
    "tokens": "other-11111111",
    "loss_dtype": "float64",
    "precision": "bfloat16",
    "compile": True,
    "device": "cuda",
    "threads": 2,
    "processes": 2,
    "stacked": 2,
    "parent": "x",
    "continues": True,
    "search": ("x",),
    "criterion": "iterations_to_99",
    "until": 0.5,
    "tested": (1,),
}


def test_every_setting_of_a_run_is_known_to_alter_its_result_or_not_to() -> None:
    assert {field.name for field in fields(Run)} == {*ALTERS, *ALTERS_NOTHING}


def test_settings_that_change_no_result_change_no_id() -> None:
    run = tiny.run("transformer")
    for change in ALTERS_NOTHING.items():
        assert replace(run, **dict([change])).id == run.id


@pytest.mark.parametrize("change", ALTERS.items(), ids=ALTERS)
def test_settings_that_change_a_result_change_the_id(change: tuple[str, Any]) -> None:
    run = tiny.run("transformer")
    other = replace(run, **dict([change]))
    assert other.id != run.id
    # a name is no setting; the id of tokens holds recipes too: what the corpus is has a digest of its own
    if change[0] not in ("name", "tokens"):
        assert other.settings_digest != run.settings_digest
    assert replace(run, corpus_settings="other").settings_digest != run.settings_digest


def test_a_raised_recipe_alters_the_id_but_not_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer")
    before, settings = run.id, run.settings_digest
    original = recipes.recipe_number
    monkeypatch.setattr(recipes, "recipe_number", lambda module: original(module) + ("attention" in module))
    assert replace(run).id != before
    assert replace(run).settings_digest == settings


def test_batches_keep_their_members_whatever_is_done_meanwhile(plan: Plan) -> None:
    odd, every = {run.id for run in plan.runs[::2]}, {run.id for run in plan.runs}
    whole, thinned = batches.make_batches(plan.runs, every), batches.make_batches(plan.runs, odd)
    assert [*whole] == [*thinned]
    assert sorted(run.id for batch in whole.values() for run in batch.runs) == sorted(run.id for run in plan.runs)
    for name, batch in thinned.items():
        assert batch.runs == whole[name].runs == whole[name].to_train
        assert {run.id for run in batch.to_train} == {run.id for run in batch.runs} & odd


def test_log_spaced_steps() -> None:
    steps = log_spaced_steps(1000)
    assert steps[0] == 0
    assert 500 in steps
    assert max(steps) < 1000
    assert list(steps) == sorted(set(steps))


def test_an_unknown_run_is_reported(plan: Plan) -> None:
    with pytest.raises(UserError, match="no run 'nothing-00000000' in the plan"):
        plan.run("nothing-00000000")


def test_planning_does_not_import_torch() -> None:
    code = (
        "import sys; from allmlp.plan.plan import load_plan; load_plan().measurements; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True)


def test_the_plan_in_json_has_its_costs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    from allmlp.plan import overview

    monkeypatch.chdir(PROJECT)
    overview.show(load_plan(changes={"scale": "smoke"}), runs=False, format="json")
    records = json.loads(capsys.readouterr().out)["runs"]
    assert {"parameters", "six_nd_flops", "counted_flops", "disk_bytes", "estimated_s", "state"} <= records[0].keys()
    assert all(record["six_nd_flops"] == 6 * record["parameters"] * record["supervised_tokens"] for record in records)


def test_paper_scale_counts_are_the_papers(plan: Plan) -> None:
    from allmlp.plan import costs

    paper = Plan(replace(plan.parameters, scale="paper"), plan.root)
    by_name = {record["run"].split("-seed")[0]: record for record in costs.costs(paper)}
    assert by_name["constant-attention-p59-w512"]["parameters"] == 212_608
    assert by_name["transformer-string16"]["parameters"] == 5_337_600
    assert Path(paper.runs[0].checkpoint).parts[:2] == ("results", "checkpoints")


def test_one_study_alone_is_trained_and_reported_beside_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    whole, alone = (load_plan(changes={"scale": "smoke", **more}) for more in ({}, {"study": "quadrature"}))
    assert [run.id for run in alone.runs] == [run.id for run in whole.chosen_runs["quadrature"]]
    assert {run.study for batch in alone.batches.values() for run in batch.runs} <= {"quadrature"}
    assert alone.digest() == whole.digest(), "the report speaks of all"
    assert alone.run(whole.chosen_runs["copying"][0].id), "and any other run can be asked for"
    assert alone.arguments == whole.arguments


def test_an_unknown_study_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    for wrong, advice in (("langauge", "Did you mean 'language'"), ("poetry", "There are: language, mixers")):
        with pytest.raises(UserError, match=rf"study='{wrong}': no study '{wrong}' with runs\. {advice}"):
            load_plan(changes={"study": wrong})


OTHER = """
corpora:
  tales: {source: stories, documents: 300, seed: 9, tokenizer: {kind: bpe, vocabulary: %d}}
studies:
  mixers: {corpus: tales}
"""
SIZES = pytest.mark.parametrize("vocabulary", [1024, 512], ids=["as many types as ours", "fewer"])


@SIZES
def test_matchers_on_a_text_of_ones_own_read_pairs_with_its_tokenizer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, vocabulary: int
) -> None:
    monkeypatch.chdir(PROJECT)
    (tmp_path / "my.yaml").write_text(OTHER % vocabulary, encoding="utf-8")
    plan = load_plan([tmp_path / "my.yaml"], {"study": "mixers", "scale": "workstation"})
    matchers = [run for run in plan.runs if run.task == "retrieval"]
    assert matchers
    assert {run.corpus for run in matchers} >= {"stories-pairs-as-tales"}
    for run in matchers:
        assert run.corpus.endswith("-as-tales")
        assert run.parent
        assert run.relatives[run.parent].corpus == "tales"
        assert run.relatives[run.parent].hyperparameters["vocabulary"] == vocabulary


@SIZES
def test_weights_that_learnt_other_tokens_are_refused_in_the_plan(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, vocabulary: int
) -> None:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(Context, "pairs_corpus", lambda _, pairs, text: pairs)
    (tmp_path / "my.yaml").write_text(OTHER % vocabulary, encoding="utf-8")
    with pytest.raises(UserError, match=r"reads the corpus 'stories-pairs' with weights that learnt 'tales'"):
        load_plan([tmp_path / "my.yaml"], {"study": "mixers", "scale": "workstation"}).digest()
