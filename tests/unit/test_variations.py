"""Study 000's runs with one thing changed: which are planned."""

from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.plan import params
from allmlp.plan.plan import Plan
from allmlp.studies.language import parts
from tests.conftest import PARAMETERS

VARIATIONS = "studies: {{language: {{{0}scales: {{smoke: {{variations: {{{1}}}}}}}}}}}\n"


def plan(tmp_path: Path, overlay: str = "") -> list:
    file = tmp_path / "overlay.yaml"
    file.write_text(overlay or "scale: smoke\n")
    found = params.load(PARAMETERS / "params.yaml", [file], {"scale": "smoke"})
    runs = Plan(found, PARAMETERS).runs_by_scale["smoke"]["language"]
    return [run for run in runs if run.labels["part"] in (parts.VARIATION, parts.CONTROL)]


def test_each_variation_changes_one_thing_and_the_base_is_trained_once(tmp_path) -> None:
    runs = plan(
        tmp_path, VARIATIONS.format("", "contexts: [4, 15], d_mlp: [128, 512], controls: [stories-words], seeds: [7]")
    )
    assert len({run.id for run in runs}) == len(runs)
    grid = {"weight_decay", "embedding_std"}
    changes = [{name for name in parts.SETTINGS if run.labels[name] != run.labels[f"base_{name}"]} for run in runs]
    assert changes.count(set()) == 1
    assert all(len(changed) <= 1 or changed <= grid for changed in changes)
    assert {run.labels["context"] for run in runs} == {4, 15}
    assert [run.labels["part"] for run in runs if run.corpus == "stories-words"] == ["control"]
    plain = next(run for run in runs if run.labels["embedding_std"] == 1.0)
    assert plain.hyperparameters["embedding_std"] is None


def test_controls_of_another_corpus_are_left_out_and_unknown_ones_named(tmp_path) -> None:
    other = plan(tmp_path, VARIATIONS.format("corpus: stories-bytes, ", "controls: [stories-words]"))
    assert {run.corpus for run in other} == {"stories-bytes"}
    with pytest.raises(UserError, match="no corpus 'stories-wrods'"):
        plan(tmp_path, VARIATIONS.format("", "controls: [stories-wrods]"))
