"""Study 000's DCT-MLPs: equal perplexities, the rules on them, the runs, the measures, figures and tables."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from allmlp import models, params
from allmlp.errors import UserError
from allmlp.models.dct import DCTNeuron
from allmlp.plan import Plan
from allmlp.studies.language.crossings import crossings, ratios
from allmlp.studies.language.measures import dct_identities, perplexity
from allmlp.studies.language.verdicts import dct as verdicts
from allmlp.studies.rules import NotPlannedError
from allmlp.training import checkpoint
from tests import exhibits, tiny
from tests.conftest import PARAMETERS, PROJECT

MARGIN = {"factor_log2": 0.5, "weights_log2": 0.25, "ratio_log2": 0.25, "difference_1": 1e-10}
PAPER = {"parameters_ratio_1": 3.0, "data_ratio_1": 3.0, "parameters_ratio_more_data_1": 1.5}
SIZES = {"gpt2": (100, 200, 400), "dct-mlp": (60, 240, 960, 3840)}
DEPTHS = {"gpt2": (1, 2, 4), "dct-mlp": (1, 4, 16, 64)}


def table(factor=3.0, more=1.5, noise=0.02, seeds=6, operations=1.0):
    """Losses that fall by 0.1 nats with each doubling; a DCT-MLP's equal those of a GPT-2 `factor` times smaller."""
    rng, rows = np.random.default_rng(0), []
    for seed in range(seeds):
        shift = noise * rng.normal(size=2)
        for model, data in (("gpt2", 1), ("dct-mlp", 1), ("dct-mlp", 3)):
            by = {("dct-mlp", 1): math.log2(factor) + shift[0], ("dct-mlp", 3): math.log2(more) + shift[1]}
            for depth, weights in zip(DEPTHS[model], SIZES[model], strict=True):
                nats = 4.0 - 0.1 * (math.log2(weights) - by.get((model, data), 0.0))
                rows.append(
                    {
                        "run": f"{model}-{depth}-{data}-{seed}",
                        "seed": seed,
                        "model": model,
                        "part": "perplexity",
                        "data": data,
                        "n_blocks": depth,
                        "weights": weights,
                        "all_weights": weights + 1000,
                        "tokens": 1000 * data,
                        "operations": 1000 * weights * (operations if model == "dct-mlp" else 1),
                        "validation_nats": nats,
                        "perplexity_1": math.exp(nats),
                        "floor_perplexity_1": 4.0,
                    }
                )
    return pd.DataFrame(rows)


def evidence(rows, name="perplexity"):
    return SimpleNamespace(table=lambda measure: {name: rows}[measure], margin=MARGIN, paper=PAPER)


@pytest.mark.parametrize("factor", [0.8, 1.0, 3.0, 4.5])
def test_a_known_ratio_is_found_between_the_sizes_tried(factor):
    found = crossings(table(factor, noise=0.0), 1)
    assert (found["censored"] == "").all()
    np.testing.assert_allclose(found["log2"], math.log2(factor), atol=1e-9)


def test_the_ratio_in_operations_is_that_in_weights_times_theirs():
    (weights,), (operations,) = (
        ratios(crossings(table(operations=0.5), 1, size)) for size in ("weights", "operations")
    )
    np.testing.assert_allclose(weights.log2 - operations.log2, 1.0, atol=1e-9)


def test_where_the_sizes_end_the_ratio_is_theirs_and_said_to_be_censored():
    for factor, side, end in ((0.1, "low", 60), (60.0, "high", 3840)):
        found = crossings(table(factor, noise=0.0), 1)
        assert (found["censored"] == side).all()
        np.testing.assert_allclose(found["log2"], np.log2(end / np.tile([100, 200, 400], 6)))
    (some,) = ratios(crossings(table(12.0, noise=0.0), 1))  # 400 * 12 is beyond 3840
    assert (some.low, some.high, some.sizes) == (False, False, 2)
    np.testing.assert_allclose(some.log2, math.log2(12), atol=1e-9)


def test_a_curve_that_rises_again_crosses_where_it_first_comes_down():
    rows = table(2.0, noise=0.0, seeds=1)
    rows.loc[(rows["model"] == "dct-mlp") & (rows["n_blocks"] == 64), "validation_nats"] = 9.0
    np.testing.assert_allclose(crossings(rows, 1)["log2"], 1.0, atol=1e-9)
    rows.loc[rows.index[0], "validation_nats"] = math.nan
    assert crossings(rows, 1)["log2"].isna().tolist() == [True, False, False]


def test_matched_perplexity_needs_both_ratios():
    assert verdicts.matched_perplexity(evidence(table())).verdict == "reproduced"
    assert verdicts.matched_perplexity(evidence(table(1.0, 1.0))).verdict == "contradicted"
    assert verdicts.matched_perplexity(evidence(table(3.0, 3.0))).verdict == "partly"
    assert verdicts.matched_perplexity(evidence(table(seeds=3))).verdict == "undecided"
    assert verdicts.matched_perplexity(evidence(table(noise=0.5))).verdict != "reproduced"


def test_a_censored_ratio_refutes_only_what_lies_beyond_it():
    rows = table(0.1, 0.1, noise=0.0)
    reached = rows["model"].eq("dct-mlp") & rows["n_blocks"].eq(1) & rows["seed"].lt(3)
    rows.loc[reached, "validation_nats"] += 0.6  # three seeds cross inside, in the others the smallest is as good
    low = verdicts.matched_perplexity(evidence(rows))
    assert low.verdict == "contradicted"  # truly lower still
    rows = table(200.0, 200.0, noise=0.0)
    rows = rows[
        ~((rows["model"] == "dct-mlp") & (rows["n_blocks"] > 1))
    ]  # the largest tried is below the claimed ratio
    assert verdicts.matched_perplexity(evidence(rows)).verdict == "undecided"


@pytest.mark.parametrize("factor", [0.05, 0.1, 90.0])
def test_an_interval_of_censored_ratios_alone_refutes_nothing(factor):
    found = verdicts.matched_perplexity(evidence(table(factor, factor, noise=0.0)))
    assert [part.verdict for part in found.parts] == ["undecided", "undecided"]
    assert all("censored" in part.text for part in found.parts)


def test_more_weights_and_data_in_their_place():
    assert verdicts.more_weights(evidence(table())).verdict == "reproduced"
    assert verdicts.more_weights(evidence(table(1.0, 1.0))).verdict == "contradicted"
    assert verdicts.more_weights(evidence(table(3.0, 3.0))).verdict == "partly"
    censored = verdicts.more_weights(evidence(table(60.0, 60.0, noise=0.0)))
    assert [part.verdict for part in censored.parts] == ["reproduced", "undecided"]
    with pytest.raises(NotPlannedError, match="more data"):
        verdicts.more_weights(evidence(table().query("data == 1")))


def test_operations_and_weights():
    assert verdicts.operations_and_weights(evidence(table(operations=0.5))).verdict == "reproduced"
    assert verdicts.operations_and_weights(evidence(table(operations=1.0))).verdict == "contradicted"
    assert verdicts.operations_and_weights(evidence(table(60.0, noise=0.0))).verdict == "undecided"


def test_rules_need_their_runs():
    for rule in (verdicts.matched_perplexity, verdicts.more_weights, verdicts.operations_and_weights):
        with pytest.raises(NotPlannedError, match="dct-mlp"):
            rule(evidence(table().query("model == 'gpt2'")))
        with pytest.raises(NotPlannedError):
            rule(evidence(table().assign(part="neurons")))


def test_identities_hold_and_a_wrong_basis_fails(monkeypatch):
    rows = dct_identities.measure()
    assert list(rows) == list(dct_identities.COLUMNS)
    assert verdicts.neuron_identities(evidence(rows, "dct_identities")).verdict == "reproduced"
    neuron_of = DCTNeuron.__init__

    def shifted(self, d_model, window, frequencies):  # frequencies 1 to k in place of 0 to k - 1
        neuron_of(self, d_model, window, frequencies)
        n = np.arange(window)
        wrong = np.cos(np.pi * (1 + np.arange(frequencies))[:, None] * (2 * n + 1) / (2 * window))
        self.basis.copy_(self.basis.new_tensor(wrong))

    monkeypatch.setattr(DCTNeuron, "__init__", shifted)
    found = verdicts.neuron_identities(evidence(dct_identities.measure(), "dct_identities"))
    assert [part.verdict for part in found.parts] == ["contradicted", "contradicted", "reproduced"]
    counted = verdicts.neuron_identities(evidence(rows.assign(weights=rows["weights"] + 1), "dct_identities"))
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


def test_a_wrong_architecture_is_said(tmp_path):
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
    trained = checkpoint.Trained(run)
    row = perplexity.measure(trained).iloc[0]
    assert row["tokens"] == 16 * 4 * run.steps
    assert row["perplexity_1"] == pytest.approx(math.exp(trained.ending["validation_loss"]))
    assert row["all_weights"] - row["weights"] == 8 * (2 * 257 + 16)
    assert math.isnan(row["floor_perplexity_1"])
    assert row["training_nats"] == pytest.approx(trained.log["loss"].iloc[-1])


@pytest.mark.parametrize("rows", [table(), table(60.0), table(seeds=1), table().assign(floor_perplexity_1=math.nan)])
def test_figures_and_tables_draw_what_they_are_given(rows):
    tables = {"perplexity": rows, "paper": exhibits.paper("language")}
    for name in ("perplexity", "dct_ratios"):
        assert len(exhibits.svg(exhibits.figure("language", name), tables)) < 300_000
    assert len(exhibits.table("language", "perplexities", tables)) == 3 + 4 + 4
    assert len(exhibits.table("language", "dct_identities", {"dct_identities": dct_identities.measure()})) == 7


def test_another_corpus_of_the_study_is_that_of_these_runs_too(tmp_path):
    overlay = tmp_path / "other.yaml"
    overlay.write_text("studies: {language: {corpus: stories-bytes}}")
    plan = Plan(params.load(PARAMETERS / "params.yaml", [overlay]), PARAMETERS)
    of_part = [run for run in plan.runs if run.labels.get("part") == "perplexity"]
    assert {run.corpus for run in of_part} == {"stories-bytes"}
    assert {run.hyperparameters["vocabulary"] for run in of_part} == {257}
