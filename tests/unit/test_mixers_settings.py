"""Study 001's settings against each other and against the tokens: searched seeds, the token that ends a document."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from allmlp import params
from allmlp.errors import UserError
from allmlp.studies.mixers.runs import training
from allmlp.studies.mixers.runs.padding import end_token
from allmlp.studies.settings import refuse_searched_seeds
from tests.conftest import PARAMETERS


@pytest.fixture(scope="module")
def settings(published):
    return params.load(published).settings


MATCHED = {
    "steps": 3, "batch_size": 2, "n_blocks": 1, "optimiser": {"learning_rate": 1e-3},
    "comparisons": {"one": {"embedders": ["mixer"], "contexts": [4], "pairs": ["stories-pairs"]}},
}  # fmt: skip
SEARCHED = {"seed": 3, "steps": 2, "learning_rates": [1e-3], "normalisations": ["none"]}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"seeds": [100, 7]}, "search.seeds"),
        ({"retrieval": {**MATCHED, "seeds": [100]}}, "search.seeds"),
        ({"representation": {"models": ["flat"], "seeds": [1, 100]}}, "search.seeds"),
        ({"generation": {"completions": {"models": ["flat"], "seeds": [100]}}}, "search.seeds"),
        ({"seeds": [3], "retrieval": {**MATCHED, "search": SEARCHED}}, "retrieval.search.seed"),
        ({"retrieval": {**MATCHED, "seeds": [3], "search": SEARCHED}}, "retrieval.search.seed"),
    ],
)
def test_no_part_is_evaluated_on_the_seed_that_chose_its_rate(settings, change, where):
    smoke = settings["mixers", "smoke"]
    type(smoke).model_validate({**smoke.model_dump(), "retrieval": {**MATCHED, "search": {**SEARCHED, "seed": 100}}})
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
