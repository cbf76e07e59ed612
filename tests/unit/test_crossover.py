"""The crossover: who can do what, at equal operations, and how it is scored."""

import re
import textwrap
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.data.tasks.task import Batch
from allmlp.models import flops
from allmlp.models.attention import SoftmaxAttention, Transformer
from allmlp.plan import model_facts
from allmlp.plan.context import Context
from allmlp.plan.plan import load_plan
from allmlp.spec import catalogue
from allmlp.studies.crossover import retrieval
from allmlp.studies.crossover import runs as planned
from allmlp.studies.crossover.figures import LINE
from allmlp.studies.crossover.fits import TASKS, misfit_reason
from allmlp.studies.crossover.measures.resources import resources
from allmlp.studies.crossover.measures.score import _score_batches, _skill, abilities, score
from allmlp.studies.crossover.settings import COPYING_TYPES, FILLERS
from allmlp.training.checkpoint import produce
from allmlp.training.published import TrainedRun
from tests.conftest import PROJECT


@pytest.fixture
def planning(published: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """scale -> (settings, context)."""
    monkeypatch.chdir(PROJECT)
    plan = load_plan()
    return lambda scale: (
        plan.parameters.settings["crossover", scale],
        Context(plan.parameters, plan.root, "cpu"),
    )


@pytest.mark.parametrize(
    ("architecture", "task", "reason"),
    [
        ("transformer", "multi-recall", None),
        ("transformer", "addition", None),
        ("transformer", "digits", "It reads tokens, not patches of images."),
        ("birn", "digits", None),
        ("birn", "stories", "It reads patches of images, not tokens."),
        ("mlp", "recall", None),
        ("mlp", "multi-recall", "It gives one answer per sequence, not one per token."),
        ("constant-attention", "addition", None),
        ("constant-attention", "recall", "It reads sequences of 2 tokens only."),
        ("mixer-autoencoder", "copying", "It sees the tokens that it would have to predict."),
        ("matcher-mixer", "digits", "Its width cannot be set."),
    ],
)
def test_who_can_do_what_and_why_not(architecture: str, task: str, reason: str | None) -> None:
    assert misfit_reason(architecture, task) == reason


def made_up(**changed: Any) -> model_facts.Declarations:
    """What an ordinary class says of itself, with changes."""
    takes = ("vocabulary", "context", "d_model", "n_blocks")
    return model_facts.Declarations("mine", True, "all", takes, takes, None)._replace(**changed)


OF_PATCHES = ("features", "context", "d_model", "n_blocks")


@pytest.mark.parametrize(
    ("about", "task", "reason"),
    [
        (made_up(needs=("vocabulary", "window")), "copying", "Its class has no default for window."),
        (made_up(takes=OF_PATCHES, needs=OF_PATCHES), "digits", "It gives one answer per token, not one per sequence."),
    ],
)
def test_why_an_architecture_of_ones_own_cannot(
    about: model_facts.Declarations, task: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_facts, "declarations", lambda name: about)
    assert misfit_reason("mine", task) == reason


def test_every_reason_is_a_sentence() -> None:
    reasons = {
        reason for name in models.REGISTRY for task in TASKS if (reason := misfit_reason(name, task)) is not None
    }
    assert len(reasons) > 4
    for reason in reasons:
        assert re.fullmatch(r"[A-Z][^.]+ [^.]+\.", reason), reason
        assert len(textwrap.wrap(reason, LINE)) <= 5, f"{reason!r} does not fit into a cell of the matrix"


def named(settings: Any) -> str:
    return planned._abilities(settings).id


def test_the_run_of_abilities_is_named_after_its_result(planning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one run of no training: only a new name has it measured again."""
    settings, _ = planning("laptop")
    found = [named(settings), named(planning("gpu")[0])]
    assert re.fullmatch(r"abilities-[0-9a-f]{8}-seed0-[0-9a-f]{8}", found[0])
    with monkeypatch.context() as patch:
        patch.setitem(models.REGISTRY, "mine", "allmlp.models.attention:Transformer")
        found.append(named(settings))
    with monkeypatch.context() as patch:
        patch.setattr(model_facts, "declarations", lambda name: made_up())
        found.append(named(settings))
    with monkeypatch.context() as patch:  # the same answers, to a task of another name
        renamed = {"reversing" if task == "copying" else task: asks for task, asks in TASKS.items()}
        patch.setattr("allmlp.studies.crossover.fits.TASKS", renamed)
        found.append(named(settings))
    assert found[0] == found[1] == named(settings), "one run for every scale"
    assert len(set(found[1:])) == 4


@pytest.mark.parametrize("scale", ["laptop", "workstation", "gpu"])
def test_every_training_of_a_task_costs_the_same(planning: Any, scale: str) -> None:
    settings, context = planning(scale)
    for cell in planned.cells(settings, context):
        assert 0 <= cell.budget - cell.steps * cell.flops < cell.flops
        assert 20 <= cell.steps < settings.steps, f"{cell.architecture} on {cell.row.name}"


def test_operations_are_those_of_the_batch_that_is_trained_on(planning: Any) -> None:
    settings, context = planning("laptop")
    for cell in planned.cells(settings.model_copy(update={"budgets": {"copying": 1e10}}), context):
        model = models.build(cell.architecture, **cell.hyperparameters)
        assert cell.flops == flops.counted_flops(model, cell.row.batch_size)


def test_every_architecture_has_the_same_search_on_another_seed(planning: Any) -> None:
    settings, context = planning("workstation")
    runs = {run.id: run for run in planned.runs(settings, context)}
    trained = [run for run in runs.values() if run.labels["part"] == "trained"]
    cells = {(run.architecture, run.labels["task"]) for run in trained}
    assert len(trained) == len(settings.seeds) * len(cells)
    for run in trained:
        search = [runs[one] for one in run.search]
        assert [one.optimiser["learning_rate"] for one in search] == settings.search.learning_rates
        assert {one.seed for one in search} == {settings.search.seed}
        assert {one.steps for one in search} == {max(1, round(settings.search.share * run.steps))}
        same = {"name": "", "seed": 0, "steps": 0, "optimiser": {}, "search": (), "measures": (), "labels": {}}
        assert all(replace(one, **same) == replace(run, **same) for one in search)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ladders() -> Any:
    """The settings of `long` and its runs, by id."""
    plan = load_plan()
    settings, context = plan.parameters.settings["crossover", "long"], Context(plan.parameters, plan.root, "cpu")
    return settings, {run.id: run for run in planned.runs(settings, context)}


def test_a_ladder_has_every_architecture_at_every_width_and_budget(ladders: Any) -> None:
    settings, runs = ladders
    for name, ladder in settings.ladders.items():
        trained = [run for run in runs.values() if run.labels["part"] == name]
        places = {
            (run.architecture, run.labels["task"], run.hyperparameters["d_model"], run.labels["budget"], run.seed)
            for run in trained
        }
        steps = [(task, budget) for task, budgets in ladder.budgets.items() for budget in budgets]
        assert len(places) == len(trained) == len(ladder.architectures) * len(ladder.widths) * len(steps) * 5
        assert all(run.labels["d_model"] == run.hyperparameters["d_model"] for run in trained)


def test_a_step_of_a_ladder_is_a_finished_training_of_its_budget(planning: Any) -> None:
    settings, context = planning("long")
    for cell in planned.ladder_cells(settings, context, settings.ladders["text"]):
        of_step = model_facts.counts(cell.architecture, cell.hyperparameters, cell.row.batch_size).flops
        for run in (run for run in planned.cell_runs(settings, context, cell, "text") if run.labels["part"] == "text"):
            assert 0 <= cell.budget - run.steps * of_step < of_step
            assert run.optimiser["schedule"] == "cosine"
            assert run.optimiser["warmup_steps"] == round(0.1 * run.steps)


def test_every_step_of_a_ladder_has_a_search_of_its_own_on_three_seeds(ladders: Any) -> None:
    settings, runs = ladders
    searches = [run.search for run in runs.values() if run.labels["part"] in settings.ladders]
    of_steps = set(searches)
    assert len({one for search in of_steps for one in search}) == sum(map(len, of_steps)), "no run serves two budgets"
    for run in (run for run in runs.values() if run.labels["part"] in settings.ladders):
        search, tried = settings.ladders[run.labels["part"]].search, [runs[one] for one in run.search]
        assert len({one.seed for one in tried}) == 3
        assert not {one.seed for one in tried} & set(settings.seeds)
        assert len(tried) == 3 * len(search.learning_rates)
        assert {one.steps for one in tried} == {max(1, round(search.share * run.steps))}
        assert run.criterion == "held_out_nats"
        assert search.share >= 0.5, "a search of a rate sees half of what it serves at least"


def test_a_ladder_costs_what_the_plan_may_spend(ladders: Any) -> None:
    """Counted operations of all its runs, at 3e10 a second on one core: 8 hours a text at most, 4 for recall."""
    settings, runs = ladders
    spent = dict.fromkeys(settings.ladders, 0)
    for run in runs.values():
        name = "text" if run.labels["task"] == "stories" else "keys"
        sizes = model_facts.counts(run.architecture, run.hyperparameters, run.task_parameters["batch_size"])
        spent[name] += run.steps * sizes.flops
    assert spent["text"] < 8 * 3600 * 3e10
    assert spent["keys"] < 4 * 3600 * 3e10


def test_a_ladder_refuses_what_it_cannot_train(planning: Any) -> None:
    settings, context = planning("long")
    text = settings.ladders["text"]
    broken = settings.model_copy(update={"ladders": {"text": text.model_copy(update={"architectures": ["birn"]})}})
    with pytest.raises(UserError, match=r"birn cannot do stories\. It reads patches of images"):
        planned.runs(broken, context)


def test_one_architecture_stands_for_a_family_and_every_one_at_gpu(planning: Any) -> None:
    for scale, every in (("workstation", False), ("gpu", True)):
        settings, context = planning(scale)
        cells = list(planned.cells(settings, context))
        places = [(cell.column, cell.row.name) for cell in cells]
        assert len(set(places)) == len(places)
        alone = set(models.REGISTRY) - {name for of in settings.families.values() for name in of}  # a user's own
        assert {cell.column for cell in cells} <= set(models.REGISTRY if every else {*settings.families, *alone})
    able = {(name, task) for name in models.REGISTRY for task in TASKS if misfit_reason(name, task) is None}
    assert {(cell.architecture, cell.row.name) for cell in cells} == {pair for pair in able if pair[1] != "retrieval"}


def test_a_new_architecture_automatically_gets_its_own_column(planning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, _ = planning("laptop")
    monkeypatch.setitem(models.REGISTRY, "mine", "allmlp.models.attention:Transformer")
    assert planned.columns(settings)["mine"] == ["mine"]


class Leaky(Transformer):
    """Says that it is causal, and is not."""

    MIXER: ClassVar[Any] = lambda *sizes, **options: SoftmaxAttention(*sizes, **options, causal=False)


def test_an_architecture_that_leaks_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.REGISTRY, "leaky", "tests.unit.test_crossover:Leaky")
    with pytest.raises(UserError, match=r"leaky: says that it is causal, and position 0 changes with token \d+"):
        model_facts._refuse_leak("leaky")
    model_facts._refuse_leak("transformer")


def test_rows_state_the_vocabularies_of_their_tasks() -> None:
    made = {
        "copying": {"string_length": 2, "batch_size": 1},
        "recall": {"context": 8, "n_pairs": 1, "n_queries": 1, "batch_size": 1, "symbols": 5},
    }
    found = {name: tasks.build(name, **parameters).vocabulary for name, parameters in made.items()}
    assert found == {"copying": COPYING_TYPES, "recall": FILLERS + 10}


def ladder(seeds: tuple[int, ...] | list[int] = (100, 101, 102), **changes: Any) -> dict[str, Any]:
    search = {"learning_rates": [1e-3], "seeds": list(seeds), "share": 0.5}
    return {"architectures": ["llama"], "widths": [8], "budgets": {"stories": [1e9]}, "search": search, **changes}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"families": {"attention": ["transfromer"]}}, "Did you mean 'transformer'"),
        ({"families": {"a": ["transformer"], "b": ["transformer"]}}, "transformer is in two families"),
        ({"budgets": {"coyping": 1e9}}, "Did you mean 'copying'"),
        ({"search": {"learning_rates": [1e-3], "seed": 0, "share": 0.5}}, "is one of `seeds`"),
        ({"budgets": {}}, "neither `budgets` nor `ladders`"),
        ({"ladders": {"mine": ladder(architectures=["lama"])}}, "Did you mean 'llama'"),
        ({"ladders": {"mine": ladder(budgets={"storis": [1e9]})}}, "Did you mean 'stories'"),
        ({"ladders": {"mine": ladder(seeds=[0, 100, 101])}}, "it uses one of the evaluated seeds"),
    ],
)
def test_settings_that_cannot_be_are_refused(planning: Any, change: dict[str, Any], said: str) -> None:
    settings, _ = planning("laptop")
    with pytest.raises(ValidationError, match=re.escape(said)):
        type(settings).model_validate({**settings.model_dump(), **change})


def test_a_budget_below_one_step_is_reported(planning: Any) -> None:
    settings, context = planning("laptop")
    with pytest.raises(UserError, match=r"budgets.copying: 10 operations buy no step of transformer"):
        list(planned.cells(settings.model_copy(update={"budgets": {"copying": 10.0}}), context))


class Answers(torch.nn.Module):
    """A model whose logits are given."""

    vocabulary = 4

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, tokens: Tensor) -> Tensor:
        return self.logits


def test_skill_is_zero_for_the_best_constant_answer_and_one_without_error() -> None:
    targets = torch.tensor([[0, 1, 1, -1], [2, 1, -1, 1]])
    batch = Batch(torch.zeros(2, 4, dtype=torch.int64), targets)
    shares = torch.tensor([1, 4, 1]) / 6
    best = [*shares.log().tolist(), -100.0]
    value, guess = _score_batches(Answers(torch.tensor(best).expand(2, 4, 4)), [batch], by_loss=True)  # type: ignore[arg-type]
    assert value == pytest.approx(guess, abs=1e-9)
    assert _skill(value, guess, by_loss=True) == pytest.approx(0, abs=1e-9)
    right = 50.0 * torch.nn.functional.one_hot(targets.clamp(min=0), 4)
    assert _score_batches(Answers(right), [batch], by_loss=False) == (1.0, pytest.approx(4 / 6))  # type: ignore[arg-type]
    assert _skill(1.0, 4 / 6, by_loss=False) == 1.0
    assert _skill(float("nan"), 0.5, by_loss=False) == 0.0
    lost = right.clone()
    lost[0, 0] = float("nan")  # `argmax` of which is 0, the right answer there
    value, guess = _score_batches(Answers(lost), [batch, batch], by_loss=False)  # type: ignore[arg-type]
    assert (np.isnan(value), _skill(value, guess, by_loss=False)) == (True, 0.0)


def test_retrieval_finds_what_a_linear_map_relates_and_nothing_in_noise() -> None:
    rng = np.random.default_rng(0)
    queries, mixing = rng.normal(size=(512 + 256, 16)), rng.normal(size=(16, 16))
    assert retrieval.retrieval_accuracy(queries, queries @ mixing + 3, fitted=512) == 1.0
    assert retrieval.retrieval_accuracy(queries, rng.normal(size=queries.shape), fitted=512) < 4 / retrieval.CANDIDATES


def test_an_embedding_is_the_mean_of_a_text_alone() -> None:
    torch.manual_seed(0)
    model = models.build("causal-rn", vocabulary=11, context=6, d_model=8, n_blocks=2).eval()
    texts = [np.array([3, 1, 4], np.uint16), np.arange(9, dtype=np.uint16)]
    rows = retrieval.embeddings(model, texts)
    for row, text in zip(rows, texts, strict=True):
        alone = model.hidden(torch.from_numpy(text[-6:].astype(np.int64))[None])[0].mean(dim=0)
        np.testing.assert_allclose(row, alone.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_retrieval_says_how_many_texts_it_cut(planning: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of 3 and 9 tokens, of which a context of 6 holds one."""
    settings, context = planning("smoke")
    run = next(run for run in planned.runs(settings, context) if run.name == "transformer-stories")
    monkeypatch.chdir(tmp_path)
    said = SimpleNamespace(summary="s", text="t")
    monkeypatch.setattr(retrieval.stories, "story", lambda seed, index: said)
    encoded = {"s": np.arange(3, dtype=np.uint16), "t": np.arange(9, dtype=np.uint16)}
    tokenizer = SimpleNamespace(encode_batch=lambda texts: [encoded[text] for text in texts])
    monkeypatch.setattr(retrieval.tokenizers, "load", lambda folder: tokenizer)
    torch.manual_seed(0)
    model = models.build("causal-rn", vocabulary=11, context=6, d_model=8, n_blocks=1).eval()
    found = retrieval.score_retrieval(model, run)
    assert found == (1 / retrieval.CANDIDATES, 1.0, 0.0)
    task = SimpleNamespace(
        validation=lambda: [tasks.task.Batch(torch.zeros(2, 6).long(), torch.tensor([[1, 2] * 3] * 2))]
    )
    trained = SimpleNamespace(run=run, model=lambda: model, task=lambda: task, learning_rate=0.01)
    table = score(trained)  # type: ignore[arg-type]
    assert table[["cut_stories", "cut_summaries"]].isna().all(axis=1).tolist() == [True, False]
    assert table.iloc[1][["task", "cut_stories", "cut_summaries"]].tolist() == ["retrieval", 1.0, 0.0]


def test_measures_of_a_run(planning: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, context = planning("smoke")
    runs = [run for run in planned.runs(settings, context) if run.architecture == "transformer"]
    by_id = {run.id: run for run in runs}
    monkeypatch.chdir(tmp_path)
    run = next(run for run in runs if run.name == "transformer-recall")
    run = replace(run, relatives={one: by_id[one] for one in run.search})
    for one in (*run.relatives.values(), run):
        produce(one)
    trained = TrainedRun(run)
    (row,) = score(trained).to_dict("records")
    assert (row["task"], row["metric"], row["learning_rate_1"]) == ("recall", "accuracy", 0.003)
    assert row["skill_1"] == pytest.approx((row["value"] - row["guess"]) / (1 - row["guess"]))
    (cost,) = resources(trained).to_dict("records")
    assert cost["flops_per_token"] > 6 * 16 * 16
    assert cost["kept_bytes_per_token"] > 0
    assert cost["training_tokens_per_s"] > 0
    assert (cost["learning_rate_1"], cost["largest_rate_1"]) == (0.003, 0.003)
    table = abilities()
    assert len(table) == len(models.REGISTRY) * len(TASKS)


def test_every_name_of_the_matrix_is_explained(planning: Any) -> None:
    families = planning("workstation")[0].families
    assert list(catalogue.read_about("crossover")["terms"]) == ["skill", "learned", *TASKS, *families]
