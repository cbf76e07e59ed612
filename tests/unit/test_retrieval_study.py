"""Study 001's retrieval from settings to figures: tiny embedders, searches and matchers, all measures of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.measurements.measurement import read
from allmlp.spec import catalogue
from allmlp.spec.catalogue import SHARED
from allmlp.spec.run import Run
from allmlp.studies.mixers.figures.retrieval import TITLES
from allmlp.studies.mixers.matcher_settings import MATCHER_SEARCH, OTHER_WORDS, PART, SHARED_WORDS
from allmlp.studies.mixers.matching import READERS, readings
from allmlp.studies.mixers.runs import retrieval
from allmlp.studies.mixers.runs.retrieval_settings import MATCHERS, RetrievalSettings
from allmlp.studies.mixers.runs.settings import TrainingSettings
from allmlp.training import checkpoint, measuring
from allmlp.training.published import TrainedRun
from tests import exhibits, tiny

SETTINGS: dict[str, Any] = {
    "corpus": "tiny",
    "context": 24,
    "d_model": 8,
    "n_blocks": 1,
    "batch_size": 8,
    "validation_documents": 4,
    "seeds": [0, 1],
    "steps": 4,
    "models": {"flat": {"architecture": "masked-mixer"}, "llama-4": {"architecture": "llama"}},
    "optimiser": {"learning_rate": 1e-2},
    "search": {"learning_rates": [1e-3, 1e-2], "steps": 2, "seeds": [100]},
}
RETRIEVAL: dict[str, Any] = {
    "steps": 6,
    "batch_size": 8,
    "n_blocks": 1,
    "n_heads": 2,
    "validation_draws": 24,
    "tested": 3,
    "optimiser": {"learning_rate": 1e-2},
    "search": {
        "context": 4,
        "steps": 3,
        "learning_rates": [1e-3, 1e-2],
        "normalisations": ["none", "standardised"],
    },
    "control": "others",
    "comparisons": {
        "embedders": {"embedders": ["mixer", "untrained-mixer"], "contexts": [4, 8], "pairs": ["told"]},
        "control": {"embedders": ["mixer"], "contexts": [8], "pairs": ["others"]},
        "fewer": {
            "embedders": ["mixer"],
            "contexts": [8],
            "pairs": ["told"],
            "training_pairs": [100, None],
            "probes": False,
        },
    },
}


class Settings(TrainingSettings):
    retrieval: RetrievalSettings | None = None


class Context:
    """What the plan would say of the tiny corpora."""

    device = "cpu"

    def tokens(self, corpus: str) -> str:
        return f"{corpus}-00000000"

    def pairs_corpus(self, pairs: str, text: str) -> str:
        return pairs

    def corpus_settings(self, corpus: str) -> str:
        return corpus

    def vocabulary(self, corpus: str) -> int:
        return 257


def planned(**changes: Any) -> list[Run]:
    settings = Settings.model_validate({**SETTINGS, "retrieval": {**RETRIEVAL, **changes}})
    found = {run.id: run for run in retrieval.runs(settings.retrieval, settings, Context())}  # type: ignore[arg-type]

    def add(run: Run) -> Run:
        return replace(run, relatives={one: add(found[one]) for one in run.needs})

    return sorted((add(run) for run in found.values()), key=lambda run: run.depth)


def matchers(runs: list[Run]) -> list[Run]:
    return [run for run in runs if run.task == "retrieval" and run.measures]


def test_every_embedder_is_searched_with_the_same_budget():
    runs = planned()
    of_matchers = matchers(runs)
    assert len(of_matchers) == 2 * (2 * 2 + 1 + 1)  # seeds x (embedders x contexts, the control, fewer pairs)
    assert {len(run.search) for run in of_matchers} == {4}
    searched = [run for run in runs if run.task == "retrieval" and not run.measures]
    assert len(searched) == 3 * 4
    assert {(run.seed, run.steps, run.hyperparameters["context"]) for run in searched} == {(100, 3, 4)}
    assert all(run.task_parameters["normalisation"] is None for run in of_matchers)
    assert all(run.relatives[run.parent].seed == run.seed for run in runs if run.task == "retrieval" and run.parent)
    assert {run.labels["words"] for run in of_matchers if run.corpus == "others"} == {OTHER_WORDS}


def test_a_search_with_a_criterion_keeps_the_losses_of_all_its_seeds():
    search = {**RETRIEVAL["search"], "seeds": [100, 101, 102], "criterion": "held_out_nats"}
    with pytest.raises(ValidationError, match="name one of the `normalisations`"):
        planned(search=search)
    runs = planned(search={**search, "normalisations": ["standardised"]})
    of_parts = {part: [run for run in runs if run.labels["part"] == part] for part in (PART, MATCHER_SEARCH)}
    assert {(run.criterion, len(run.search)) for run in of_parts[PART]} == {("held_out_nats", 6)}
    assert {run.task_parameters["normalisation"] for run in of_parts[PART]} == {"standardised"}
    assert {run.seed for run in of_parts[MATCHER_SEARCH]} == {100, 101, 102}
    assert {run.measures for run in of_parts[MATCHER_SEARCH]} == {SHARED}
    assert all(run.relatives[run.parent].seed == run.seed for run in runs if run.parent)


def test_the_table_of_rates_chooses_as_the_training_does():
    losses = {1e-3: [3.0, 3.1, 3.2], 2e-3: [2.0, 2.1, 2.2], 4e-3: [2.0, 2.2, 2.1], 8e-3: [2.9, np.nan, 3.0]}
    rows = [
        {"learning_rate": rate, "seed": seed, "validation_nats": loss, "diverged": np.isnan(loss), "steps_done": 9}
        for rate, of_seeds in losses.items()
        for seed, loss in enumerate(of_seeds)
    ]
    labels = {"part": MATCHER_SEARCH, "model": "m", "embedder": "e", "width": 8, "position": "mean", "pairs": "told"}
    cost = pd.DataFrame(rows).assign(**labels, padding="right", criterion="held_out_nats")
    left = cost.assign(padding="left", validation_nats=5 - cost["validation_nats"])
    found = exhibits.table("mixers", "matcher_learning_rates", {"cost": pd.concat([cost, left])})
    assert found["padding"].tolist() == ["right", "left"], "a search of its own for each side"
    row, other = (found.iloc[place] for place in (0, 1))
    assert (other["chosen"], other["at"]) == (1e-3, "edge")
    assert (row["chosen"], row["at"], row["steps"]) == (2e-3, "", 9)
    assert row["at_0.004"] == pytest.approx(2.1)
    assert np.isnan(row["at_0.008"])


def test_a_run_of_two_comparisons_is_one_with_the_measures_of_both():
    of_mixer = [run for run in matchers(planned()) if run.labels["embedder"] == "mixer" and run.corpus == "told"]
    whole = [run for run in of_mixer if run.labels["context"] == 8 and run.labels["training_pairs"] == "all"]
    assert len(whole) == 2
    assert all({"embedding_probes", "retrieval"} <= set(run.measures) for run in whole)
    assert all("embedding_probes" not in run.measures for run in of_mixer if run.labels["training_pairs"] == "100")


def test_two_runs_of_one_setting_are_refused_for_verdicts_would_take_them_for_two_seeds():
    fewer = {"embedders": ["mixer"], "contexts": [8], "pairs": ["told"]}
    for change, said in (
        ({"pairs": ["told", "more"]}, r"told, all pairs.*more, all pairs"),
        ({"training_pairs": [50, 100]}, "50 pairs.*100 pairs"),
    ):
        with pytest.raises(UserError, match=rf"comparisons ask for .*{said}.*which no verdict tells apart. Leave one"):
            planned(comparisons={"twice": {**fewer, **change}})
    longer = {"twice": fewer, "longer": {**fewer, "steps": 9}}
    with pytest.raises(UserError, match=r"6 steps.*9 steps"):
        planned(comparisons=longer)


def test_a_comparison_that_is_null_is_left_out():
    assert {run.corpus for run in matchers(planned())} == {"told", "others"}
    left = planned(comparisons={**RETRIEVAL["comparisons"], "control": None}, control=None)
    assert {run.corpus for run in matchers(left)} == {"told"}


def test_untrained_embedders_have_no_steps_and_no_search():
    (untrained, *_) = {
        run.parent: run for run in matchers(planned()) if run.labels["embedder"] == "untrained-mixer"
    }.values()
    assert untrained.parent
    assert (untrained.relatives[untrained.parent].steps, untrained.relatives[untrained.parent].search) == (0, ())


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """Every measure of the tiny plan, with the runs' labels; one matcher is the transformer as published."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tiny.write_tokens(folder)
        for name in ("told", "others"):
            tiny.write_pairs(folder, name)
        published = {"embedders": ["transformer"], "matchers": [MATCHERS[2]], "contexts": [8], "pairs": ["told"]}
        runs = planned(seeds=[0], comparisons={**RETRIEVAL["comparisons"], "published": published})
        tables: dict[str, list[pd.DataFrame]] = {}
        for run in runs:
            checkpoint.produce(run)
        for run in matchers(runs):
            for measure in run.measures:
                rows = read(measuring.take(run, measure, TrainedRun(run)))[1].to_pandas()
                labels = {key: value for key, value in run.labels.items() if key not in rows}
                tables.setdefault(measure, []).append(rows.assign(**labels))
    return {
        **{measure: pd.concat(found, ignore_index=True) for measure, found in tables.items()},
        "paper": exhibits.paper("mixers"),
    }


def test_measures_say_what_was_given_and_reached(measured):
    rows = measured["retrieval"]
    assert set(rows["normalisation"]) <= {"none", "standardised"}
    assert set(rows["learning_rate"]) <= {1e-3, 1e-2}
    assert (rows["lowest_nats"] <= rows["last_nats"]).all()
    np.testing.assert_allclose(rows["chance_nats"], np.log(rows["context"] - 1))
    assert set(rows.loc[rows["training_pairs"].eq("100"), "training_queries"]) == {100}
    assert rows["top_1"].between(0, 1).all()
    assert rows["shared_words_1"].mean() > 0.9
    curve = measured["retrieval_curve"]
    assert set(curve.loc[curve["held_out_nats"].notna(), "step"]) == {0, 2, 4, 6}
    lowest = curve.groupby("run")["held_out_nats"].min()
    np.testing.assert_allclose(rows.set_index("run")["lowest_nats"], lowest[rows["run"]])


def test_the_published_transformer_never_reads_its_query(measured):
    rows = measured["query_effect"].groupby("model")
    own, others = rows["own_change_1"].max(), rows["others_change_1"].max()
    assert own[MATCHERS[2]] == 0
    assert others[MATCHERS[2]] == 0  # a query is seen by queries alone, none of which is scored
    assert own["matcher-mixer"] > 0
    assert others["matcher-mixer"] == 0


def test_probes_with_the_true_words_find_more_than_chance(measured):
    rows = measured["embedding_probes"]
    assert set(rows["probe"]) == {"text", "query", "both", "map"}
    trained = rows[rows["embedder"].eq("mixer") & rows["probe"].eq("query")]
    assert trained["top_1"].mean() > 1.5 / trained["candidates"].mean()


def test_no_measure_of_a_matcher_hides_the_settings_of_its_run():
    """`normalisation` and `position` stand in for the labels: what was chosen, and the same."""
    for run in matchers(planned()):
        for measure in run.measures:
            hidden = set(catalogue.measure("mixers", measure).columns) & set(run.labels)
            assert hidden <= {"normalisation", "position"}, measure


@pytest.mark.parametrize("words", [SHARED_WORDS, OTHER_WORDS])
def test_the_figure_that_shows_probes_has_a_cell_of_each_with_its_mean(measured, words):
    rows = readings(*(measured[name] for name in ("retrieval", "distances", "embedding_probes")))
    readers = set(rows.loc[rows["words"].eq(words), "reader"])
    assert {name for name in READERS if name.startswith("probe")} <= readers
    figure = exhibits.make_exhibit(exhibits.figure("mixers", "retrieval_accuracy"), measured)
    (axis,) = [axis for axis in figure.axes if TITLES[words] in axis.get_title(loc="left")]
    named = [label.get_text().replace("\n", " ") for label in figure.axes[-1].get_xticklabels()]
    assert {named[round(text.get_position()[0])] for text in axis.texts} == readers
    cell = next(text for text in axis.texts if named[round(text.get_position()[0])] == "matcher")
    embedding = axis.get_yticklabels()[round(cell.get_position()[1])].get_text()
    side = "left" if embedding.endswith(", left") else "right"
    of = rows[rows["words"].eq(words) & rows["reader"].eq("matcher") & rows["padding"].eq(side)]
    mean = of.loc[of["embedder"].eq(embedding.removesuffix(", left")), "top_1"].mean()
    assert cell.get_text().startswith(f"{mean:.2f}")


@pytest.mark.parametrize("name", ["retrieval_losses", "retrieval_accuracy", "tournament"])
def test_figures_are_drawn_from_their_measures(measured, name):
    figure = exhibits.make_exhibit(exhibits.figure("mixers", name), measured)
    assert all(axis.has_data() for axis in figure.axes)


@pytest.mark.parametrize("name", ["retrieval", "retrieval_probes", "query_effect"])
def test_tables_are_made_of_their_measures(measured, name):
    rows = measured | {"cost": measured["cost"].drop(columns=["width"], errors="ignore")}
    assert len(exhibits.table("mixers", name, rows))
