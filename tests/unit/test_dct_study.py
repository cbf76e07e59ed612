"""Study 000's DCT-MLPs: equal perplexities, the rules on them, the runs, the measures, figures and tables."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.judging.rules import NotPlannedError
from allmlp.models.dct import DCTNeuron
from allmlp.plan import params
from allmlp.plan.plan import Plan
from allmlp.studies.language.crossings import crossings, ratios
from allmlp.studies.language.measures.formulas import dct_identities
from allmlp.studies.language.measures.losses import perplexity
from allmlp.training import checkpoint
from tests import judging, tiny
from tests.conftest import PARAMETERS, PROJECT
from tests.unit.known_language import perplexities


def judged(claim: str, rows: pd.DataFrame):
    return judging.judged(claim, perplexity=rows)


@pytest.mark.parametrize("factor", [0.8, 1.0, 3.0, 4.5])
def test_a_known_ratio_is_found_between_the_sizes_tried(factor):
    found = crossings(perplexities(factor, noise=0.0), 1)
    assert (found["censored"] == "").all()
    np.testing.assert_allclose(found["log2"], math.log2(factor), atol=1e-9)


def test_the_ratio_in_operations_is_that_in_weights_times_theirs():
    (weights,), (operations,) = (
        ratios(crossings(perplexities(operations=0.5), 1, size)) for size in ("weights", "operations")
    )
    np.testing.assert_allclose(weights.log2 - operations.log2, 1.0, atol=1e-9)


def test_at_the_end_of_the_sizes_the_ratio_is_censored():
    for factor, side, end in ((0.1, "low", 60), (60.0, "high", 3840)):
        found = crossings(perplexities(factor, noise=0.0), 1)
        assert (found["censored"] == side).all()
        np.testing.assert_allclose(found["log2"], np.log2(end / np.tile([100, 200, 400], 6)))
    (some,) = ratios(crossings(perplexities(12.0, noise=0.0), 1))  # 400 * 12 is beyond 3840
    assert (some.low, some.high, some.sizes) == (False, False, 2)
    np.testing.assert_allclose(some.log2, math.log2(12), atol=1e-9)


def test_a_curve_that_rises_again_crosses_where_it_first_comes_down():
    rows = perplexities(2.0, noise=0.0, seeds=1)
    rows.loc[(rows["model"] == "dct-mlp") & (rows["n_blocks"] == 64), "validation_nats"] = 9.0
    np.testing.assert_allclose(crossings(rows, 1)["log2"], 1.0, atol=1e-9)
    rows.loc[rows.index[0], "validation_nats"] = math.nan
    assert crossings(rows, 1)["log2"].isna().tolist() == [True, False, False]


def test_matched_perplexity_needs_both_ratios():
    assert judged("000-13", perplexities()).verdict == "reproduced"
    assert judged("000-13", perplexities(1.0, 1.0)).verdict == "contradicted"
    assert judged("000-13", perplexities(3.0, 3.0)).verdict == "partly"
    assert judged("000-13", perplexities(seeds=3)).verdict == "undecided"
    assert judged("000-13", perplexities(noise=0.5)).verdict != "reproduced"
    parts = [judged("000-13", perplexities(alone, noise=1e-3)).parts[0].verdict for alone in (3.3, 3.7)]
    assert parts == ["reproduced", "contradicted"], "3.3 is printed as 3"


def test_a_censored_ratio_refutes_only_what_lies_beyond_it():
    rows = perplexities(0.1, 0.1, noise=0.0)
    reached = rows["model"].eq("dct-mlp") & rows["n_blocks"].eq(1) & rows["seed"].lt(3)
    rows.loc[reached, "validation_nats"] += 0.6  # three seeds cross inside, in the others the smallest is as good
    low = judged("000-13", rows)
    assert low.verdict == "contradicted"  # truly lower still
    rows = perplexities(200.0, 200.0, noise=0.0)
    small = (rows["model"] != "dct-mlp") | (rows["n_blocks"] <= 1)  # the largest tried is below the claimed ratio
    rows = rows[small]
    assert judged("000-13", rows).verdict == "undecided"


@pytest.mark.parametrize("factor", [0.05, 0.1, 90.0])
def test_an_interval_of_censored_ratios_alone_refutes_nothing(factor):
    found = judged("000-13", perplexities(factor, factor, noise=0.0))
    assert [part.verdict for part in found.parts] == ["undecided", "undecided"]
    assert all("censored" in part.text for part in found.parts)


def test_more_weights_and_data_in_their_place():
    assert judged("000-own-6", perplexities()).verdict == "reproduced"
    assert judged("000-own-6", perplexities(1.0, 1.0)).verdict == "contradicted"
    assert judged("000-own-6", perplexities(3.0, 3.0)).verdict == "partly"
    censored = judged("000-own-6", perplexities(60.0, 60.0, noise=0.0))
    assert [part.verdict for part in censored.parts] == ["reproduced", "undecided"]
    with pytest.raises(NotPlannedError, match="more data"):
        judged("000-own-6", perplexities().query("data == 1"))


def test_operations_and_weights():
    assert judged("000-own-7", perplexities(operations=0.5)).verdict == "reproduced"
    assert judged("000-own-7", perplexities(operations=1.0)).verdict == "below margin"
    assert judged("000-own-7", perplexities(60.0, noise=0.0)).verdict == "undecided"


def test_rules_need_their_runs():
    for claim in ("000-13", "000-own-6", "000-own-7"):
        with pytest.raises(NotPlannedError, match="dct-mlp"):
            judged(claim, perplexities().query("model == 'gpt2'"))
        with pytest.raises(NotPlannedError):
            judged(claim, perplexities().assign(part="neurons"))


def test_identities_hold_and_a_wrong_basis_fails(monkeypatch):
    rows = dct_identities()
    assert judging.judged("000-18", dct_identities=rows).verdict == "reproduced"
    neuron_of = DCTNeuron.__init__

    def shifted(self, d_model, window, frequencies):  # frequencies 1 to k in place of 0 to k - 1
        neuron_of(self, d_model, window, frequencies)
        n = np.arange(window)
        wrong = np.cos(np.pi * (1 + np.arange(frequencies))[:, None] * (2 * n + 1) / (2 * window))
        self.basis.copy_(self.basis.new_tensor(wrong))

    monkeypatch.setattr(DCTNeuron, "__init__", shifted)
    found = judging.judged("000-18", dct_identities=dct_identities())
    assert [part.verdict for part in found.parts] == ["contradicted", "contradicted", "reproduced"]
    counted = judging.judged("000-18", dct_identities=rows.assign(weights=rows["weights"] + 1))
    assert counted.parts[2].verdict == "contradicted"


@pytest.mark.parametrize("scale", ["smoke", "laptop", "workstation", "gpu", "paper"])
def test_runs_of_each_scale_have_equal_data_but_for_those_that_have_more(scale, published):
    loaded = params.load(published, changes={"scale": scale})
    runs = [run for run in Plan(loaded, PROJECT).runs if run.labels.get("part") == "perplexity"]
    block = loaded.settings["language", scale].perplexity
    for run in runs:
        assert run.steps == run.labels["data"] * block.steps
        assert run.optimiser["warmup_steps"] == round(0.1 * run.steps)
        assert models.load(run.architecture).causal
    of_seed = sum(len(model.depths) * len(model.data) for model in block.models.values())
    assert len(runs) == len({run.id for run in runs}) == of_seed * len(block.seeds)


def test_a_wrong_architecture_is_reported(tmp_path):
    overlay = tmp_path / "wrong.yaml"
    overlay.write_text("studies: {language: {perplexity: {models: {dct-mpl: {depths: [1]}}}}}")
    with pytest.raises(UserError, match=r"no architecture 'dct-mpl'.*Did you mean 'dct-mlp'"):
        params.load(PARAMETERS / "params.yaml", [overlay])


@pytest.mark.parametrize("architecture", ["gpt2", "dct-mlp"])
def test_perplexity_of_a_trained_run(architecture, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    run = tiny.run(
        architecture,
        hyperparameters={"vocabulary": 257, "context": 16, "d_model": 8, "n_blocks": 2, "n_heads": 2},
        task="next-token",
        task_parameters={"context": 16, "batch_size": 4, "validation_tokens": 64},
        study="language",
    )
    run = replace(run, tokens="tiny-00000000")
    checkpoint.produce(run)
    trained = checkpoint.TrainedRun(run)
    row = perplexity(trained).iloc[0]
    assert row["tokens"] == 16 * 4 * run.steps
    assert row["perplexity_1"] == pytest.approx(math.exp(trained.ending["validation_loss"]))
    assert row["all_weights"] - row["weights"] == 8 * (2 * 257 + 16)
    assert math.isnan(row["floor_perplexity_1"])
    assert row["training_nats"] == pytest.approx(trained.log["loss"].iloc[-1])


def test_another_corpus_of_the_study_is_that_of_these_runs_too(tmp_path):
    overlay = tmp_path / "other.yaml"
    overlay.write_text("studies: {language: {corpus: stories-bytes}}")
    plan = Plan(params.load(PARAMETERS / "params.yaml", [overlay]), PARAMETERS)
    of_part = [run for run in plan.runs if run.labels.get("part") == "perplexity"]
    assert {run.corpus for run in of_part} == {"stories-bytes"}
    assert {run.hyperparameters["vocabulary"] for run in of_part} == {257}
