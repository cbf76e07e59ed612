"""The rules of study 001's retrieval on made-up measurements where the answer is known."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allmlp.judging.rules import NotPlannedError
from allmlp.studies.mixers.matcher_settings import OTHER_WORDS, SHARED_WORDS
from allmlp.studies.mixers.measures.tournament import tournament_passes
from allmlp.studies.mixers.runs.retrieval_settings import MATCHERS
from tests import exhibits, judging

judged = partial(judging.judged, scale="gpu")


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
        "lowest_step": judging.STEPS // 2,
        "last_nats": 1.0,
        "train_nats": 1.0,
        "top_1": 0.5,
        "embedder_nats": 1.5,
        "shared_words_1": 0.5,
        "truncated_1": 0.25,
        "truncated_queries_1": 0.0,
        "own_change_1": 0.0,
    }
    rows = []
    for number, setting in enumerate(settings):
        for seed in range(seeds):
            row = {**base, **setting, "run": f"{number}-{seed}", "seed": seed}
            row["chance_nats"] = float(np.log(row["context"] - 1))
            row["lowest_nats"] += 0.01 * ((seed + number) % 3) + 1e-5 * ((seed + 1) * (number + 2) % 31)  # no ties
            row["embedder_nats"] += 0.01 * seed
            rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("gap", "verdict"), [(0.5, "partly"), (0.0, "contradicted"), (0.05, "undecided")])
def test_mixer_embeds_better_by_its_margin_on_both_sides(gap, verdict):
    rows = rows_of(
        *({"padding": side, "embedder": name, "lowest_nats": 1 + (gap if name == "transformer" else 0)}
          for side in ("left", "right") for name in ("mixer", "transformer"))
    )  # fmt: skip
    found = judged("001-22", retrieval=rows)
    assert found.verdict == verdict  # the printed losses are never judged off the article's scale
    one_side = rows.copy()
    one_side.loc[one_side["padding"].eq("left") & one_side["embedder"].eq("transformer"), "lowest_nats"] = 0.5
    assert judged("001-22", retrieval=one_side).verdict != "partly"


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [({}, "reproduced"), ({"train_nats": 2.0}, "reproduced"), ({"last_nats": 2.0}, "reproduced"),
     ({"lowest_nats": 0.9}, "contradicted")],
)  # fmt: skip
def test_printed_test_losses_are_held_against_lowest_test_losses_alone(changed, verdict):
    rows = rows_of({"lowest_nats": 0.28, **changed}, {"embedder": "transformer", "lowest_nats": 0.39})
    part = judged("001-22", scale="paper", retrieval=rows).parts[1]
    assert (part.name, part.verdict) == ("(b) printed test losses", verdict)
    assert "train" not in part.text


def test_verdicts_on_retrieval_say_how_much_of_the_texts_was_read():
    rows = rows_of({}, {"embedder": "transformer", "truncated_1": 0.5, "truncated_queries_1": 0.125})
    said = judged("001-22", retrieval=rows).parts[0].text
    assert "truncated to the embedder's context: 25% to 50% of the texts, 0% to 12% of the queries" in said
    both = [{"embedder": "untrained-transformer", "words": words} for words in (SHARED_WORDS, OTHER_WORDS)]
    assert "25% of the texts, 0% of the queries" in judged("001-own-5", retrieval=rows_of(*both)).text
    untrained = rows_of(
        *({"embedder": name, "context": context} for name in ("untrained-mixer", "mixer") for context in (32, 128))
    )
    assert "50% of a query's content words are in its text" in judged("001-25", retrieval=untrained).parts[1].text


def test_a_transformer_that_fails_only_at_the_unsupervised_position_does_not_fail():
    chance = float(np.log(31))
    positions = [
        {"embedder": "transformer", "lowest_nats": 0.9},
        {"embedder": "transformer", "position": "last", "lowest_nats": chance},
    ]
    rows = rows_of(*positions, {}, {"training_pairs": "100", "lowest_nats": 2.0})
    parts = {part.name[:3]: part.verdict for part in judged("001-24", retrieval=rows).parts}
    assert parts == {"(a)": "contradicted", "(b)": "contradicted", "(c)": "reproduced", "(d)": "undecided"}


def test_what_the_published_matcher_shows_is_not_shown_by_the_mended_one():
    chance = float(np.log(31))
    rows = rows_of(
        {"embedder": "transformer", "model": MATCHERS[2], "lowest_nats": chance - 0.01},
        {"embedder": "transformer", "model": MATCHERS[1], "lowest_nats": 1.0},
    )
    found = judged("001-27", retrieval=rows, query_effect=rows)
    assert [part.verdict for part in found.parts] == ["reproduced", "contradicted"]
    assert found.verdict == "partly"
    found = judged("001-27", retrieval=rows, query_effect=rows.assign(own_change_1=0.1))
    assert [part.verdict for part in found.parts] == ["undecided", "contradicted"], "its rate was not searched"


def test_a_matcher_that_learns_from_the_mean_learns():
    """Where an embedding holds nothing, no matcher learns: what a mended one finds elsewhere refutes the claim."""
    chance = float(np.log(31))
    settings = [{"embedder": "transformer", "model": name, "lowest_nats": chance} for name in MATCHERS[1:]]
    rows = rows_of(*settings, {**settings[0], "position": "mean", "lowest_nats": 1.0})
    found = judged("001-27", retrieval=rows, query_effect=rows)
    assert [part.verdict for part in found.parts] == ["reproduced", "contradicted"]


@pytest.mark.parametrize(("mixer_nats", "verdict"), [(1.0, "reproduced"), (float(np.log(31)), "undecided")])
def test_a_mended_matcher_fails_only_where_another_learns(mixer_nats, verdict):
    settings = [{"embedder": "transformer", "model": name, "lowest_nats": float(np.log(31))} for name in MATCHERS[1:]]
    rows = rows_of(*settings, {"embedder": "transformer", "lowest_nats": mixer_nats})
    found = judged("001-27", retrieval=rows, query_effect=rows)
    assert [part.verdict for part in found.parts][:2] == ["reproduced", verdict]


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
    near["top_1"] = near["metric"].map({"cosine": 0.1, "l1": 0.3, "l2": 0.45}) + 0.001 * near["seed"]
    probes = rows.assign(probe="both", top_1=rows["embedder"].map({"mixer": 0.9}).fillna(0.5) + 0.001 * rows["seed"])
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
    found = {claim: judged(claim, **tables) for claim in expected}
    assert {claim: finding.verdict for claim, finding in found.items()} == expected, found
    with pytest.raises(NotPlannedError, match="context 128"):
        judged("001-25", retrieval=rows[rows["context"].eq(32)])


AT_CHANCE = {"lowest_nats": float(np.log(31))}
TRANSFORMERS = [{"embedder": "transformer"}, {"embedder": "transformer", "position": "mean"}]


@pytest.mark.parametrize(
    ("claim", "settings", "part", "verdict"),
    [
        ("001-22", [{}, {"embedder": "transformer"}], 0, "contradicted"),
        ("001-26", [{"embedder": "untrained-mixer"}, {"embedder": "autoencoder"}], 1, "reproduced"),
    ],
)
def test_matchers_equal_at_chance_say_nothing_of_embeddings(claim, settings, part, verdict):
    for learnt, expected in (({}, verdict), (AT_CHANCE, "undecided")):
        found = judged(claim, retrieval=rows_of(*(setting | learnt for setting in settings))).parts[part]
        assert found.verdict == expected
        assert ("no matcher compared" in found.text) == (expected == "undecided")
    one_seed = rows_of(*(setting | AT_CHANCE for setting in settings))
    one_seed.loc[one_seed["seed"].eq(0), "lowest_nats"] = 2.0
    assert judged(claim, retrieval=one_seed).parts[part].verdict == "undecided"


def test_a_matcher_at_chance_or_still_learning_does_not_refute_that_it_overfits():
    both = [{"embedder": name, "context": context} for name in ("mixer", "transformer") for context in (32, 128)]
    rows = rows_of(*both)
    rows["last_nats"] = rows["lowest_nats"] + 0.001 * rows["seed"]
    found = judged("001-23", retrieval=rows).parts[1]
    assert (found.verdict, found.premise_not_met) == ("contradicted", "")
    of = rows["embedder"].eq("transformer") & rows["context"].eq(128)
    late = rows.assign(lowest_step=rows["lowest_step"].where(~(of & rows["seed"].eq(0)), judging.STEPS))
    at_chance = rows.assign(lowest_nats=rows["lowest_nats"].where(~(of & rows["seed"].eq(0)), rows["chance_nats"]))
    for unmet, counts in ((late, (5, 4)), (at_chance, (4, 5))):
        found = judged("001-23", retrieval=unmet).parts[1]
        assert (found.verdict, found.p, found.p_against) == ("undecided", 1.0, 1.0)
        said = f"{counts[0]} of 5 matchers come 0.05 nats below chance, and the lowest test loss of {counts[1]} comes"
        assert found.premise_not_met.startswith(said)


def test_an_encoder_that_does_not_reproduce_its_input_says_nothing_of_those_that_do():
    for nats, verdict in ((1.5, "reproduced"), (5.3, "undecided")):
        of = [{"embedder": name, "embedder_nats": nats} for name in ("untrained-mixer", "autoencoder")]
        found = judged("001-26", retrieval=rows_of(*of)).parts[1]
        assert found.verdict == verdict
        assert ("the autoencoder ends at 5.3" in found.premise_not_met) == (verdict == "undecided")


def test_a_padding_side_where_nothing_was_learnt_refutes_nothing():
    left = [{"padding": "left", **AT_CHANCE}, {"padding": "left", "embedder": "transformer", **AT_CHANCE}]
    rows = rows_of(*left, {}, {"embedder": "transformer", "lowest_nats": 2.0})
    assert judged("001-22", retrieval=rows).parts[0].verdict == "undecided"
    equal = rows_of({"padding": "left"}, AT_CHANCE, {"position": "mean", **AT_CHANCE}, *TRANSFORMERS)
    assert judged("001-own-8", retrieval=equal).parts[0].verdict == "undecided", "the left side is not compared"


def test_a_failure_with_one_embedder_differs_from_a_general_failure():
    chance = [AT_CHANCE, {"context": 128, "lowest_nats": float(np.log(127))}]
    untrained = [{"embedder": "untrained-mixer", **setting} for setting in chance]
    learnt = [{**setting, "lowest_nats": 1.0} for setting in chance]
    for trained, verdict in ((learnt, "reproduced"), (chance, "undecided")):
        found = judged("001-25", retrieval=rows_of(*untrained, *trained))
        assert {part.verdict for part in found.parts} == {verdict}


def test_passes_do_not_grow_as_n_log_n():

    rows = tournament_passes().assign(run="r", seed=0)  # type: ignore[arg-type]
    found = judged("001-30", tournament_passes=rows)
    assert (found.verdict, found.corrected) == ("contradicted", True)
    assert "exponent of n 0.99" in found.text or "exponent of n 1.00" in found.text
    as_claimed = rows.assign(passes_per_text_1=np.log10(rows["texts"]))
    assert judged("001-30", tournament_passes=as_claimed).verdict == "reproduced"
    table = exhibits.table("mixers", "tournament", {"tournament_passes": rows})
    assert (table["passes"] < table["n_log_n"]).all()
