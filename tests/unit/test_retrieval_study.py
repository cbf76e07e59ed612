"""Study 001's retrieval from settings to verdicts: tiny embedders, searches and matchers, made-up numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allmlp import measuring, tokenizers
from allmlp.report.evidence import paper_values
from allmlp.run import Run
from allmlp.studies import ledger
from allmlp.studies.mixers.figures import retrieval_accuracy, retrieval_losses, tournament
from allmlp.studies.mixers.matching import OTHER_WORDS, SHARED_WORDS
from allmlp.studies.mixers.runs import retrieval
from allmlp.studies.mixers.runs.retrieval import MATCHERS, RetrievalSettings
from allmlp.studies.mixers.runs.settings import TrainingSettings
from allmlp.studies.mixers.tables import query_effect, retrieval_probes
from allmlp.studies.mixers.tables import retrieval as retrieval_table
from allmlp.studies.mixers.tables import tournament as tournament_table
from allmlp.studies.mixers.verdicts.retrieval import TESTS
from allmlp.studies.rules import NotPlannedError
from allmlp.training import checkpoint
from allmlp.training.checkpoint import Trained
from tests import tiny

THINGS = ["cat", "dog", "owl", "fox", "hen", "cow", "bee", "ant", "elk", "eel", "ram", "bat"]
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
    "search": {"learning_rates": [1e-3, 1e-2], "steps": 2, "seed": 100},
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

    pairs = tokens

    def corpus_settings(self, corpus: str) -> str:
        return corpus

    def vocabulary(self, corpus: str) -> int:
        return 257


def planned(**changes: Any) -> list[Run]:
    settings = Settings.model_validate({**SETTINGS, "retrieval": {**RETRIEVAL, **changes}})
    found = {run.id: run for run in retrieval.runs(settings, Context())}  # type: ignore[arg-type]

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


def test_a_run_of_two_comparisons_is_one_with_the_measures_of_both():
    of_mixer = [run for run in matchers(planned()) if run.labels["embedder"] == "mixer" and run.corpus == "told"]
    whole = [run for run in of_mixer if run.labels["context"] == 8 and run.labels["training_pairs"] == "all"]
    assert len(whole) == 2
    assert all({"embedding_probes", "retrieval"} <= set(run.measures) for run in whole)
    assert all("embedding_probes" not in run.measures for run in of_mixer if run.labels["training_pairs"] == "100")


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
        write_pairs(folder)
        published = {"embedders": ["transformer"], "matchers": [MATCHERS[2]], "contexts": [8], "pairs": ["told"]}
        runs = planned(seeds=[0], comparisons={**RETRIEVAL["comparisons"], "published": published})
        tables: dict[str, list[pd.DataFrame]] = {}
        for run in runs:
            checkpoint.produce(run)
        for run in matchers(runs):
            for measure in run.measures:
                rows, _ = measuring.read(measuring.take(run, measure, Trained(run)))
                labels = {key: value for key, value in run.labels.items() if key not in rows}
                tables.setdefault(measure, []).append(rows.assign(**labels))
    return {
        **{measure: pd.concat(found, ignore_index=True) for measure, found in tables.items()},
        "paper": paper_values("mixers"),
    }


def write_pairs(folder: Path) -> None:
    from allmlp.tokens.pairs import write_pairs as write

    drawn = np.random.default_rng(0).choice(THINGS, (300, 2))
    told = [(f"The {a} and {b}", f"A {b} met the {a} {n}") for n, (a, b) in enumerate(drawn)]
    tokenizer = tokenizers.fit(tokenizers.Bytes(), [text for pair in told for text in pair], folder)
    for name in ("told", "others"):
        write(told, tokenizer, folder / f"results/tokens/{name}-00000000", held_out=5, describe={})


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


def test_probes_that_are_told_the_words_find_more_than_chance(measured):
    rows = measured["embedding_probes"]
    assert set(rows["probe"]) == {"text", "query", "both", "map"}
    trained = rows[rows["embedder"].eq("mixer") & rows["probe"].eq("query")]
    assert trained["top_1"].mean() > 1.5 / trained["candidates"].mean()


@pytest.mark.parametrize("module", [retrieval_losses, retrieval_accuracy, tournament])
def test_figures_are_drawn_from_their_measures(measured, module):
    figure = module.draw({name: measured[name] for name in (*module.MEASURES, "paper")})
    assert all(axis.has_data() for axis in figure.axes)


@pytest.mark.parametrize("module", [retrieval_table, retrieval_probes, query_effect])
def test_tables_are_made_of_their_measures(measured, module):
    rows = measured | {"cost": measured["cost"].drop(columns=["width"], errors="ignore")}
    assert len(module.tabulate({name: rows[name] for name in (*module.MEASURES, "paper")}))


class Made:
    """Evidence of made-up numbers."""

    scale = "gpu"

    def __init__(self, claim: str, **tables: pd.DataFrame) -> None:
        found = next(row for row in ledger("mixers") if row["id"] == claim)
        self.margin, self.paper, self._tables = found["margin"], found["paper"], tables

    def table(self, measure: str) -> pd.DataFrame:
        return self._tables[measure].copy()


def rows_of(*settings: dict[str, Any], seeds: int = 5) -> pd.DataFrame:
    """One row per seed of each setting: the article's own where nothing else is said, spread by 0.01 nats."""
    base = {
        "embedder": "mixer",
        "context": 32,
        "model": "matcher-mixer",
        "words": SHARED_WORDS,
        "position": "before_last",
        "padding": "right",
        "training_pairs": "all",
        "size": "base",
        "lowest_nats": 1.0,
        "last_nats": 1.0,
        "train_nats": 1.0,
        "top_1": 0.5,
        "embedder_nats": 1.5,
        "shared_words_1": 0.5,
        "own_change_1": 0.0,
    }
    rows = []
    for number, setting in enumerate(settings):
        for seed in range(seeds):
            row = {**base, **setting, "run": f"{number}-{seed}", "seed": seed}
            row["chance_nats"] = float(np.log(row["context"] - 1))
            row["lowest_nats"] += 0.01 * ((seed + number) % 3)
            rows.append(row)
    return pd.DataFrame(rows)


def test_every_claim_of_retrieval_has_its_test_and_measures():
    of_claims = {row["id"]: row for row in ledger("mixers")}
    for claim, test in TESTS.items():
        assert of_claims[claim]["test"] == test.__name__
        assert of_claims[claim]["measures"]


@pytest.mark.parametrize(("gap", "verdict"), [(0.5, "partly"), (0.0, "contradicted"), (0.05, "undecided")])
def test_mixer_embeds_better_by_its_margin_on_both_sides(gap, verdict):
    rows = rows_of(
        *({"padding": side, "embedder": name, "lowest_nats": 1 + (gap if name == "transformer" else 0)}
          for side in ("left", "right") for name in ("mixer", "transformer"))
    )  # fmt: skip
    found = TESTS["001-22"](Made("001-22", retrieval=rows))  # type: ignore[arg-type]
    assert found.verdict == verdict  # the printed losses are never judged off the article's scale
    one_side = rows.copy()
    one_side.loc[one_side["padding"].eq("left") & one_side["embedder"].eq("transformer"), "lowest_nats"] = 0.5
    assert TESTS["001-22"](Made("001-22", retrieval=one_side)).verdict != "partly"  # type: ignore[arg-type]


def test_a_transformer_that_fails_only_at_the_unsupervised_position_does_not_fail():
    chance = float(np.log(31))
    positions = [
        {"embedder": "transformer", "lowest_nats": 1.0},
        {"embedder": "transformer", "position": "last", "lowest_nats": chance},
    ]
    rows = rows_of(*positions, {}, {"training_pairs": "100", "lowest_nats": 2.0})
    parts = {part.name[:3]: part.verdict for part in TESTS["001-24"](Made("001-24", retrieval=rows)).parts}  # type: ignore[arg-type]
    assert parts == {"(a)": "contradicted", "(b)": "contradicted", "(c)": "reproduced", "(d)": "undecided"}


def test_the_bug_refutes_what_the_published_matcher_seems_to_show():
    chance = float(np.log(31))
    rows = rows_of(
        {"embedder": "transformer", "model": MATCHERS[2], "lowest_nats": chance - 0.01},
        {"embedder": "transformer", "model": MATCHERS[1], "lowest_nats": 1.0},
    )
    found = TESTS["001-27"](Made("001-27", retrieval=rows, query_effect=rows))  # type: ignore[arg-type]
    assert [part.verdict for part in found.parts] == ["reproduced", "contradicted", "contradicted"]
    assert found.verdict == "partly"


def test_a_matcher_that_learns_from_the_mean_learns():
    """Where an embedding holds nothing, no matcher learns: what a mended one finds elsewhere refutes the claim."""
    chance = float(np.log(31))
    settings = [{"embedder": "transformer", "model": name, "lowest_nats": chance} for name in MATCHERS[1:]]
    rows = rows_of(*settings, {**settings[0], "position": "mean", "lowest_nats": 1.0})
    found = TESTS["001-27"](Made("001-27", retrieval=rows, query_effect=rows))  # type: ignore[arg-type]
    assert [part.verdict for part in found.parts] == ["reproduced", "contradicted", "contradicted"]


def test_other_claims_on_made_up_numbers():
    chance, other, mean = float(np.log(31)), {"words": OTHER_WORDS}, {"position": "mean"}
    rows = rows_of(
        {}, {"embedder": "transformer", "lowest_nats": 2.0}, {"context": 128, "lowest_nats": 2.0},
        {"embedder": "transformer", "context": 128, "lowest_nats": 4.0, "last_nats": 5.0},
        {"embedder": "untrained-mixer", "lowest_nats": chance - 0.1},
        {"embedder": "autoencoder", "lowest_nats": chance - 0.1},
        {"embedder": "untrained-mixer", "context": 128, "lowest_nats": float(np.log(127)) - 0.015},
        {"embedder": "untrained-transformer", "lowest_nats": 1.0}, {**other},
        {"embedder": "untrained-transformer", "lowest_nats": 3.0, **other},
        {"embedder": "untrained-mixer", "lowest_nats": 3.0, **other, **mean}, {**other, **mean},
        {"embedder": "untrained-transformer", "lowest_nats": 3.0, **other, **mean},
        {"embedder": "transformer", **other, **mean},
        {"lowest_nats": 0.5, **mean}, {"embedder": "transformer", "lowest_nats": 2.0, **mean},
    )  # fmt: skip
    near = rows.assign(normalisation="none").merge(pd.DataFrame({"metric": ["cosine", "l1", "l2"]}), how="cross")
    near["top_1"] = near["metric"].map({"cosine": 0.1, "l1": 0.3, "l2": 0.45})
    probes = rows.assign(probe="both", top_1=rows["embedder"].map({"mixer": 0.9}).fillna(0.5))
    tables = {"retrieval": rows, "distances": near, "embedding_probes": probes}
    expected = {
        "001-21": "partly",  # L1 and L2 come too near
        "001-23": "partly",  # the printed losses are not judged
        "001-25": "reproduced",
        "001-26": "reproduced",
        "001-own-5": "reproduced",
        "001-own-6": "reproduced",
        "001-own-7": "partly",
        "001-own-8": "partly",
    }
    found = {claim: TESTS[claim](Made(claim, **tables)) for claim in expected}  # type: ignore[arg-type]
    assert {claim: finding.verdict for claim, finding in found.items()} == expected, found
    with pytest.raises(NotPlannedError, match="context 128"):
        TESTS["001-25"](Made("001-25", retrieval=rows[rows["context"].eq(32)]))  # type: ignore[arg-type]


def test_passes_do_not_grow_as_n_log_n():
    from allmlp.studies.mixers.measures.tournament_passes import measure

    rows = measure(None).assign(run="r", seed=0)  # type: ignore[arg-type]
    found = TESTS["001-30"](Made("001-30", tournament_passes=rows))  # type: ignore[arg-type]
    assert found.verdict == "contradicted"
    assert "exponent of n 0.99" in found.text or "exponent of n 1.00" in found.text
    as_claimed = rows.assign(passes_per_text_1=np.log10(rows["texts"]))
    assert TESTS["001-30"](Made("001-30", tournament_passes=as_claimed)).verdict == "reproduced"  # type: ignore[arg-type]
    table = tournament_table.tabulate({"tournament_passes": rows})
    assert (table["passes"] < table["n_log_n"]).all()
