"""The crossover: who can do what, at equal operations, how it is scored, and what is said of it."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ValidationError
from torch import Tensor

from allmlp import models, studies, tasks
from allmlp.errors import UserError
from allmlp.models.attention import SoftmaxAttention, Transformer
from allmlp.plan import Context, load_plan
from allmlp.report import style
from allmlp.studies.crossover import families, known, retrieval, verdicts
from allmlp.studies.crossover import runs as planned
from allmlp.studies.crossover.figures import matrix
from allmlp.studies.crossover.fits import TASKS, fits
from allmlp.studies.crossover.measures import abilities, resources, score
from allmlp.studies.crossover.rows import COPYING_TYPES, FILLERS
from allmlp.studies.crossover.tables import abilities as abilities_table
from allmlp.studies.crossover.tables import costs, distances
from allmlp.studies.rules import NotPlannedError
from allmlp.training import flops
from allmlp.training.checkpoint import Trained, produce
from tests.conftest import PROJECT


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> Any:
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
        ("transformer", "digits", "reads tokens"),
        ("birn", "digits", None),
        ("birn", "stories", "reads patches"),
        ("mlp", "recall", None),
        ("mlp", "multi-recall", "predicts the last token only"),
        ("constant-attention", "addition", None),
        ("constant-attention", "recall", "reads 2 tokens only"),
        ("mixer-autoencoder", "copying", "sees what it is to predict"),
        ("matcher-mixer", "digits", "has no width to set"),
    ],
)
def test_who_can_do_what_and_why_not(architecture: str, task: str, reason: str | None) -> None:
    assert fits(architecture, task) == reason


def test_what_is_known_is_what_the_classes_say() -> None:
    """`python -m allmlp.studies.crossover.known` writes known.json anew."""
    for name in models.REGISTRY:
        told = known.described(name)
        assert known.of(name)._asdict() == {**told, "takes": tuple(told["takes"]), "needs": tuple(told["needs"])}


def test_known_json_holds_all_that_the_plan_asks(planning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = known.Memory()
    memory._found = json.loads(known.FILE.read_text(encoding="utf-8"))
    monkeypatch.setattr(known, "memory", lambda: memory)
    for remembered in (known.of, known._flops):
        remembered.cache_clear()
    before = set(memory._found)
    for scale in ("smoke", "laptop", "workstation", "gpu"):
        list(planned.cells(*planning(scale)))
    assert set(memory._found) == before, "run `python -m allmlp.studies.crossover.known`"


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
        assert [one.optimiser["learning_rate"] for one in search] == settings.search.rates
        assert {one.seed for one in search} == {settings.search.seed}
        assert {one.steps for one in search} == {max(1, round(settings.search.share * run.steps))}
        same = {"name": "", "seed": 0, "steps": 0, "optimiser": {}, "search": (), "measures": (), "labels": {}}
        assert all(replace(one, **same) == replace(run, **same) for one in search)  # type: ignore[arg-type]


def test_one_architecture_stands_for_a_family_and_every_one_at_gpu(planning: Any) -> None:
    for scale, every in (("workstation", False), ("gpu", True)):
        settings, context = planning(scale)
        cells = list(planned.cells(settings, context))
        places = [(cell.column, cell.row.name) for cell in cells]
        assert len(set(places)) == len(places)
        assert {cell.column for cell in cells} <= set(models.REGISTRY if every else settings.families)
    able = {(name, task) for name in models.REGISTRY for task in TASKS if fits(name, task) is None}
    assert {(cell.architecture, cell.row.name) for cell in cells} == {pair for pair in able if pair[1] != "retrieval"}


def test_a_new_architecture_enters_by_itself_as_a_column_of_its_own(
    planning: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _ = planning("laptop")
    monkeypatch.setitem(models.REGISTRY, "mine", "allmlp.models.attention:Transformer")
    assert planned.columns(settings)["mine"] == ["mine"]


class Leaky(Transformer):
    """Says that it is causal, and is not."""

    MIXER: ClassVar[Any] = lambda *sizes, **options: SoftmaxAttention(*sizes, **options, causal=False)


def test_an_architecture_that_leaks_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.REGISTRY, "leaky", "tests.unit.test_crossover:Leaky")
    with pytest.raises(UserError, match=r"leaky: says that it is causal, and position 0 changes with token \d+"):
        known._refuse_leak("leaky")
    known._refuse_leak("transformer")


def test_rows_state_the_vocabularies_of_their_tasks() -> None:
    made = {
        "copying": {"string_length": 2, "batch_size": 1},
        "recall": {"context": 8, "n_pairs": 1, "n_queries": 1, "batch_size": 1, "symbols": 5},
    }
    found = {name: tasks.build(name, **parameters).vocabulary for name, parameters in made.items()}
    assert found == {"copying": COPYING_TYPES, "recall": FILLERS + 10}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"families": {"attention": ["transfromer"]}}, "Did you mean 'transformer'"),
        ({"families": {"a": ["transformer"], "b": ["transformer"]}}, "transformer is of two families"),
        ({"budgets": {"coyping": 1e9}}, "Did you mean 'copying'"),
        ({"search": {"rates": [1e-3], "seed": 0, "share": 0.5}}, "is one of `seeds`"),
    ],
)
def test_settings_that_cannot_be_are_refused(planning: Any, change: dict[str, Any], said: str) -> None:
    settings, _ = planning("laptop")
    with pytest.raises(ValidationError, match=re.escape(said)):
        type(settings).model_validate({**settings.model_dump(), **change})


def test_a_budget_that_pays_for_no_step_is_said(planning: Any) -> None:
    settings, context = planning("laptop")
    with pytest.raises(UserError, match=r"budgets.copying: 10 operations pay for no step of transformer"):
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
    from allmlp.tasks.task import Batch

    targets = torch.tensor([[0, 1, 1, -1], [2, 1, -1, 1]])
    batch = Batch(torch.zeros(2, 4, dtype=torch.int64), targets)
    shares = torch.tensor([1, 4, 1]) / 6
    best = [*shares.log().tolist(), -100.0]
    value, guess = score._judged(Answers(torch.tensor(best).expand(2, 4, 4)), [batch], by_loss=True)  # type: ignore[arg-type]
    assert value == pytest.approx(guess, abs=1e-9)
    assert score._skill(value, guess, by_loss=True) == pytest.approx(0, abs=1e-9)
    right = 50.0 * torch.nn.functional.one_hot(targets.clamp(min=0), 4)
    assert score._judged(Answers(right), [batch], by_loss=False) == (1.0, pytest.approx(4 / 6))  # type: ignore[arg-type]
    assert score._skill(1.0, 4 / 6, by_loss=False) == 1.0
    assert score._skill(float("nan"), 0.5, by_loss=False) == 0.0


def test_retrieval_finds_what_a_linear_map_relates_and_nothing_in_noise() -> None:
    rng = np.random.default_rng(0)
    queries, mixing = rng.normal(size=(512 + 256, 16)), rng.normal(size=(16, 16))
    assert retrieval.found(queries, queries @ mixing + 3, fitted=512) == 1.0
    assert retrieval.found(queries, rng.normal(size=queries.shape), fitted=512) < 4 / retrieval.CANDIDATES


def test_an_embedding_is_the_mean_of_a_text_alone() -> None:
    torch.manual_seed(0)
    model = models.build("causal-rn", vocabulary=11, context=6, d_model=8, n_blocks=2).eval()
    texts = [np.array([3, 1, 4], np.uint16), np.arange(9, dtype=np.uint16)]
    rows = retrieval.embeddings(model, texts)
    for row, text in zip(rows, texts, strict=True):
        alone = model.hidden(torch.from_numpy(text[:6].astype(np.int64))[None])[0].mean(dim=0)
        np.testing.assert_allclose(row, alone.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_measures_of_a_run(planning: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, context = planning("smoke")
    runs = [run for run in planned.runs(settings, context) if run.architecture == "transformer"]
    by_id = {run.id: run for run in runs}
    monkeypatch.chdir(tmp_path)
    run = next(run for run in runs if run.name == "transformer-recall")
    run = replace(run, relatives={one: by_id[one] for one in run.search})
    for one in (*run.relatives.values(), run):
        produce(one)
    trained = Trained(run)
    (row,) = score.measure(trained).to_dict("records")
    assert (row["task"], row["metric"], row["learning_rate_1"]) == ("recall", "accuracy", 0.003)
    assert row["skill_1"] == pytest.approx((row["value"] - row["guess"]) / (1 - row["guess"]))
    (cost,) = resources.measure(trained).to_dict("records")
    assert cost["flops_per_token"] > 6 * 16 * 16
    assert cost["kept_bytes_per_token"] > 0
    table = abilities.measure(trained)
    assert len(table) == len(models.REGISTRY) * len(TASKS)
    for module, rows in ((score, score.measure(trained)), (abilities, table), (resources, resources.measure(trained))):
        assert list(rows.columns) == list(module.COLUMNS)


SKILLS = {  # family -> task -> mean skill
    "attention": {"copying": 0.9, "stories": 0.50, "multi-recall": 0.8},
    "hybrid": {"copying": 0.9, "stories": 0.51, "multi-recall": 0.8},
    "masked mixing": {"copying": 0.3, "stories": 0.499, "multi-recall": 0.1},
    "causal relation": {"copying": 0.92, "stories": 0.42, "multi-recall": 0.3},
    "constant attention": {"addition": 1.0},
}


def scores(skills: dict[str, dict[str, float]] = SKILLS, seeds: int = 5) -> pd.DataFrame:
    """Rows of the measure `score` as a study's tables have them."""
    rows = [
        {
            "run": f"{family}-{task}-{seed}",
            "seed": seed,
            "part": "trained",
            "task": task,
            "column": family,
            "family": family,
            "model": {"attention": "transformer", "constant attention": "constant-attention"}.get(family, "causal-rn"),
            "skill_1": skill + 0.001 * np.sin(7 * seed + len(family)),
        }
        for family, of_task in skills.items()
        for task, skill in of_task.items()
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def spent(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the measure `resources`, attention's half of the others' numbers."""
    first = rows[rows["seed"] == 0].copy()
    half = np.where(first["family"] == "attention", 1.0, 2.0)
    numbers = dict.fromkeys(("parameters", "flops_per_token", "kept_bytes_per_token"), 100 * half)
    speeds = {"training_tokens_per_s": 100 * half, "generation_tokens_per_s": np.nan, "hardware": "a machine"}
    return first.assign(**numbers, **speeds)


def judged(test: str, margin: float, rows: pd.DataFrame) -> Any:
    evidence = SimpleNamespace(margin={"skill_1": margin}, table=lambda measure: rows)
    return getattr(verdicts, test)(evidence)


def changed(family: str, task: str, skill: float) -> pd.DataFrame:
    return scores({**SKILLS, family: {**SKILLS[family], task: skill}})


def test_some_family_learns_stories_as_attention_does() -> None:
    found = judged("stories_alike", 0.01, scores())
    assert found.verdict == "reproduced"
    assert "masked mixing" in found.text
    assert judged("stories_alike", 0.01, changed("masked mixing", "stories", 0.44)).verdict == "contradicted"
    assert judged("stories_alike", 0.01, scores(seeds=3)).verdict == "undecided"


def test_recall_sets_attention_apart() -> None:
    assert judged("recall_apart", 0.1, scores()).verdict == "reproduced"
    assert judged("recall_apart", 0.1, changed("masked mixing", "multi-recall", 0.79)).verdict == "contradicted"


def test_no_family_is_near_everywhere() -> None:
    found = judged("none_near_everywhere", 0.1, scores())
    assert found.verdict == "reproduced"
    assert {part.name for part in found.parts} == {"masked mixing", "causal relation"}, "one task is no comparison"
    near = changed("causal relation", "multi-recall", 0.79)
    assert judged("none_near_everywhere", 0.1, near).verdict == "partly"


def test_claims_without_their_runs_are_not_planned() -> None:
    only = {family: {"copying": of_task.get("copying", 0.0)} for family, of_task in SKILLS.items()}
    for test in ("stories_alike", "recall_apart"):
        with pytest.raises(NotPlannedError):
            judged(test, 0.1, scores(only))


def test_of_a_family_the_best_variant_counts_on_each_task() -> None:
    rows = scores({"attention": {"copying": 0.5}})
    other = scores({"attention": {"copying": 0.7}}).assign(column="llama", run="other")
    assert set(families.best_variants(pd.concat([rows, other]))["column"]) == {"llama"}


def test_distances_are_shares_of_attention_nearest_first() -> None:
    rows = scores()
    table = distances.tabulate({"score": rows, "resources": spent(rows)})
    assert list(table["family"]) == ["causal relation", "masked mixing"], "constant attention shares no task"
    first = table.iloc[0]
    assert first["share"] == pytest.approx(np.mean([0.92 / 0.9, 0.42 / 0.5, 0.3 / 0.8]), abs=0.01)
    assert first["low"] < first["share"] < first["high"]
    assert (first["nearest"], first["furthest"], first["tasks"]) == ("copying", "multi-recall", 3)
    assert (first["parameters"], first["training_speed"], first["costs_on"]) == (2.0, 2.0, "stories")


def told() -> pd.DataFrame:
    names = ("transformer", "causal-rn", "constant-attention")
    rows = [(name, task, fits(name, task) or "") for name in names for task in TASKS]
    return pd.DataFrame(rows, columns=list(abilities.COLUMNS))


def test_the_matrix_says_who_cannot_and_why() -> None:
    with style.matplotlib.rc_context(style.RC):
        figure = matrix.draw({"score": scores(), "abilities": told()})
    texts = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert sum(text.startswith("cannot: predicts the last token only") for text in texts) == 3
    assert sum(text == "not planned" for text in texts) == 4  # who could do addition and was not asked to
    assert [text for text in texts if text.startswith("1.00")]
    labels = [label.get_text().replace("\n", " ") for label in figure.axes[0].get_xticklabels()]
    assert labels == list(SKILLS)


def test_what_nobody_learnt_is_compared_with_nothing() -> None:
    rows = scores({"attention": {"copying": 0.01}, "masked mixing": {"copying": 0.02}})
    cells = matrix._cells(rows)
    assert cells["share"].isna().all()
    assert distances.tabulate({"score": rows, "resources": spent(rows)}).empty


def test_tables_have_a_row_for_each() -> None:
    table = abilities_table.tabulate({"abilities": told()})
    assert list(table["architecture"]) == ["transformer", "causal-rn", "constant-attention"]
    assert table.set_index("architecture").loc["constant-attention", "recall"] == "cannot: reads 2 tokens only"
    rows = spent(scores())
    cost = rows[["run"]].assign(steps_done=7, counted_flops=70)
    assert len(costs.tabulate({"resources": rows, "cost": cost})) == len(rows)


def findings(table: pd.DataFrame | None) -> str:
    environment = Environment(
        loader=FileSystemLoader(PROJECT / "paper"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = ("slug", "number", "rounded", "scientific", "duration")
    environment.filters |= dict.fromkeys(filters, str)  # of the report's other parts, which are loaded with `count`
    tables = []
    if table is not None:
        shown = table.map(lambda cell: f"{cell:.6g}" if isinstance(cell, float) else str(cell))
        tables = [{"name": "distances", "rows": shown, "scale": "workstation"}]
    study = {"name": "crossover", "tables": tables}
    return environment.get_template("findings-crossover.html.j2").render(study=study)


def test_the_findings_answer_the_question_first() -> None:
    rows = scores()
    page = findings(distances.tabulate({"score": rows, "resources": spent(rows)}))
    assert page.index("<strong>causal relation</strong>") < page.index("<strong>masked mixing</strong>")
    assert "Of the 2 all-MLP families here, <strong>causal relation</strong> comes nearest to attention" in page
    assert "2.00 times attention's weights" in page
    assert "nan" not in page
    assert findings(None).strip() == ""


def test_one_seed_has_no_interval_to_print() -> None:
    rows = scores(seeds=1)
    page = findings(distances.tabulate({"score": rows, "resources": spent(rows)}))
    assert "nan" not in page
    assert "Means over 1 seed at scale workstation" in page


def test_its_claims_are_this_projects_own() -> None:
    claims = [row["id"] for row in studies.ledger("crossover")]
    assert all(studies.is_own(claim) for claim in claims)
    assert studies.ledger("crossover", "errata") == []
