"""Matchers: who sees whom among a query, its candidates and other queries' (001-22 to 001-27)."""

import math

import pytest
import torch
from torch.nn import functional as F

from allmlp import models
from allmlp.common.errors import UserError

SIZE = {"features": 8, "context": 5, "n_blocks": 2}
ATTENDING = ("matcher-transformer", "matcher-transformer-as-published")
NAMES = ("matcher-mixer", *ATTENDING)


def matcher(name, **options):
    torch.manual_seed(0)
    return models.build(name, **{**SIZE, **options}).double().eval()


def embeddings(batch=3, context=5, seed=0):
    return torch.randn(batch, context, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", NAMES)
def test_a_matcher_gives_one_logit_per_candidate(name):
    model, x = matcher(name), embeddings()
    assert model(x).shape == (3, 4)
    assert model.vocabulary == 4
    torch.testing.assert_close((model.hidden(x) @ model.unembedding.weight.T)[..., 0], model(x))


def test_the_mixer_is_its_formula():
    model, x = matcher("matcher-mixer"), embeddings()
    expected = x
    for block in model.blocks:
        (layer,) = block.mixer.layers
        normed = F.layer_norm(expected, (8,))
        expected = expected + torch.einsum("ts,bsf->btf", layer.weight[0, 0, 0], normed) + layer.bias[0, 0][:, None]
        feed = block.feed_forward
        expected = expected + feed.out(F.gelu(feed.expand(F.layer_norm(expected, (8,)))))
    torch.testing.assert_close(model(x), (expected @ model.unembedding.weight.T)[:, 1:, 0], rtol=0, atol=1e-12)


def attention(layer, x, memory):
    """Attention of 4 heads of 2 features, (sequence, features), sequence by sequence."""
    weights, biases = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    q, k, v = (F.linear(z, w, b).chunk(4, -1) for z, w, b in zip((x, memory, memory), weights, biases, strict=True))
    joined = [(q[h] @ k[h].T / math.sqrt(2)).softmax(-1) @ v[h] for h in range(4)]
    return layer.out_proj(torch.cat(joined, -1))


def test_the_published_transformer_is_its_formula_down_the_batch():
    model, x = matcher("matcher-transformer-as-published"), embeddings()
    for layer in model.blocks:
        norms, given, columns = (layer.norm1, layer.norm2, layer.norm3), x, []
        for candidate in range(5):
            z = given[:, candidate]
            z = norms[0](z + attention(layer.self_attn, z, z))
            z = norms[1](z + attention(layer.multihead_attn, z, given[:, candidate]))
            columns.append(norms[2](z + layer.linear2(layer.linear1(z).relu())))
        x = torch.stack(columns, dim=1)
    expected = (x @ model.unembedding.weight.T)[:, 1:, 0]
    torch.testing.assert_close(model(embeddings()), expected, rtol=0, atol=1e-12)


def test_the_mended_transformer_is_the_same_along_the_candidates():
    mended = matcher("matcher-transformer", norm_first=False)
    published = matcher("matcher-transformer-as-published")
    published.load_state_dict({key: value for key, value in mended.state_dict().items() if key != "query"})
    x = embeddings()
    marked = torch.cat([x[:, :1] + mended.query, x[:, 1:]], dim=1)
    torch.testing.assert_close(
        mended.mix_embeddings(x), published.mix_embeddings(marked.transpose(0, 1)).transpose(0, 1)
    )


def test_replacing_a_query_alters_its_scores_by_exactly_nothing_as_published():
    published, x = matcher("matcher-transformer-as-published"), embeddings()
    replaced = x.clone()
    replaced[1, 0] = embeddings(seed=1)[1, 0]
    assert torch.equal(published(x), published(replaced))
    for name in ("matcher-mixer", "matcher-transformer"):
        changed = (matcher(name)(x) - matcher(name)(replaced)).abs().amax(-1)
        assert changed[1] > 1e-3
        assert changed[[0, 2]].eq(0).all()


def test_every_candidate_sees_the_others_but_not_other_queries():
    for name in ("matcher-mixer", "matcher-transformer"):
        model, x = matcher(name), embeddings()
        for position in range(5):
            replaced = x.clone()
            replaced[0, position] = embeddings(seed=1)[0, position]
            changed = (model(x) - model(replaced)).abs()
            assert changed[0].gt(0).all()
            assert changed[1:].eq(0).all()


def test_the_transformer_does_not_know_the_order_of_candidates_the_mixer_does():
    x, order = embeddings(), [0, 3, 1, 4, 2]
    places = [place - 1 for place in order[1:]]
    transformer, mixer = matcher("matcher-transformer"), matcher("matcher-mixer")
    torch.testing.assert_close(transformer(x[:, order]), transformer(x)[:, places])
    assert not torch.allclose(mixer(x[:, order]), mixer(x)[:, places])


@pytest.mark.parametrize("name", NAMES)
def test_only_a_matcher_that_sees_the_query_learns_to_match(name):
    """The right candidate is the query itself, among others drawn at random."""
    torch.manual_seed(0)
    model = models.build(
        name, features=8, context=3, n_blocks=1, **({} if name == "matcher-mixer" else {"dropout": 0.0})
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for step in range(150):
        x = embeddings(64, 3, seed=step).float()
        answer = torch.arange(64) % 2
        x[torch.arange(64), 1 + answer] = x[:, 0]
        losses.append(F.cross_entropy(model(x), answer))
        optimiser.zero_grad()
        losses[-1].backward()
        optimiser.step()
    last, chance = torch.stack(losses[-20:]).mean().item(), math.log(2)
    assert (last > 0.95 * chance) if name.endswith("as-published") else (last < 0.9 * chance)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("matcher-mixer", {"context": 2}, "context=2: a query needs at least two candidates"),
        ("matcher-mixer", {"features": 0}, "features=0"),
        ("matcher-mixer", {"d_mlp": -1}, "d_mlp=-1"),
        ("matcher-transformer", {"n_heads": 3}, "d_model=8: does not divide among n_heads=3"),
        ("matcher-transformer", {"dropout": -0.1}, "dropout=-0.1"),
        ("matcher-transformer", {"norm_first": 1}, "norm_first=1: it must be true or false"),
    ],
)
def test_wrong_requests_are_refused(name, options, message):
    with pytest.raises(UserError, match=message):
        models.build(name, **{**SIZE, **options})


@pytest.mark.parametrize("name", NAMES)
def test_a_matcher_reads_full_contexts_only(name):
    with pytest.raises(UserError, match="reads exactly 5 tokens and was given 4"):
        matcher(name)(embeddings(context=4))
