"""Llama and the early GPT against their formulas in float64, with padding, and token by token."""

import math

import pytest
import torch
from torch.nn import functional as F

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models import audit
from allmlp.models.flops import parameters
from allmlp.models.llama import RopeAttention, left_padding

TINY = {"vocabulary": 11, "context": 9, "d_model": 8, "n_blocks": 2, "n_heads": 2}
PAD = 10


def drawn(*shape, seed=0):
    return torch.randint(PAD, shape, generator=torch.Generator().manual_seed(seed))


def turned(x_TK):
    """Rotary positions as complex numbers: feature pair f of token t by the angle t 10000^(-2f/K)."""
    T, K = x_TK.shape
    pairs = torch.complex(x_TK[:, : K // 2], x_TK[:, K // 2 :])
    angles = torch.arange(T)[:, None] * 1e4 ** (-2 * torch.arange(K // 2) / K).double()
    pairs = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def attention(mixer, x_TD, n_heads):
    """Head by head, query by query."""
    q, k, v = ([*part.chunk(n_heads, -1)] for part in mixer.qkv(x_TD).chunk(3, -1))
    joined = []
    for h in range(n_heads):
        scores = turned(q[h]) @ turned(k[h]).T / math.sqrt(q[h].shape[1])
        rows = [scores[t, : t + 1].softmax(0) @ v[h][: t + 1] for t in range(len(x_TD))]
        joined.append(torch.stack(rows))
    return mixer.out(torch.cat(joined, -1))


def rms_norm(x, norm):
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-6) * norm.weight


@pytest.mark.parametrize("fused", [True, False])
def test_llama_is_its_formula(fused):
    model, tokens = audit.build_small("llama", fused=fused, context=9), drawn(9)
    x = model.wte.weight[tokens]
    for block in model.blocks:
        x = x + attention(block.mixer, rms_norm(x, block.norm), n_heads=2)
        z, feed = rms_norm(x, block.feed_forward_norm), block.feed_forward
        x = x + feed.out(F.silu(feed.gate(z)) * feed.up(z))
    expected = rms_norm(x, model.norm) @ model.unembedding.weight.T
    torch.testing.assert_close(model(tokens[None])[0], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("d_model", "expected"), [(128, 3_147_904), (256, 10_490_112), (512, 37_757_440), (1024, 142_623_744)]
)
@pytest.mark.parametrize("n_heads", [2, 4, 8, 16])
def test_llama_has_the_weights_of_001(d_model, expected, n_heads):
    with torch.device("meta"):
        model = models.build("llama", vocabulary=4096, context=512, d_model=d_model, n_blocks=8, n_heads=n_heads)
    count = parameters(model)
    assert count["total"] == expected
    assert count["embedding"] == 2 * 4096 * d_model


def test_llama_begins_with_small_weights():
    torch.manual_seed(0)
    model = models.build("llama", vocabulary=300, context=8, d_model=96, n_blocks=3)
    for key, weight in model.named_parameters():
        if weight.ndim == 1:
            assert weight.eq(1).all()
        else:
            assert weight.std().item() == pytest.approx(0.02, rel=0.05), key
    assert "blocks.0.mixer.cosine" not in model.state_dict()


@pytest.mark.parametrize("padding", [None, [0, 3]])
def test_fused_attention_is_the_softmax_written_out(padding):
    torch.manual_seed(0)
    fused, plain = (RopeAttention(8, 9, n_heads=2, fused=fused).double() for fused in (True, False))
    plain.load_state_dict(fused.state_dict())
    mask = None if padding is None else torch.arange(9) < torch.tensor(padding)[:, None]
    gradients = []
    for mixer in (fused, plain):
        x = torch.randn(2, 9, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
        mixer(x, mask).square().sum().backward()
        gradients.append([x.grad, mixer.qkv.weight.grad])
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)


def test_left_padding_ends_with_the_first_other_token():
    tokens = torch.tensor([[PAD, PAD, 3, PAD], [3, PAD, PAD, 4], [PAD] * 4])
    assert left_padding(tokens, PAD).tolist() == [[True, True, False, False], [False] * 4, [True] * 4]
    assert left_padding(tokens, None) is None


@pytest.mark.parametrize("before", range(7))
def test_padding_alters_no_prediction_of_llama_with_pad(before):
    text = drawn(1, 3)
    padded = torch.cat([torch.full((1, before), PAD), text], dim=1)
    told, untold = audit.build_small("llama", pad=PAD), audit.build_small("llama")
    torch.testing.assert_close(told(padded)[:, before:], told(text), rtol=0, atol=1e-11)
    assert torch.equal(told(text), untold(text))
    assert before == 0 or not torch.allclose(untold(padded)[:, before:], told(text), rtol=0, atol=1e-3)
    assert told(padded).isfinite().all()


@pytest.mark.parametrize("fused", [True, False])
def test_generation_after_padding_is_the_full_pass(fused):
    model = audit.build_small("llama", pad=PAD, fused=fused)
    tokens = drawn(3, 9)
    tokens[0, :4], tokens[1, 5] = PAD, PAD
    tokens[2] = PAD
    full, state = model(tokens), model.start(batch=3)
    for t in range(9):
        logits, state = model.step(tokens[:, t], state)
        torch.testing.assert_close(logits, full[:, t], rtol=1e-10, atol=1e-10)


def test_early_gpt_is_its_formula():
    model, tokens = audit.build_small("openai-gpt", context=9), drawn(9)
    x = model.wte.weight[tokens] + model.wpe.weight
    norm = lambda x, norm: F.layer_norm(x, (8,), norm.weight, norm.bias)  # noqa: E731
    for block in model.blocks:
        q, k, v = ([*part.chunk(2, -1)] for part in block.mixer.qkv(x).chunk(3, -1))
        causal = torch.full((9, 9), -math.inf, dtype=torch.float64).triu(1)
        mixed = [(q[h] @ k[h].T / 2 + causal).softmax(-1) @ v[h] for h in range(2)]
        x = norm(x + block.mixer.out(torch.cat(mixed, -1)), block.norm)
        z = block.feed_forward.expand(x)
        z = 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
        x = norm(x + block.feed_forward.out(z), block.feed_forward_norm)
    torch.testing.assert_close(model(tokens[None])[0], x @ model.wte.weight.T, rtol=0, atol=1e-11)


def test_early_gpt_has_the_weights_of_gpt_1():
    """A block is 12 d^2 + 13 d; GPT-1 itself, 116,534,784 weights, has 12 of width 768 and 40,478 tokens."""
    with torch.device("meta"):
        model = models.build("openai-gpt", vocabulary=40478, context=512, d_model=768, n_blocks=12, n_heads=12)
    count = parameters(model)
    assert count["total"] == 116_534_784
    assert (count["token_embedding"], count["positions"], count["unembedding"]) == (40478 * 768, 512 * 768, 0)


def test_dropout_acts_in_training_only_and_follows_the_generator():
    model, tokens = audit.build_small("openai-gpt", dropout=0.5), drawn(2, 9)
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(model(tokens))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.allclose(outputs[0], outputs[2])
    torch.manual_seed(1)
    calm = audit.build_small("openai-gpt", dropout=0.0)
    assert torch.equal(calm.train()(tokens), calm.eval()(tokens))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("llama", {"n_heads": 3}, "d_model=8: does not divide among n_heads=3"),
        ("llama", {"n_heads": 8}, "n_heads=8: gives heads of 1 features; rotary positions need an even number"),
        ("llama", {"pad": 11}, "pad=11: it must be a token of the vocabulary, 0 to 10, or nothing"),
        ("llama", {"pad": "end"}, "pad='end'"),
        ("llama", {"fused": "yes"}, "fused='yes': it must be true or false"),
        ("llama", {"d_mlp": 0}, "d_mlp=0"),
        ("openai-gpt", {"dropout": 1.0}, "dropout=1.0: it must be a number from 0 up to"),
        ("openai-gpt", {"n_heads": 3}, "n_heads=3"),
    ],
)
def test_wrong_requests_are_refused(name, options, message):
    with pytest.raises(UserError, match=message):
        models.build(name, **{**TINY, **options})
