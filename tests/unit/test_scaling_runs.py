"""Study 000's runs at fixed budgets: what its settings ask for."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from allmlp.data.tasks import size
from allmlp.studies.language.measures.losses import scaling
from allmlp.studies.language.runs.neurons import NeuronSettings
from allmlp.studies.language.runs.scaling import PARAMETERS, Settings, runs

OPTIMISER = {"learning_rate": 1e-3}
STUDY = NeuronSettings(
    seeds=[0], steps=1, optimiser=OPTIMISER, corpus="text", context=15, d_model=8, d_mlp=8, n_blocks=1, batch_size=8
)
CONTEXT = SimpleNamespace(
    vocabulary=lambda corpus: {"text": 1024}[corpus],
    tokens=lambda corpus: f"{corpus}-00000000",
    corpus_settings=lambda corpus: "digest",
    device="cpu",
)


def settings(**changes: object) -> Settings:
    block = {
        "seeds": [3, 4],
        "context": 15,
        "n_blocks": 2,
        "n_heads": 2,
        "batch_size": 64,
        "optimiser": {"learning_rate": 2e-3, "warmup_share": 0.1, "minimum_share": 0.01},
        "mlp": [{"flops": 1e10, "d_model": [6, 8, 12]}, {"flops": 1e9, "d_model": [8, 8, 8], "d_mlp": [9, 30, 100]}],
        "gpt": [{"flops": 1e9, "d_model": [4, 6, 8]}],
        "depth": {"flops": 1e9, "d_model": 8, "d_mlp": 96, "deeper": 6},
    }
    return Settings.model_validate({**block, **changes})


def test_every_run_spends_its_budget_on_the_corpus_of_the_study():
    for run in runs(settings(), STUDY, CONTEXT):
        targets = size(run.task, run.task_parameters)[1] * run.steps
        names = ("vocabulary", "context", "d_model", "d_mlp", "n_blocks")
        weights = PARAMETERS[run.architecture](*(run.hyperparameters[name] for name in names))
        assert 6 * weights * targets == pytest.approx(run.labels["budget_flops"], rel=0.02)
        assert run.optimiser["warmup_steps"] == round(run.steps / 10)
        assert run.optimiser["minimum_learning_rate"] == pytest.approx(2e-5)
        assert (run.tokens, run.labels["corpus"]) == ("text-00000000", "text")
        assert set(run.measures) - {"samples"} == {"scaling", "cost"}


def test_the_two_largest_mlps_and_the_largest_gpt_of_the_largest_budget_write_text():
    found = runs(settings(), STUDY, CONTEXT)
    for architecture, count in (("mlp", 2), ("gpt2-last", 1)):
        mine = [run for run in found if run.architecture == architecture and run.labels["part"] == "scaling"]
        largest = max(run.labels["budget_flops"] for run in mine)
        sizes = sorted({run.labels["d_model"] for run in mine if run.labels["budget_flops"] == largest})
        writing = {(run.labels["budget_flops"], run.labels["d_model"]) for run in mine if "samples" in run.measures}
        assert writing == {(largest, size) for size in sizes[-count:]}


def test_cheap_budgets_come_first_and_a_gpt_is_as_dear_as_its_context():
    found = [(run.architecture, run.labels["budget_flops"]) for run in runs(settings(), STUDY, CONTEXT)]
    assert list(dict.fromkeys(found)) == [("mlp", 1e9), ("mlp", 1e10), ("gpt2-last", 1e9)]


def test_depth_and_width_differ_in_one_thing_each():
    found = {run.labels["shape"]: run for run in runs(settings(), STUDY, CONTEXT) if run.labels["part"] == "depth"}
    sizes = {shape: (run.hyperparameters["n_blocks"], run.hyperparameters["d_mlp"]) for shape, run in found.items()}
    assert sizes == {"base": (2, 96), "deep": (6, 32), "wide": (2, 192)}


def test_no_run_of_one_scale_has_the_id_of_another():
    found = runs(settings(), STUDY, CONTEXT)
    assert len({run.id for run in found}) == len(found) == 2 * 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpt": [{"flops": 1e9, "d_model": [6, 8, 9]}]}, r"d_model \[9\] does not divide among n_heads=2"),
        ({"mlp": [{"flops": 1e9, "d_model": [6, 8, 9], "d_mlp": [8]}]}, "1 values of d_mlp for 3 of d_model"),
        ({"mlp": [{"flops": 1e9, "d_model": [8, 9]}]}, "at least 3 items"),
        ({"mlp": [{"flops": 1e9, "d_model": [8, 9, 8]}]}, "a size stands twice"),
        ({"mlp": []}, "at least 1 item"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        settings(**changes)


def test_the_measure_declares_its_columns():
    assert {"parameters", "epochs_1", "validation_nats"} <= set(scaling.columns)
