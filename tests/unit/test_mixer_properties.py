"""What no training alters in study 001: masks, hidden units, dimensions; and completions and their counts."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.models.sampling import decode_greedily
from allmlp.studies.mixers.measures import causality, costs
from allmlp.studies.mixers.measures import completions as mixers_completions
from allmlp.studies.mixers.measures.causality import (
    EXPANSIONS,
    FORMS,
    UsedUnits,
    count_used,
    example,
    future,
    hidden_units,
    masked_gradients,
    masking,
)
from allmlp.studies.mixers.measures.completions import (
    STORIES,
    count_kept_names,
    names,
    repeated_share,
    stories,
)
from allmlp.studies.mixers.measures.costs import generation_speed
from allmlp.studies.mixers.measures.embeddings import dimensions
from allmlp.studies.mixers.runs import Settings, representation
from allmlp.studies.mixers.runs import formulae as formulae_runs
from allmlp.studies.mixers.runs.retrieval import merge_runs
from allmlp.studies.mixers.verdicts import representation as completions_verdict
from tests import exhibits, judging


def judged(claim: str, **tables: pd.DataFrame) -> list[str]:
    return judging.parts(judging.judged(claim, scale="smoke", **tables))


def test_the_worked_example_is_the_papers_and_a_mask_with_a_slip_is_not(monkeypatch):
    """x_0 gets 2 x_0; x_1 gets x_0 + x_1; x_2 gets x_0 + 4 x_1 + x_2."""
    assert example() == {"masked weights": 0, "output": 0}
    monkeypatch.setattr(causality, "PRINTED_OUTPUT", ((2, 1, 1), (0, 1, 4), (0, 0, 1)))  # transposed
    assert example()["output"] > 0


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_mixing_reads_the_future_or_learns_masked_weights(form):
    assert future(FORMS[form]) == 0
    assert masked_gradients(FORMS[form]) == 0


def test_a_mixing_without_the_mask_is_found_out():
    assert future({"causal": False}) > 0


@pytest.mark.parametrize("expansion", [0.25, 0.5, 0.75, 1.5, 2.0, 4.0])
def test_hidden_units_that_act_are_those_of_the_masks_product(expansion):
    """Unit h hears inputs s <= h and is heard by outputs t >= h: it acts if h < T, an input is lost if no h >= s."""
    T = 32
    H = int(expansion * T)
    first, second = np.tril(np.ones((H, T))), np.tril(np.ones((T, H)))
    acting = (second.sum(0) > 0) & (first.sum(1) > 0)
    heard = (second @ first).sum(0) > 0
    weights = int(first[acting].sum() + second[:, acting].sum())
    expected = UsedUnits(H, int(acting.sum()), T, int((~heard).sum()), 2 * H * T, weights)
    assert count_used(expansion) == expected


def test_an_expansion_of_two_leaves_528_of_2048_weights_a_layer():
    found = count_used(2.0)
    assert (found.hidden_used, found.hidden, found.weights_used) == (32, 64, 2 * 528)


def test_measures_of_the_formulae_give_their_columns_and_the_verdicts_follow():
    tables = {"masking": masking, "hidden_units": hidden_units, "dimensions": dimensions}
    rows = {name: measure() for name, measure in tables.items()}
    assert judged("001-1", masking=rows["masking"]) == ["reproduced"] * 3
    assert judged("001-9", hidden_units=rows["hidden_units"]) == ["reproduced"] * 2
    assert judged("001-2", dimensions=rows["dimensions"]) == ["contradicted"] + ["reproduced"] * 3
    leaking = rows["masking"].assign(difference_1=lambda r: r["difference_1"].where(r["property"].ne("future"), 1e-9))
    assert judged("001-1", masking=leaking) == ["reproduced", "contradicted", "reproduced"]
    assert len(exhibits.table("mixers", "hidden_units", rows)) == len(EXPANSIONS)
    assert len(exhibits.table("mixers", "masking", rows)) == 1 + len(FORMS)


def test_the_slip_is_shown():
    """1,312 is ln(10^570); 8 of them are 10,500 (E001-1)."""
    rows = dimensions().set_index("key")
    assert rows.loc["sentences_dimensions", "dimensions"] == pytest.approx(8 * 570 * math.log(10))
    assert round(rows.loc["sentences_dimensions", "logarithm_nats"]) == 1312
    made = exhibits.table("mixers", "dimensions", {"dimensions": dimensions(), "paper": exhibits.paper("mixers")})
    assert made["paper_over_logarithm"].iloc[0] == 1
    assert made["paper_over_8_logarithm"].iloc[1:].between(0.98, 1.02).all()


NAMES = frozenset({"Tim", "Sue", "Sam"})


def test_names_kept_are_counted_with_their_number():
    assert count_kept_names("Tim met Sue.", "Sue smiled. Tim and Sam left with Sue.", NAMES) == (3, 4)
    assert count_kept_names("A dog ran.", "The dog sat.", NAMES) == (0, 0)


def test_names_are_words_capitalised_inside_sentences(monkeypatch):
    text = b'Once a boy met Lily. The boy said, "The dog ran." Then Lily saw May in may, and may it be.'
    monkeypatch.setattr(mixers_completions, "training_text", lambda tokens: text)
    names.cache_clear()
    assert names(None) == {"Lily"}
    names.cache_clear()


def test_repeated_sequences_are_those_that_occur_earlier():
    assert repeated_share("one two three four five six seven") == 0
    assert repeated_share("a b c d a b c d") == pytest.approx(1 / 5)
    assert repeated_share("a a a a a a a a") == pytest.approx(4 / 5)
    assert repeated_share("too short") == 0


@pytest.mark.parametrize(("architecture", "own"), [("masked-mixer", {}), ("llama", {"n_heads": 2})])
def test_greedy_completions_are_those_of_full_passes(architecture, own):
    torch.manual_seed(0)
    model = models.build(architecture, vocabulary=13, context=20, d_model=16, n_blocks=2, **own).eval()
    prompts = torch.randint(13, (3, 8), generator=torch.Generator().manual_seed(1))
    tokens = prompts
    with torch.no_grad():
        for _ in range(12):
            tokens = torch.cat([tokens, model(tokens)[:, -1].argmax(-1, keepdim=True)], 1)
    assert torch.equal(decode_greedily(model, prompts, 12), tokens[:, 8:])


def test_stories_too_short_for_a_prompt_are_refused_with_a_way_out():
    file = SimpleNamespace(folder="results/tokens/x", documents=lambda split: [np.arange(40)] * 9)
    with pytest.raises(UserError, match="Leave `completions` out"):
        stories(file, 128)
    longer = SimpleNamespace(folder="x", documents=lambda split: [np.arange(n) for n in range(60, 300)])
    made = stories(longer, 128)
    assert made.shape == (STORIES, 119)
    assert made.dtype == np.int64


def written(kept: dict[str, float], repeated: dict[str, float], steps: dict[str, list[int]]) -> pd.DataFrame:
    found = []
    for variant in kept:
        for seed in range(5):
            labels = {"run": f"{variant}-{seed}", "seed": seed, "variant": variant, "size": "base", "padding": "right"}
            for step in steps[variant]:
                spread = 0.0002 * seed * len(variant)
                share = kept[variant] + spread - (0.5 if step < max(steps[variant]) else 0)
                numbers = {"names": 10, "names_kept_1": share, "repeated_1": repeated[variant] + spread}
                true = {"true_names_kept_1": 0.9, "true_repeated_1": 0.01}
                found.append({**labels, "step": step, "stories": 9, **numbers, **true})
    return pd.DataFrame(found)


def spent(seconds: dict[str, float], steps: dict[str, int]) -> pd.DataFrame:
    rows = [(f"{v}-{seed}", steps[v], seconds[v] * (1 + 0.01 * seed)) for v in seconds for seed in range(5)]
    return pd.DataFrame(rows, columns=["run", "steps_done", "seconds"]).assign(counted_flops=1)


def test_completions_are_judged_after_the_same_time():
    steps = {"flat": [400, 800], "llama-4": [300, 600]}
    rows = written({"flat": 0.9, "llama-4": 0.6}, {"flat": 0.05, "llama-4": 0.2}, steps)
    alike = spent({"flat": 20.0, "llama-4": 20.0}, {"flat": 800, "llama-4": 600})
    assert judged("001-29", completions=rows, cost=alike) == ["reproduced"] * 2
    slow = spent({"flat": 40.0, "llama-4": 20.0}, {"flat": 800, "llama-4": 600})  # the mixer's half-way weights count
    taken = completions_verdict.equal_time_rows(rows, slow, 1.1)
    assert taken.groupby("variant")["step"].unique().map(list).to_dict() == {"flat": [400], "llama-4": [600]}
    assert judged("001-29", completions=rows, cost=slow)[0] == "contradicted"
    more = written({"flat": 1.2, "llama-4": 1.0}, {"flat": 0.05, "llama-4": 0.2}, steps)
    assert judged("001-29", completions=more, cost=alike)[0] == "contradicted", "more names than the stories keep"
    unknown = alike.assign(seconds=float("nan"))
    assert completions_verdict.equal_time_rows(rows, unknown, 1.1)["step"].isin([600, 800]).all()
    assert judged("001-29", completions=rows, cost=unknown) == ["undecided"] * 2


@pytest.mark.parametrize(
    ("flat", "verdict"),
    [(20.0, "reproduced"), (21.5, "reproduced"), (18.5, "reproduced"), (17.0, "undecided"), (23.0, "undecided"),
     (60.0, "undecided")],
)  # fmt: skip
def test_completions_after_times_that_differ_are_undecided_whoever_had_more(flat, verdict):
    steps = {"flat": [400, 800], "llama-4": [600]}
    rows = written({"flat": 0.9, "llama-4": 0.3}, {"flat": 0.05, "llama-4": 0.2}, steps)
    taken = spent({"flat": flat, "llama-4": 20.0}, {"flat": 800, "llama-4": 600})
    assert judged("001-29", completions=rows, cost=taken)[1] == verdict


def test_tables_of_completions_end_with_the_stories_themselves():
    rows = written({"flat": 0.9, "llama-4": 0.6}, {"flat": 0.05, "llama-4": 0.2}, {"flat": [800], "llama-4": [600]})
    made = exhibits.table("mixers", "completions", {"completions": rows})
    assert made["variant"].tolist() == ["flat", "llama-4", "the stories"]
    samples = pd.DataFrame({"seed": 0, "prompt": [0, 1], "prompt_tokens": 9, "text": ["a\nb", "c"], "variant": "flat"})
    made = exhibits.table("mixers", "completion_samples", {"completion_samples": samples})
    assert len(made) == 2 + 5  # ours, and the five that the paper prints
    assert made.loc[made["model"].eq("flat"), "completion"].tolist() == ["a¶ b", "c"]


PLANNED = Settings(
    seeds=[0],
    steps=8,
    corpus="c",
    context=16,
    d_model=8,
    n_blocks=2,
    batch_size=2,
    validation_documents=2,
    optimiser={"learning_rate": 1e-3},
    models={"flat": {"architecture": "masked-mixer"}, "llama-4": {"architecture": "llama"}},
    search={"learning_rates": [1e-3, 2e-3], "steps": 2, "seeds": [100]},
    representation={"models": ["flat"], "seeds": [0], "d_model": [8, 16], "n_blocks": [1, 2]},
    generation={
        "completions": {"models": ["flat", "llama-4"], "seeds": [0]},
        "speed": {"models": {"masked-mixer": {}}, "context": 32, "d_model": 8, "n_blocks": 1},
    },
)


def context(device: str) -> SimpleNamespace:
    """What runs ask of a plan."""
    return SimpleNamespace(
        vocabulary=lambda corpus: 64, tokens=lambda corpus: "c-1", corpus_settings=lambda corpus: "d", device=device
    )


def test_a_trained_run_has_all_its_measures_and_other_sizes_are_not_trained():
    runs = merge_runs(representation.runs(PLANNED.representation, PLANNED.generation, PLANNED, context("cpu")))
    trained = [run for run in runs if run.steps == 8 and run.labels["variant"] == "flat"]
    assert [run.measures for run in trained] == [("recovery", "completion_samples", "completions")]
    assert trained[0].search == tuple(run.id for run in runs if run.steps == 2 and run.labels["variant"] == "flat")
    untrained = [run for run in runs if run.steps == 0]
    assert [(run.labels["d_model"], run.labels["n_blocks"]) for run in untrained] == [(16, 2), (8, 1)]
    assert not any(run.search for run in untrained)


def test_formulae_are_the_same_run_on_every_device_and_memory_is_of_the_device():
    on = {device: formulae_runs.runs(PLANNED, PLANNED.generation.speed, context(device)) for device in ("cpu", "cuda")}
    same, memory, speed = ([on[device][i].id for device in on] for i in range(3))
    assert len(set(same)) == 1
    assert len(set(memory)) == len(set(speed)) == 2
    for run in on["cpu"]:
        task = tasks.build(run.task, **run.task_parameters)
        model = models.build(run.architecture, **run.hyperparameters)
        assert (task.context, task.vocabulary) == (model.context, model.vocabulary)
        assert run.labels["part"] in run.name


@pytest.mark.parametrize("architecture", ["masked-mixer", "llama"])
def test_speed_is_timed_at_doubling_lengths_up_to_the_context(architecture, monkeypatch):
    monkeypatch.setattr(costs, "SECONDS", 0.0)
    model = models.build(architecture, vocabulary=5, context=100, d_model=8, n_blocks=1).eval()
    trained = SimpleNamespace(run=SimpleNamespace(device="cpu"), model=lambda: model)
    rows = generation_speed(trained)
    assert rows["length"].tolist() == [32, 64, 100]
    assert (rows[["step_tokens_per_s", "pass_tokens_per_s"]] > 0).all(axis=None)
    labelled = rows.assign(model=architecture, d_model=8, n_blocks=1)
    assert (
        len(exhibits.make_exhibit(exhibits.figure("mixers", "generation_speed"), {"generation_speed": labelled}).axes)
        == 1
    )
