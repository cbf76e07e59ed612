"""Attention, backbone, MLP, GPT-2 and constant attention against their papers' formulas in float64."""

import math

import pytest
import torch
from torch.nn import functional as F

from allmlp import models
from allmlp.models import linear_attention
from allmlp.models.attention import SoftmaxAttention
from allmlp.models.layers import PlainNorm
from allmlp.models.linear_attention import LinearAttention
from tests.tensors import inputs, ln0, randomised

TINY = {"vocabulary": 11, "context": 6, "d_model": 8, "n_blocks": 2, "n_heads": 2, "d_mlp": 16}


def tiny(name, **options):
    """`name` at a size for tests: required values from TINY, and what makes it small; the rest by default."""
    takes = models.hyperparameters(name)
    own = {key: TINY[key] for key in takes if key in TINY and (key != "context" or takes[key] != 2)}
    torch.manual_seed(0)
    return models.build(name, **{**own, **options}).double()


def tokens_for(model, batch=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(model.vocabulary, (batch, model.context), generator=generator)


@pytest.mark.parametrize("eps", [0.0, 1e-5])
def test_plain_norm(eps):
    x = inputs(3, 7)
    torch.testing.assert_close(PlainNorm(eps)(x), ln0(x, eps))


def heads(mixer, x, n_heads):
    """(q, k, v) of each head, each (B, T, K)."""
    q, k, v = (part.chunk(n_heads, -1) for part in mixer.qkv(x).chunk(3, -1))
    return zip(q, k, v, strict=True)


@pytest.mark.parametrize("causal", [True, False])
def test_softmax_attention_is_its_formula(causal):
    mixer, x = (
        randomised(SoftmaxAttention(8, 5, n_heads=2, bias=True, causal=causal)),
        inputs(2, 5, 8),
    )
    joined = []
    for q, k, v in heads(mixer, x, 2):
        scores = torch.exp(q @ k.mT / math.sqrt(4))
        scores = scores * torch.ones(5, 5).tril() if causal else scores
        joined.append(scores / scores.sum(-1, keepdim=True) @ v)
    torch.testing.assert_close(mixer(x), mixer.out(torch.cat(joined, -1)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("in_turn", [("cpu",), ()], ids=["chunk after chunk", "at once, as on a GPU"])
@pytest.mark.parametrize("length", [5, 64, 150])  # 150: three chunks, the last one partly filled
def test_linear_attention_is_its_formula(length, in_turn, monkeypatch):
    monkeypatch.setattr(linear_attention, "IN_TURN", in_turn)
    mixer = randomised(LinearAttention(8, length, n_heads=2))
    x, joined = inputs(2, length, 8), []
    for q, k, v in heads(mixer, x, 2):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        weights = (q @ k.mT) * torch.ones(length, length, dtype=torch.float64).tril()
        joined.append(weights / weights.sum(-1, keepdim=True) @ v)
    torch.testing.assert_close(mixer(x), mixer.out(torch.cat(joined, -1)), rtol=0, atol=1e-11)


def test_linear_attention_has_the_same_gradients_in_both_forms(monkeypatch):
    mixer, x, found = randomised(LinearAttention(8, 150, n_heads=2)), inputs(2, 150, 8).requires_grad_(), []
    for in_turn in (("cpu",), ()):
        monkeypatch.setattr(linear_attention, "IN_TURN", in_turn)
        found.append(torch.autograd.grad(mixer(x).square().sum(), [x, *mixer.parameters()]))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_backbone_is_the_block_of_002():
    model = tiny("transformer")
    tokens = tokens_for(model)
    x = model.wte.weight[tokens] + model.wpe.weight
    for block in model.blocks:
        x = x + block.mixer(ln0(x))
        feed = block.feed_forward
        x = x + feed.out(F.gelu(feed.expand(ln0(x))))
    torch.testing.assert_close(model(tokens), ln0(x) @ model.unembedding.weight.T, rtol=0, atol=1e-12)
    assert all(block.feed_forward is None for block in tiny("causal-rn").blocks)


def test_mlp_is_linear_in_flattened_embeddings_then_residual_blocks():
    model = tiny("mlp")
    tokens = tokens_for(model)
    x = model.embedding.weight[tokens]
    neurons = model.first.weight.reshape(8, model.context, 8)  # (neuron, token, feature), as the measures read it
    norm = lambda z: ln0(z)  # noqa: E731  fresh affine norms are LN0
    x = norm(torch.einsum("btd,jtd->bj", x, neurons) + model.first.bias).relu()
    for block in model.blocks:
        x = x + norm(block.contract.linear(norm(block.expand.linear(x)).relu()))
    torch.testing.assert_close(model(tokens), x @ model.unembedding.weight.T, rtol=0, atol=1e-12)
    embedded = model.embedding(tokens)
    assert torch.equal(model.from_embeddings(embedded), model(tokens))


def test_last_token_gpt2_reads_all_positions():
    model = tiny("gpt2-last")
    tokens = tokens_for(model, batch=1)
    for position in range(model.context):
        changed = tokens.clone()
        changed[0, position] = (tokens[0, position] + 1) % model.vocabulary
        assert not torch.allclose(model(tokens), model(changed), rtol=0, atol=1e-9)
    # Without a causal mask also the first position knows the last token, which a second block can then use.
    x = model.wte(tokens) + model.wpe.weight
    changed = x.clone()
    changed[:, -1] += inputs(8)
    assert not torch.allclose(model.blocks[0](x)[:, 0], model.blocks[0](changed)[:, 0], rtol=0, atol=1e-9)


def plain_addition(model, pairs):
    """003's network pair by pair, attention over both tokens written out."""
    x_BTD = model.W_E[pairs] + model.W_pos
    half = torch.full((2, 2), 0.5, dtype=torch.float64)
    x_BTD = x_BTD + sum(half @ (x_BTD @ model.W_V[h]) @ model.W_O[h] for h in range(len(model.W_V)))
    x_BTD = x_BTD + torch.relu(x_BTD @ model.W_in + model.b_in) @ model.W_out + model.b_out
    return (x_BTD @ model.W_U)[:, -1]


def test_constant_attention_is_the_plain_transformer():
    model = tiny("constant-attention", vocabulary=7)
    torch.nn.init.normal_(model.b_in), torch.nn.init.normal_(model.b_out)
    pairs = torch.cartesian_prod(torch.arange(7), torch.arange(7))
    torch.testing.assert_close(model(pairs), plain_addition(model, pairs), rtol=0, atol=1e-9)


def test_constant_attention_trains_as_the_plain_transformer():
    pairs = torch.cartesian_prod(torch.arange(13), torch.arange(13))
    losses = []
    for forward in (lambda model: model(pairs), lambda model: plain_addition(model, pairs)):
        torch.manual_seed(0)
        model = tiny("constant-attention", vocabulary=13)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=2.0, betas=(0.9, 0.98))
        losses.append([])
        for _ in range(100):
            loss = F.cross_entropy(forward(model), pairs.sum(1) % 13)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses[-1].append(loss.item())
    assert losses[0][-1] < losses[0][0]
    assert max(abs(ours - plain) for ours, plain in zip(*losses, strict=True)) < 1e-9


def test_constant_attention_gradient_is_bit_stable():
    pairs = torch.randint(59, (2784, 2), generator=torch.Generator().manual_seed(0))
    gradients = []
    for _ in range(2):
        model = tiny("constant-attention", vocabulary=59, d_mlp=64).float()
        F.cross_entropy(model(pairs).double(), pairs.sum(1) % 59).backward()
        gradients.append(model.W_E.grad)
    assert torch.equal(*gradients)
