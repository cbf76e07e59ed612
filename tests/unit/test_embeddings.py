"""Embeddings of texts: laid out as in training, read at one position or as a mean, normalised (001-21 to -27)."""

from typing import Any

import numpy as np
import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.data.tasks.embeddings import embed, lay_out_texts, normalise, truncate_texts

END, CONTEXT = 256, 24


def mixer(**changes: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    sizes = {"vocabulary": 257, "context": CONTEXT, "d_model": 8, "n_blocks": 2}
    return models.build("masked-mixer", **{**sizes, **changes}).eval()


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
    tokens, found, lengths = lay_out_texts(TEXTS, 5, padding, position, end=0)
    assert (tokens.tolist(), found.tolist()) == (rows, at)
    assert lengths.tolist() == [min(5, len(text) + (position == "last")) for text in TEXTS]


@pytest.mark.parametrize(("position", "read"), [("before_last", 5), ("mean", 5), ("last", 4)])
def test_what_is_read_of_a_text_is_what_is_laid_out_but_its_end(position, read):
    found = truncate_texts(TEXTS, 5, position)
    assert [ids.tolist() for ids in found] == [[1, 2, 3], list(range(30 - read, 30)), [9]]
    for ids, row in zip(found, lay_out_texts(TEXTS, 5, "right", position, end=0)[0], strict=True):
        assert row[: len(ids)].tolist() == ids.tolist()


def test_a_text_of_nothing_is_refused():
    with pytest.raises(UserError, match="text without tokens"):
        lay_out_texts([np.array([], np.int64)], 5, "right", "before_last", end=0)


def test_the_position_before_the_last_is_supervised_and_the_last_is_not():
    """In the rows that training reads, the token that is embedded has the end for its target, the end has none."""
    from allmlp.data.tasks.documents import shift_pieces
    from allmlp.data.tasks.task import IGNORED

    text = np.array([5, 6, 7])
    for padding in ("left", "right"):
        batch = shift_pieces([np.array([*text, END])], CONTEXT, END, padding)
        tokens, (at,), _ = lay_out_texts([text], CONTEXT, padding, "before_last", END)
        assert batch.tokens.tolist() == tokens.tolist()
        assert batch.targets[0, at] == END
        assert (batch.targets[batch.tokens == END] == IGNORED).all()


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("position", ["last", "before_last"])
def test_embeddings_are_the_hidden_layer_at_that_position_one_text_at_a_time(padding, position):
    model, texts = mixer(), [text % 256 for text in TEXTS]
    found = embed(model, texts, padding, position, END)
    for text, row in zip(texts, found, strict=True):
        tokens, (at,), _ = lay_out_texts([text], CONTEXT, padding, position, END)
        with torch.no_grad():
            torch.testing.assert_close(row, model.hidden(torch.from_numpy(tokens))[0, at])


@pytest.mark.parametrize("padding", ["left", "right"])
def test_the_mean_is_over_the_texts_own_tokens(padding):
    model, texts = mixer(), [text % 256 for text in TEXTS]
    for text, row in zip(texts, embed(model, texts, padding, "mean", END), strict=True):
        tokens, (at,), (length,) = lay_out_texts([text], CONTEXT, padding, "mean", END)
        with torch.no_grad():
            hidden = model.hidden(torch.from_numpy(tokens))[0, at + 1 - length : at + 1]
        torch.testing.assert_close(row, hidden.mean(0))


def test_an_autoencoder_embeds_by_its_code():
    torch.manual_seed(0)
    model = models.build("mixer-autoencoder", vocabulary=257, context=CONTEXT, d_model=8, n_blocks=1).eval()
    tokens, _, _ = lay_out_texts(TEXTS, CONTEXT, "right", "before_last", END)
    torch.testing.assert_close(
        embed(model, TEXTS, "right", "before_last", END), model.embedding(torch.from_numpy(tokens)).detach()
    )


def test_normalisations():
    x = torch.randn(50, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([1, 10, 0.1, 0])
    assert normalise(x, "none") is x
    torch.testing.assert_close(normalise(x, "unit").norm(dim=1), torch.ones(50))
    found = normalise(x[:10], "standardised", like_ND=x)
    expected = (x[:10, :3] - x[:, :3].mean(0)) / x[:, :3].std(0, correction=0)
    torch.testing.assert_close(found[:, :3], expected)
    assert (found[:, 3] == 0).all()  # a feature that says nothing stays silent
