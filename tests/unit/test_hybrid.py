"""Hybrids against their formula, the published one's leak, and the autoencoder with its task."""

from pathlib import Path

import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.data.tasks.task import IGNORED
from allmlp.models import audit
from allmlp.models.audit.subject import has_changed
from allmlp.models.hybrid import repack_rows
from allmlp.models.llama import left_padding
from tests import tiny
from tests.unit.test_llama import PAD, attention, drawn, rms_norm


def triangle(mixing, x_TD):
    """Masked mixing, token by token."""
    (layer,) = mixing.layers
    weight, bias = layer.weight[0, 0, 0], layer.bias[0, 0]
    return torch.stack([bias[t] + weight[t, : t + 1] @ x_TD[: t + 1] for t in range(len(x_TD))])


@pytest.mark.parametrize("order", ["before", "beside", "after"])
def test_hybrid_is_its_formula(order):
    model, tokens = audit.build_small("hybrid", order=order, context=9), drawn(9)
    x = model.wte.weight[tokens]
    for block in model.blocks:
        attend = lambda x, block=block: attention(block.mixer, rms_norm(x, block.norm), n_heads=2)  # noqa: E731
        mix = lambda x, block=block: triangle(block.mixing, rms_norm(x, block.mixing_norm))  # noqa: E731
        if order == "beside":
            x = x + attend(x) + mix(x)
        else:
            first, second = (mix, attend) if order == "before" else (attend, mix)
            x = x + first(x)
            x = x + second(x)
        z = rms_norm(x, block.feed_forward_norm)
        x = x + block.feed_forward(z)
    expected = rms_norm(x, model.norm) @ model.unembedding.weight.T
    torch.testing.assert_close(model(tokens[None])[0], expected, rtol=0, atol=1e-11)


def test_hybrid_embeddings_are_not_drowned():
    torch.manual_seed(0)
    model = models.build("hybrid", vocabulary=300, context=8, d_model=96, n_blocks=1)
    assert model.wte.weight.std().item() == pytest.approx(1, rel=0.05)
    assert model.unembedding.weight.std().item() == pytest.approx(0.02, rel=0.05)


def test_packed_rows_begin_with_their_text():
    tokens = torch.tensor([[PAD, PAD, 3, 4], [5, 6, 7, 8], [PAD, 9, PAD, 1]])
    turned = repack_rows(tokens[..., None], left_padding(tokens, PAD))[..., 0]
    assert turned.tolist() == [[3, 4, PAD, PAD], [5, 6, 7, 8], [9, PAD, 1, PAD]]


def both(**options):
    """The published hybrid and the mended one, of equal weights."""
    published = audit.build_small("hybrid-as-published", **options)
    mended = audit.build_small("hybrid", order="after", **options)
    mended.load_state_dict(published.state_dict())
    return published, mended


def test_without_left_padding_nothing_is_wrong_with_the_published_hybrid():
    tokens = drawn(2, 12)
    tokens[:, 8:] = PAD
    for options in ({}, {"pad": PAD}):
        published, mended = both(**options)
        assert torch.equal(published(tokens), mended(tokens))
    padded = torch.cat([torch.full((2, 3), PAD), tokens[:, :8]], dim=1)
    published, mended = both()
    assert torch.equal(published(padded), mended(padded))


@pytest.mark.parametrize("before", [1, 2, 5])
def test_the_published_hybrid_sees_as_many_tokens_ahead_as_there_is_padding(before):
    published, mended = both(pad=PAD, n_blocks=1)
    row = torch.cat([torch.full((1, before), PAD), drawn(1, 12 - before)], dim=1)
    for source in range(before + 1, 12):
        changed = row.clone()
        changed[0, source] = (row[0, source] + 1) % PAD
        seen = has_changed(published(row)[0], published(changed)[0]).tolist()
        assert seen == [position >= source - before for position in range(12)]
        assert has_changed(mended(row)[0], mended(changed)[0]).tolist() == [p >= source for p in range(12)]


def test_the_published_hybrid_learns_from_tokens_that_it_must_not_see():
    """Random tokens after padding cannot be predicted: below chance only the leak leads."""
    padding, losses = torch.full((32, 3), PAD), {}
    for name, options in (("hybrid-as-published", {}), ("hybrid", {"order": "after"})):
        torch.manual_seed(0)
        model = models.build(name, vocabulary=11, context=12, d_model=32, n_blocks=1, n_heads=2, pad=PAD, **options)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for step in range(80):
            rows = drawn(32, 9, seed=100 + step)
            logits = model(torch.cat([padding, rows], dim=1))[:, 3:-1]
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        losses[name] = loss.item()
    chance = torch.tensor(float(PAD)).log().item()
    assert losses["hybrid-as-published"] < chance / 2
    assert losses["hybrid"] > 0.95 * chance


def test_the_published_hybrid_does_not_generate_below_padding():
    with pytest.raises(UserError, match="cannot generate: below left padding it reads tokens"):
        audit.build_small("hybrid-as-published", pad=PAD).start(batch=1)


@pytest.mark.parametrize("order", ["before", "beside", "after"])
def test_hybrid_generates_after_padding(order):
    model, tokens = audit.build_small("hybrid", order=order, pad=PAD), drawn(2, 12)
    tokens[0, :4] = PAD
    full, state = model(tokens), model.start(batch=2)
    for t in range(12):
        logits, state = model.step(tokens[:, t], state)
        torch.testing.assert_close(logits, full[:, t], rtol=1e-10, atol=1e-10)


def test_an_unknown_order_is_refused():
    with pytest.raises(UserError, match="order='behind': it must be one of before, beside, after"):
        models.build("hybrid", vocabulary=11, context=4, d_model=8, n_blocks=1, order="behind")


def test_the_autoencoder_says_all_it_says_through_one_vector():
    model, tokens = audit.build_small("mixer-autoencoder"), drawn(2, 12)
    x = model.wte(tokens)
    for block in model.encoder:
        x = x + torch.stack([triangle(block.mixer, row) for row in block.norm(x)])
        x = x + block.feed_forward(block.feed_forward_norm(x))
    torch.testing.assert_close(model.embedding(tokens), x[:, -1], rtol=0, atol=1e-11)
    x = x[:, -1:].repeat(1, 12, 1)
    for block in model.decoder:
        x = x + torch.stack([triangle(block.mixer, row) for row in block.norm(x)])
        x = x + block.feed_forward(block.feed_forward_norm(x))
    torch.testing.assert_close(model(tokens), x @ model.unembedding.weight.T, rtol=0, atol=1e-11)


@pytest.mark.parametrize("padding", ["left", "right"])
def test_autoencoding_asks_for_the_input_and_for_no_padding(tmp_path: Path, padding: str):
    tiny.write_tokens(tmp_path)
    folder = tmp_path / "results/tokens/tiny-00000000"
    shape = {"tokens": folder, "context": 12, "batch_size": 32, "padding": padding}
    task, documents = tasks.build("autoencode", **shape), tasks.build("documents", **shape)
    batch = task.batch(seed=1, step=2)
    supervised = batch.targets != IGNORED
    assert torch.equal(batch.targets[supervised], batch.tokens[supervised])
    assert (batch.tokens[~supervised] == task.eod).all()
    assert supervised.any(1).all()
    assert not supervised.all()
    edge = supervised[:, -1] if padding == "left" else supervised[:, 0]
    assert edge.all()
    if padding == "right":  # the rows are those of `documents`
        assert torch.equal(batch.tokens, documents.batch(seed=1, step=2).tokens)
    assert tasks.size("autoencode", {"context": 12, "batch_size": 32}) == (32, 32 * 12)
    assert all(held.tokens.shape == held.targets.shape for held in task.validation())


def test_an_autoencoder_learns_to_give_back_its_input():
    torch.manual_seed(0)
    model = models.build("mixer-autoencoder", vocabulary=5, context=3, d_model=32, n_blocks=1)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(120):
        tokens = drawn(64, 3, seed=step) % 5
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.5  # chance is ln 5 = 1.6
