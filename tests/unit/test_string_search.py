"""Study 002 searches a learning rate for each model and length, on a seed that nothing else uses."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from allmlp.studies.copying.runs import strings

SETTINGS = {
    "seeds": [1, 2],
    "string_lengths": [4, 8],
    "steps": 20,
    "batch_size": 2,
    "d_model": 8,
    "n_blocks": 1,
    "models": {"causal-rn": {}, "transformer": {"hyperparameters": {"n_heads": 1}}},
    "variants": {"relu": {"activation": "relu"}},
    "ablations": {"string_length": 4, "seeds": [1]},
    "optimiser": {"learning_rate": 1e-3},
    "search": {"learning_rates": [1e-3, 4e-3], "steps": 5, "seeds": [9]},
}


def test_each_model_and_length_is_searched_and_each_ablation():
    runs = strings.runs(strings.StringSettings(**SETTINGS), SimpleNamespace(device="cpu"))
    by_id = {run.id: run for run in runs}
    searched = [run for run in runs if run.labels["part"] == "search"]
    assert len(searched) == 2 * 2 * 2 + 2
    assert {(run.seed, run.steps, run.measures) for run in searched} == {(9, 5, ("cost",))}
    for run in runs:
        if run.labels["part"] == "search":
            assert run.search == ()
            continue
        rates = [by_id[one] for one in run.search]
        assert [one.optimiser["learning_rate"] for one in rates] == [1e-3, 4e-3]
        for label in ("model", "string_length", "variant"):
            assert {one.labels[label] for one in rates} == {run.labels[label]}


def test_further_rates_widen_the_grid_of_their_variant_or_model_alone():
    search = {**SETTINGS["search"], "further_rates": {"relu": [8e-3], "transformer": [4e-3, 2e-3]}}
    runs = strings.runs(strings.StringSettings(**{**SETTINGS, "search": search}), SimpleNamespace(device="cpu"))
    by_id = {run.id: run for run in runs}
    tried = {
        (run.labels["model"], run.labels["variant"]): {by_id[one].optimiser["learning_rate"] for one in run.search}
        for run in runs
        if run.search
    }
    assert tried == {
        ("causal-rn", "published"): {1e-3, 4e-3},
        ("causal-rn", "relu"): {1e-3, 4e-3, 8e-3},
        ("transformer", "published"): {1e-3, 4e-3, 2e-3},
    }
    with pytest.raises(ValidationError, match="model or variant 'elu'"):
        strings.StringSettings(**{**SETTINGS, "search": {**search, "further_rates": {"elu": [8e-3]}}})


def test_without_a_search_every_rate_is_the_studys():
    runs = strings.runs(strings.StringSettings(**{**SETTINGS, "search": None}), SimpleNamespace(device="cpu"))
    assert all(run.search == () and run.optimiser["learning_rate"] == 1e-3 for run in runs)


def test_a_searched_seed_that_is_evaluated_is_refused():
    with pytest.raises(ValidationError, match="one of the evaluated seeds"):
        strings.StringSettings(**{**SETTINGS, "search": {**SETTINGS["search"], "seeds": [2]}})


def test_jumps_are_counted_in_the_runs_without_the_norm_and_in_those_that_they_are_compared_with():
    variants = {**SETTINGS["variants"], strings.STABILITY: {"post_norm": False}}
    runs = strings.runs(strings.StringSettings(**{**SETTINGS, "variants": variants}), SimpleNamespace(device="cpu"))
    told = ("part", "model", "variant", "string_length")
    measured = {(*(run.labels[name] for name in told), run.seed) for run in runs if "rises" in run.measures}
    assert measured == {
        ("comparison", "causal-rn", "published", 4, 1),
        ("ablation", "causal-rn", strings.STABILITY, 4, 1),
    }
    without = strings.runs(strings.StringSettings(**SETTINGS), SimpleNamespace(device="cpu"))
    assert not any("rises" in run.measures for run in without)
