"""Retrieval, a pure task over frozen embeddings: draws, batches, what is kept and refused (001-21 to 001-27)."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from allmlp.common.errors import UserError
from allmlp.data.tasks import retrieval
from allmlp.data.tasks.retrieval import Retrieval, draw
from allmlp.data.tasks.task import generator
from allmlp.data.tokens.pairs import PairFile
from allmlp.studies.mixers.measures.retrieval import read_text_counts
from tests import tiny
from tests.unit.test_embeddings import CONTEXT, mixer


def parent(padding: str = "right", model: torch.nn.Module | None = None) -> Any:
    """What the task asks of a trained run."""
    run = SimpleNamespace(
        id=f"mixer-{padding}", task_parameters={"padding": padding}, device="cpu", threads=1, hyperparameters={}
    )
    return SimpleNamespace(run=run, model=lambda: model or mixer())


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_pairs(tmp_path_factory.mktemp("pairs"), "told")


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    retrieval._KEPT.clear()
    yield
    retrieval._KEPT.clear()


def task(pairs: Path, **changes: Any) -> Retrieval:
    given = {"context": 8, "batch_size": 16, "position": "before_last", "normalisation": "none", "validation_draws": 90}
    return Retrieval(pairs, **{"parent": parent(), **given, **changes})


def test_embeddings_are_made_once_while_there_is_room_for_those_asked_for_last(pairs, monkeypatch):
    made: list[str] = []
    embed = retrieval.embed
    monkeypatch.setattr(retrieval, "embed", lambda *given: made.append(given[3]) or embed(*given))

    def positions_made(*asked: str) -> list[str]:
        made.clear()
        for position in asked:
            task(pairs, position=position)
        return made[::4]  # two sides of two splits

    assert positions_made("before_last", "mean", "before_last", "mean") == ["before_last", "mean"]
    one = sum(side.nbytes for sides in next(iter(retrieval._KEPT.values())).values() for side in sides)
    monkeypatch.setattr(retrieval, "MOST_KEPT", one)
    assert positions_made("before_last", "last") == ["last"], "mean, asked for longest ago, makes room"
    assert positions_made("before_last", "mean") == ["mean"]


def test_shared_words_are_counted_in_what_the_embedder_reads(pairs):
    """Of `A dog met the cat 7` the last 11 bytes hold one word of two, of `The cat and dog` they hold both."""

    def found(context, position="before_last"):
        run = SimpleNamespace(hyperparameters={"context": context})
        reads = SimpleNamespace(pairs=PairFile(pairs), parent=SimpleNamespace(run=run), position=position)
        return read_text_counts(reads)

    whole, cut = found(CONTEXT), found(11)
    assert whole == {"shared_words_1": 1.0, "truncated_1": 0.0, "truncated_queries_1": 0.0}
    assert 0.45 < cut["shared_words_1"] < 0.65  # a pair of twice the same word shares all of it
    assert (cut["truncated_1"], cut["truncated_queries_1"]) == (1.0, 1.0)
    shortest = min(len(ids) - 1 for ids in PairFile(pairs).texts("validation"))
    longest = max(len(ids) - 1 for ids in PairFile(pairs).texts("validation"))
    assert found(longest)["truncated_1"] == 0
    assert found(longest, "last")["truncated_1"] > 0  # the end takes a place
    assert found(shortest)["truncated_queries_1"] == 0


@pytest.mark.parametrize("count", [7, 8, 40])
def test_a_draw_shows_the_own_text_once_and_others_without_repetition(count):
    queries = np.arange(2000) % count
    drawn = draw(generator(3, 1), queries, count, candidates=7)
    assert (drawn.candidates[np.arange(2000), drawn.places] == queries).all()
    assert all(len(set(row)) == 7 for row in drawn.candidates.tolist())
    assert drawn.candidates.min() == 0
    assert drawn.candidates.max() == count - 1


def test_draws_are_even():
    """Places and other texts are uniform: chi-square, which exceeds its 99.99 % quantile in 1 of 10,000 codes."""
    from scipy.stats import chi2

    drawn = draw(generator(5, 0), np.zeros(20_000, np.int64), 12, candidates=5)
    others = drawn.candidates[drawn.candidates != 0]
    for observed in (np.bincount(drawn.places, minlength=5), np.bincount(others, minlength=12)[1:]):
        expected = observed.mean()
        assert ((observed - expected) ** 2 / expected).sum() < chi2.ppf(0.9999, len(observed) - 1)


def test_batches_are_pure_and_hold_the_own_text(pairs):
    one, two = task(pairs), task(pairs)
    later = one.batch(3, 40)
    one.batch(3, 41)
    assert torch.equal(two.batch(3, 40).tokens, later.tokens)
    assert not torch.equal(one.batch(4, 40).tokens, later.tokens)
    assert later.tokens.shape == (16, 8, 8)
    assert tuple(later.targets.shape) == (16,)
    queries, texts = one.embedded["train"]
    for row, place in zip(later.tokens, later.targets, strict=True):
        (pair,) = torch.nonzero((texts == row[1 + place]).all(1)).flatten().tolist()
        assert (queries[pair] == row[0]).all()


def test_validation_is_fixed_and_of_pairs_that_no_batch_has(pairs):
    one, two = task(pairs), task(pairs)
    blocks = one.validation()
    assert sum(len(block.tokens) for block in blocks) == 90
    assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(blocks, two.validation(), strict=True))
    train = {tuple(row) for row in one.embedded["train"].texts.tolist()}
    assert not train & {tuple(row) for block in blocks for rows in block.tokens[:, 1:].tolist() for row in rows}
    queries = len(one.raw["validation"].queries)
    assert np.bincount(one.held_out().queries, minlength=queries).min() >= 90 // queries


def test_scores_are_top_1_accuracy(pairs):
    one = task(pairs)
    batch = one.batch(0, 0)
    logits = torch.nn.functional.one_hot(batch.targets, 7).float()
    logits[0] = -logits[0]
    assert one.scores(logits, batch) == {"accuracy": 15 / 16}


def test_standardised_by_each_side_of_the_training_split_alone(pairs):
    one = task(pairs, normalisation="standardised")
    for side, held_out in zip(one.embedded["train"], one.embedded["validation"], strict=True):
        torch.testing.assert_close(side.mean(0), torch.zeros(8), atol=1e-4, rtol=0)
        torch.testing.assert_close(side.std(0, correction=0), torch.ones(8), atol=1e-4, rtol=0)
        assert held_out.mean(0).abs().max() > 1e-3


def test_fewer_training_pairs_are_the_first_ones(pairs):
    whole, fewer = task(pairs), task(pairs, training_pairs=20)
    assert torch.equal(fewer.raw["train"].texts, whole.raw["train"].texts[:20])
    assert torch.equal(fewer.raw["validation"].texts, whole.raw["validation"].texts)


def test_padding_is_the_parents(pairs):
    left, right = (task(pairs, parent=parent(padding)).raw["train"].queries for padding in ("left", "right"))
    assert not torch.allclose(left, right)


def test_too_few_pairs_or_an_unchosen_setting_are_refused(pairs):
    with pytest.raises(UserError, match=r"cannot fill a context of 200.*Take more pairs"):
        task(pairs, context=200)
    with pytest.raises(UserError, match="a search to choose them"):
        task(pairs, normalisation=None)
