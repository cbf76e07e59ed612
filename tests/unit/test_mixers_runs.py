"""Study 001's settings and trainings: what every scale plans, shared searches, padding, refused settings."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.plan import params
from allmlp.plan.context import Context
from allmlp.spec.settings import refuse_searched_seeds
from allmlp.studies.mixers.names import EMBEDDER
from allmlp.studies.mixers.runs import training
from allmlp.studies.mixers.runs.retrieval import merge_runs
from allmlp.studies.mixers.runs.training import end_token
from tests.conftest import PARAMETERS


@pytest.fixture(scope="module")
def settings(published):
    return params.load(published).settings


def runs_of(settings, scale: str) -> list:
    context = SimpleNamespace(
        tokens=lambda name: f"{name}-0", corpus_settings=lambda name: name, vocabulary=lambda name: 64, device="cpu"
    )
    return training.runs(settings["mixers", scale], context), context


def but_for_padding(run) -> dict:
    """One search, on one side, serves both."""
    return {name: value for name, value in run.hyperparameters.items() if name != "pad"}


def test_every_scale_has_a_plan_whose_runs_choose_their_rates_by_one_budget(settings):
    for scale in params.SCALES:
        searched = settings["mixers", scale].search
        runs, _ = runs_of(settings, scale)
        by_id = {run.id: run for run in runs}
        assert len(by_id) == len(runs)
        for run in runs:
            needed = [by_id[one] for one in run.search]
            assert {one.architecture for one in needed} <= {run.architecture}
            assert all(one.task == run.task and but_for_padding(one) == but_for_padding(run) for one in needed)
            rates = {one.optimiser["learning_rate"] for one in needed}
            assert not needed or (
                rates >= {*searched.learning_rates} and len(needed) == len(rates) * len(searched.seeds)
            )
            assert run.labels["part"] == "search" or needed or scale == "paper"
            assert set(run.tested) <= set(range(1, run.steps))


def test_the_laptops_runs_are_the_workstations(settings):
    laptop, workstation = ({run.id for run in runs_of(settings, scale)[0]} for scale in ("laptop", "workstation"))
    assert laptop <= workstation


def test_a_models_own_warm_up_renames_its_runs_and_no_others(settings):
    of_scale = settings["mixers", "long"]
    models = {**of_scale.models, "gpt-4": of_scale.models["gpt-4"].model_copy(update={"warmup_steps": 500})}
    longer = {("mixers", "long"): of_scale.model_copy(update={"models": models})}
    runs, before = runs_of(longer, "long")[0], {run.id for run in runs_of(settings, "long")[0]}
    other = [run for run in runs if run.id not in before]
    assert {run.labels["variant"] for run in other} == {"gpt-4"}
    assert {run.optimiser["warmup_steps"] for run in other} == {500}
    assert {run.labels["part"] for run in other} == {"training", "search"}


def test_further_rates_widen_the_grid_of_their_model_and_size_alone(settings):
    of_scale = settings["mixers", "long"]
    further = {**of_scale.search.further_rates, "flat-d32": [5e-2, 2.4e-2], "gpt-4": [5e-2]}
    before = {run.id for run in runs_of(settings, "long")[0]}
    with_them = of_scale.model_copy(update={"search": of_scale.search.model_copy(update={"further_rates": further})})
    runs, _ = runs_of({("mixers", "long"): with_them}, "long")
    other = [run for run in runs if run.id not in before]
    assert {(run.labels["variant"], run.labels["d_model"]) for run in other} == {("flat", 32), ("gpt-4", 64)}
    searched = [run for run in other if run.labels["part"] == "search"]
    assert {run.optimiser["learning_rate"] for run in searched} == {5e-2}
    assert len(searched) == 2 * len(of_scale.search.seeds)
    assert {len(run.search) for run in other if run.search} == {6 * len(of_scale.search.seeds)}
    asked = with_them.model_dump() | {"search": with_them.search.model_dump() | {"further_rates": {"flat-d33": [1e-2]}}}
    with pytest.raises(ValidationError, match=r"model 'flat-d33'.*flat-d32"):
        type(of_scale).model_validate(asked)


def test_an_embedder_is_the_comparisons_own_run_where_that_has_it(settings):
    runs, context = runs_of(settings, "workstation")
    of_scale, by_id = settings["mixers", "workstation"], {run.id: run for run in runs}
    for model, changes in (("masked-mixer", {}), ("llama", {"padding": "left"}), ("llama-2", {})):
        embedder = training.embedder(model, of_scale, context, **changes)
        found = embedder.run(0, part=EMBEDDER, measures=())
        assert by_id[found.id].labels["part"] == "training"
        assert not found.measures
        assert {run.id for run in embedder.searches} == set(found.search)
    untrained = training.embedder("flat", of_scale, context).run(0, steps=0)
    assert (untrained.search, untrained.keep, untrained.tested, untrained.steps) == ((), (), (), 0)
    assert training.embedder("mixer-autoencoder", of_scale, context).run(0).task == "autoencode"
    with pytest.raises(UserError, match="models='flatt': no model of that name"):
        training.embedder("flatt", of_scale, context)


def test_only_attention_gets_the_token_of_left_padding(settings):
    runs, _ = runs_of(settings, "workstation")
    left = [run for run in runs if run.labels["padding"] == "left"]
    assert {run.labels["variant"] for run in left} == {"flat", "llama-4", "hybrid-after", "hybrid-as-published"}
    assert all(("pad" in run.hyperparameters) == (run.architecture != "masked-mixer") for run in left)
    assert all("pad" not in run.hyperparameters for run in runs if run.labels["padding"] == "right")


def test_both_sides_of_padding_share_one_search(settings):
    runs, _ = runs_of(settings, "workstation")
    for variant in ("flat", "llama-4", "hybrid-after"):
        trained = [run for run in runs if (run.labels["variant"], run.labels["part"]) == (variant, "training")]
        of_base = [run for run in trained if run.labels["size"] == "base"]
        assert {run.labels["padding"] for run in of_base} == {"left", "right"}
        assert len({run.search for run in of_base}) == 1


def test_weights_are_kept_where_a_scale_says(settings):
    smoke = settings["mixers", "smoke"]
    _, context = runs_of(settings, "smoke")
    for kept, expected in (([0], (0,)), ([0, 0.5], (0, 4)), ([], ())):
        runs = training.runs(smoke.model_copy(update={"kept": kept}), context)
        found = {run.keep for run in runs if (run.labels["variant"], run.labels["part"]) == ("flat", "training")}
        assert found == {expected}


def test_runs_of_one_id_become_one_with_the_measures_of_all(settings):
    runs, context = runs_of(settings, "laptop")
    embedder = training.embedder("flat", settings["mixers", "laptop"], context)
    again = embedder.run(0, part=EMBEDDER, measures=("recovery", "cost"))
    found = next(run for run in merge_runs([*runs, again]) if run.id == again.id)
    assert found.labels["part"] == "training"
    assert found.measures[-1] == "recovery"
    assert len(set(found.measures)) == len(found.measures)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"compared": ["flatt"]}, "no model 'flatt'.*Did you mean 'flat'"),
        (
            {"search": {"learning_rates": [0.1], "steps": 3, "seeds": [0]}},
            r"search.seeds\s+it uses one of the evaluated seeds",
        ),
        ({"models": {"flat": {"architecture": "masked-mixerr"}}}, "Did you mean 'masked-mixer'"),
    ],
)
def test_wrong_settings_are_refused(settings, change, said):
    smoke = settings["mixers", "smoke"]
    with pytest.raises(ValueError, match=said):
        type(smoke).model_validate({**smoke.model_dump(), **change})


def test_the_plan_needs_no_corpus_on_this_machine(settings):
    context = Context(params.load(PARAMETERS / "params.yaml"), PARAMETERS, "cpu")
    assert training.runs(settings["mixers", "smoke"], context)


MATCHED = {
    "steps": 3, "batch_size": 2, "n_blocks": 1, "optimiser": {"learning_rate": 1e-3},
    "comparisons": {"one": {"embedders": ["mixer"], "contexts": [4], "pairs": ["stories-pairs"]}},
}  # fmt: skip
SEARCHED = {"seeds": [3], "steps": 2, "learning_rates": [1e-3], "normalisations": ["none"]}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"seeds": [100, 7]}, "search.seeds"),
        ({"retrieval": {**MATCHED, "seeds": [100]}}, "search.seeds"),
        ({"representation": {"models": ["flat"], "seeds": [1, 100]}}, "search.seeds"),
        ({"generation": {"completions": {"models": ["flat"], "seeds": [100]}}}, "search.seeds"),
        ({"seeds": [3], "retrieval": {**MATCHED, "search": SEARCHED}}, "retrieval.search.seeds"),
        ({"retrieval": {**MATCHED, "seeds": [3], "search": SEARCHED}}, "retrieval.search.seeds"),
    ],
)
def test_no_part_is_evaluated_on_the_seed_that_chose_its_rate(settings, change, where):
    smoke = settings["mixers", "smoke"]
    type(smoke).model_validate({**smoke.model_dump(), "retrieval": {**MATCHED, "search": {**SEARCHED, "seeds": [100]}}})
    with pytest.raises(ValidationError) as error:
        type(smoke).model_validate({**smoke.model_dump(), **change})
    (said,) = error.value.errors()
    assert ".".join(said["loc"]) == where
    assert said["type"] == "searched_seed"


def test_a_searched_seed_is_named_with_its_file_line_and_a_way_out(tmp_path):
    (tmp_path / "my.yaml").write_text("studies:\n  mixers:\n    search:\n      seeds: [0]\n")
    said = r"my.yaml:4: studies.mixers.search.seeds is \[0\]: it uses one of the evaluated seeds \(0\).* 100 say"
    with pytest.raises(UserError, match=said):
        params.load(PARAMETERS / "params.yaml", [tmp_path / "my.yaml"])


@pytest.mark.parametrize(("seeds", "free"), [([0, 5], 100), ([5, 100, 101], 102)])
def test_the_way_out_is_a_seed_that_is_free(seeds, free):
    refuse_searched_seeds([6], seeds, "search.seeds")
    with pytest.raises(ValueError, match=f"uses, {free} say"):
        refuse_searched_seeds([6, 5], seeds, "search.seeds")


def test_the_end_token_is_held_against_the_tokens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert end_token(7, "mine-0") == 7  # a plan needs no corpus
    folder = tmp_path / "results/tokens/mine-0"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text('{"eod": 256}')
    assert end_token(256, "mine-0") == 256
    with pytest.raises(
        UserError, match=r"studies.mixers.end_token is 0, but in .*mine-0/meta.json token 256 ends .*256`"
    ):
        end_token(0, "mine-0")


def test_left_padded_plans_hold_the_end_token_against_the_tokens(settings, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    of_scale = settings["mixers", "workstation"]
    context = SimpleNamespace(
        tokens=lambda name: f"{name}-0", corpus_settings=lambda name: name, vocabulary=lambda name: 64, device="cpu"
    )
    folder = tmp_path / f"results/tokens/{of_scale.corpus}-0"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text('{"eod": 3}')
    with pytest.raises(UserError, match="Set `end_token: 3`"):
        training.runs(of_scale, context)
    (folder / "meta.json").write_text('{"eod": 0}')
    assert training.runs(of_scale, context)
