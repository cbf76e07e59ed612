"""Retrieval: embeddings at one position, a pure task over frozen embeddings, closed-form probes (001-21 to 001-27)."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from allmlp import models, tokenizers
from allmlp.errors import UserError
from allmlp.studies.mixers import probes
from allmlp.studies.mixers.measures.distances import distance
from allmlp.studies.mixers.measures.retrieval import of_what_is_read
from allmlp.tasks import retrieval
from allmlp.tasks.embeddings import as_read, embed, laid_out, normalised
from allmlp.tasks.retrieval import Retrieval, draw
from allmlp.tasks.task import generator
from allmlp.tokens.pairs import PairFile, write_pairs

END, CONTEXT = 256, 24
THINGS = ["cat", "dog", "owl", "fox", "hen", "cow", "bee", "ant", "elk", "eel", "ram", "bat"]


def mixer(**changes: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    sizes = {"vocabulary": 257, "context": CONTEXT, "d_model": 8, "n_blocks": 2}
    return models.build("masked-mixer", **{**sizes, **changes}).eval()


def parent(padding: str = "right", model: torch.nn.Module | None = None) -> Any:
    """What the task asks of a trained run."""
    run = SimpleNamespace(
        id=f"mixer-{padding}", task_parameters={"padding": padding}, device="cpu", threads=1, hyperparameters={}
    )
    return SimpleNamespace(run=run, model=lambda: model or mixer())


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    told = [
        (f"The {a} and {b}", f"A {b} met the {a} {n}")
        for n, (a, b) in enumerate(np.random.default_rng(0).choice(THINGS, (300, 2)))
    ]
    texts = [text for pair in told for text in pair]
    write_pairs(
        told, tokenizers.fit(tokenizers.Bytes(), texts, folder), folder / "told-00000000", held_out=5, describe={}
    )
    return folder / "told-00000000"


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


TEXTS = [np.arange(1, 4), np.arange(1, 30), np.array([9])]


@pytest.mark.parametrize(
    ("padding", "position", "rows", "at"),
    [
        ("right", "before_last", [[1, 2, 3, 0, 0], [25, 26, 27, 28, 29], [9, 0, 0, 0, 0]], [2, 4, 0]),
        ("right", "last", [[1, 2, 3, 0, 0], [26, 27, 28, 29, 0], [9, 0, 0, 0, 0]], [3, 4, 1]),
        ("left", "before_last", [[0, 0, 1, 2, 3], [25, 26, 27, 28, 29], [0, 0, 0, 0, 9]], [4, 4, 4]),
        ("left", "last", [[0, 1, 2, 3, 0], [26, 27, 28, 29, 0], [0, 0, 0, 9, 0]], [4, 4, 4]),
    ],
)
def test_texts_are_laid_out_as_training_lays_them(padding, position, rows, at):
    tokens, found, lengths = laid_out(TEXTS, 5, padding, position, end=0)
    assert (tokens.tolist(), found.tolist()) == (rows, at)
    assert lengths.tolist() == [min(5, len(text) + (position == "last")) for text in TEXTS]


@pytest.mark.parametrize(("position", "read"), [("before_last", 5), ("mean", 5), ("last", 4)])
def test_what_is_read_of_a_text_is_what_is_laid_out_but_its_end(position, read):
    found = as_read(TEXTS, 5, position)
    assert [ids.tolist() for ids in found] == [[1, 2, 3], list(range(30 - read, 30)), [9]]
    for ids, row in zip(found, laid_out(TEXTS, 5, "right", position, end=0)[0], strict=True):
        assert row[: len(ids)].tolist() == ids.tolist()


def test_shared_words_are_counted_in_what_the_embedder_reads(pairs):
    """Of `A dog met the cat 7` the last 11 bytes hold one word of two, of `The cat and dog` they hold both."""

    def found(context, position="before_last"):
        run = SimpleNamespace(hyperparameters={"context": context})
        reads = SimpleNamespace(pairs=PairFile(pairs), parent=SimpleNamespace(run=run), position=position)
        return of_what_is_read(reads)

    whole, cut = found(CONTEXT), found(11)
    assert whole == {"shared_words_1": 1.0, "truncated_1": 0.0, "truncated_queries_1": 0.0}
    assert 0.45 < cut["shared_words_1"] < 0.65  # a pair of twice the same word shares all of it
    assert (cut["truncated_1"], cut["truncated_queries_1"]) == (1.0, 1.0)
    shortest = min(len(ids) - 1 for ids in PairFile(pairs).texts("validation"))
    longest = max(len(ids) - 1 for ids in PairFile(pairs).texts("validation"))
    assert found(longest)["truncated_1"] == 0
    assert found(longest, "last")["truncated_1"] > 0  # the end takes a place
    assert found(shortest)["truncated_queries_1"] == 0


def test_a_text_of_nothing_is_refused():
    with pytest.raises(UserError, match="text without tokens"):
        laid_out([np.array([], np.int64)], 5, "right", "before_last", end=0)


def test_the_position_before_the_last_is_supervised_and_the_last_is_not(tmp_path):
    """In the rows that training reads, the token that is embedded has the end for its target, the end has none."""
    from allmlp.tasks.documents import shifted
    from allmlp.tasks.task import IGNORED

    text = np.array([5, 6, 7])
    for padding in ("left", "right"):
        batch = shifted([np.array([*text, END])], CONTEXT, END, padding)
        tokens, (at,), _ = laid_out([text], CONTEXT, padding, "before_last", END)
        assert batch.tokens.tolist() == tokens.tolist()
        assert batch.targets[0, at] == END
        assert (batch.targets[batch.tokens == END] == IGNORED).all()


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("position", ["last", "before_last"])
def test_embeddings_are_the_hidden_layer_at_that_position_one_text_at_a_time(padding, position):
    model, texts = mixer(), [text % 256 for text in TEXTS]
    found = embed(model, texts, padding, position, END)
    for text, row in zip(texts, found, strict=True):
        tokens, (at,), _ = laid_out([text], CONTEXT, padding, position, END)
        with torch.no_grad():
            torch.testing.assert_close(row, model.hidden(torch.from_numpy(tokens))[0, at])


@pytest.mark.parametrize("padding", ["left", "right"])
def test_the_mean_is_over_the_texts_own_tokens(padding):
    model, texts = mixer(), [text % 256 for text in TEXTS]
    for text, row in zip(texts, embed(model, texts, padding, "mean", END), strict=True):
        tokens, (at,), (length,) = laid_out([text], CONTEXT, padding, "mean", END)
        with torch.no_grad():
            hidden = model.hidden(torch.from_numpy(tokens))[0, at + 1 - length : at + 1]
        torch.testing.assert_close(row, hidden.mean(0))


def test_an_autoencoder_embeds_by_its_code():
    torch.manual_seed(0)
    model = models.build("mixer-autoencoder", vocabulary=257, context=CONTEXT, d_model=8, n_blocks=1).eval()
    tokens, _, _ = laid_out(TEXTS, CONTEXT, "right", "before_last", END)
    torch.testing.assert_close(
        embed(model, TEXTS, "right", "before_last", END), model.embedding(torch.from_numpy(tokens)).detach()
    )


def test_normalisations():
    x = torch.randn(50, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([1, 10, 0.1, 0])
    assert normalised(x, "none") is x
    torch.testing.assert_close(normalised(x, "unit").norm(dim=1), torch.ones(50))
    found = normalised(x[:10], "standardised", like_ND=x)
    expected = (x[:10, :3] - x[:, :3].mean(0)) / x[:, :3].std(0, correction=0)
    torch.testing.assert_close(found[:, :3], expected)
    assert (found[:, 3] == 0).all()  # a feature that says nothing stays silent


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


def test_distances_are_what_they_are_called():
    q, c = torch.randn(5, 6), torch.randn(5, 4, 6)
    q64, c64 = q.double().numpy(), c.double().numpy()
    l2 = np.sqrt(((q64[:, None] - c64) ** 2).sum(-1))
    cosine = 1 - (q64[:, None] * c64).sum(-1) / np.linalg.norm(q64, axis=-1)[:, None] / np.linalg.norm(c64, axis=-1)
    expected = {"cosine": cosine, "l1": np.abs(q64[:, None] - c64).sum(-1), "l2": l2}
    for metric, values in expected.items():
        np.testing.assert_allclose(distance(q, c, metric).numpy(), values, rtol=1e-5, atol=1e-6)


def test_ridge_solves_its_normal_equations():
    rng = np.random.default_rng(0)
    x, y = rng.normal(3, 2, (200, 5)), rng.normal(size=(200, 2))
    for penalty, fit in probes._fits(x, y).items():
        z = (x - x.mean(0)) / x.std(0)
        weights = np.linalg.solve(z.T @ z / 200 + penalty * np.eye(5), z.T @ (y - y.mean(0)) / 200)
        np.testing.assert_allclose(fit.weights, weights, rtol=1e-9, atol=1e-12)
    true = x @ rng.normal(size=(5, 2)) + 1
    assert probes.explained(probes.ridge(x, true)(x), true) > 0.9999
    assert probes.explained(np.broadcast_to(true.mean(0), true.shape), true) == pytest.approx(0)


def test_probed_words_are_neither_rare_nor_everywhere():
    texts = ["the cat sat"] * 6 + ["The dog sat"] * 6 + ["the cow"] * 2
    assert probes.vocabulary(texts) == ["cat", "dog"]
    assert probes.bags(["A DOG and a cat", "cow"], ["cat", "dog"]).tolist() == [[1, 1], [0, 0]]


def test_nearest_is_by_cosine():
    queries = np.array([[1.0, 0.0], [0.0, 2.0]])
    candidates = np.array([[[9.0, 9.0], [1.0, 0.1]], [[0.0, 0.1], [5.0, 1.0]]])
    assert probes.nearest(queries, candidates).tolist() == [1, 0]
