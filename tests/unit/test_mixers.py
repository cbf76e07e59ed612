"""What every causal token mixer of 002 owes, in all variants: gradients, causality, padding, length 1, precision."""

import math

import pytest
import torch

from allmlp.models import linear_attention, linear_relation
from allmlp.models.attention import SoftmaxAttention
from allmlp.models.causal_rn import PRE_NORMS, CausalRelation
from allmlp.models.linear_attention import LinearAttention
from allmlp.models.relation import ACTIVATIONS
from tests.tensors import inputs

RELATIONS = [
    {"activation": activation, "pre_norm": pre_norm, "post_norm": post_norm, "eps": 0.0 if post_norm else 1e-5}
    for activation in ACTIVATIONS
    for pre_norm in PRE_NORMS
    for post_norm in (True, False)
]  # with eps 0 the post-norm removes each position's factor exactly, in gradients too
MIXERS = [
    *((CausalRelation, options) for options in RELATIONS),
    *((SoftmaxAttention, {"n_heads": n_heads}) for n_heads in (1, 2)),
    *((LinearAttention, {"n_heads": n_heads}) for n_heads in (1, 2)),
]
NAMES = [" ".join([cls.__name__, *(str(v) for k, v in options.items() if k != "eps")]) for cls, options in MIXERS]
every_mixer = pytest.mark.parametrize(("cls", "options"), MIXERS, ids=NAMES)


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    """So that a few positions make several chunks, and chunks of chunks, and the last are partly filled."""
    monkeypatch.setattr(linear_attention, "CHUNK", 3)
    monkeypatch.setattr(linear_relation, "CHUNK", 3)


def build(cls, options, d_model=6, dtype=torch.float64):
    """Weights of size 1 and biases that are not zero, so that no term can hide."""
    torch.manual_seed(1)
    mixer = cls(d_model, 64, **options).to(dtype)
    for weight in mixer.parameters():
        torch.nn.init.normal_(weight, std=1 / math.sqrt(weight.shape[-1]))
    return mixer


@every_mixer
@pytest.mark.parametrize("length", [1, 11])
def test_gradients_are_those_of_finite_differences(cls, options, length):
    mixer = build(cls, options, d_model=4)
    names, weights = zip(*mixer.named_parameters(), strict=True)

    def layer(x_BTD, *weights):
        return torch.func.functional_call(mixer, dict(zip(names, weights, strict=True)), (x_BTD,))

    assert torch.autograd.gradcheck(layer, (inputs(1, length, 4).requires_grad_(), *weights))


@every_mixer
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_later_tokens_leave_the_bits_of_earlier_outputs(cls, options, dtype):
    """Wherever in a chunk the change begins. Relations never form what they mask: there, NaN stays where it is too."""
    mixer, x = build(cls, options, dtype=dtype), inputs(2, 23, 6, dtype=dtype)
    y = mixer(x)
    for start in (1, 2, 9, 10, 22):
        later = x.clone()
        later[0, start:], later[1, start:] = 1e3 * x[0, start:], torch.nan if cls is CausalRelation else -1e3
        assert torch.equal(mixer(later)[:, :start], y[:, :start])


@every_mixer
@pytest.mark.parametrize("length", [1, 2, 3, 4, 9, 10, 22])
def test_padded_on_the_right_is_each_sequence_alone(cls, options, length):
    mixer, x = build(cls, options), inputs(3, 23, 6)
    weight = inputs(length, 6, seed=1)
    x[1, length:] = 10
    padded, alone = x.requires_grad_(), x.detach()[1:2, :length].clone().requires_grad_()
    together, single = mixer(padded)[1, :length], mixer(alone)[0]
    torch.testing.assert_close(together, single, rtol=1e-10, atol=1e-10)
    gradient = torch.autograd.grad((together * weight).sum(), padded)[0]
    assert gradient[[0, 2]].eq(0).all()
    assert gradient[1, length:].eq(0).all()
    torch.testing.assert_close(
        gradient[1, :length], torch.autograd.grad((single * weight).sum(), alone)[0][0], rtol=1e-9, atol=1e-9
    )


@every_mixer
def test_one_token_sees_itself_alone(cls, options):
    mixer, x = build(cls, options), inputs(2, 5, 6)
    torch.testing.assert_close(mixer(x[:, :1]), mixer(x)[:, :1], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(mixer(x[:, :1])[:, 0], mixer.step(x[:, 0], mixer.start(x[:, 0]))[0])


@every_mixer
@pytest.mark.parametrize("length", [1, 40])
def test_steps_are_the_full_pass_in_single_precision(cls, options, length):
    """40 tokens: beyond what a first store of rows holds, and beyond its double."""
    mixer, x = build(cls, options, dtype=torch.float32), inputs(2, length, 6, dtype=torch.float32)
    full, state = mixer(x), mixer.start(x[:, 0])
    for t in range(length):
        y, state = mixer.step(x[:, t], state)
        torch.testing.assert_close(y, full[:, t], rtol=1e-5, atol=1e-5)


@every_mixer
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_single_precision_rounded(cls, options, dtype):
    mixer, x = build(cls, options, dtype=torch.float32), 0.5 * inputs(2, 11, 6, dtype=torch.float32)
    with torch.autocast("cpu", dtype):
        y = mixer(x)
        stepped, _ = mixer.step(x[:, 0], mixer.start(x[:, 0]))
    y.float().square().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in mixer.parameters())
    scale, step = mixer(x).abs().max().item(), 16 * torch.finfo(dtype).eps
    torch.testing.assert_close(y.float(), mixer(x), rtol=0, atol=step * scale)
    torch.testing.assert_close(stepped.float(), mixer(x)[:, 0], rtol=0, atol=step * scale)


@every_mixer
def test_sums_that_float16_cannot_hold_are_taken_in_single_precision(cls, options):
    """exp(25), and 200 tokens whose products are 2,500, exceed 65,504: what float32 holds is finite, and right."""
    mixer, x = cls(6, 200, **options), inputs(1, 200, 6, dtype=torch.float32).sign()
    for name, weight in mixer.named_parameters():
        weight.data = (
            torch.zeros_like(weight) if name.endswith("bias") else torch.eye(6).repeat(weight.shape[0] // 6, 1)
        )
    x[..., 0] = 25
    with torch.autocast("cpu", torch.float16):
        y = mixer(x)
        state = mixer.start(x[:, 0])
        for t in range(5):
            stepped, state = mixer.step(x[:, t], state)
    assert y.isfinite().all()
    torch.testing.assert_close(y.float(), mixer(x), rtol=0.02, atol=0.02)
    torch.testing.assert_close(stepped.float(), mixer(x)[:, 4], rtol=0.02, atol=0.02)


@every_mixer
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_nan_stays_visible(cls, options, dtype):
    """What overflows before the layer does not come out of it as a number."""
    mixer, x = build(cls, options, dtype=torch.float32), inputs(1, 5, 6, dtype=torch.float32)
    x[0, 2, 0] = torch.inf
    with torch.autocast("cpu", dtype, enabled=dtype == torch.float16):
        y = mixer(x)
    assert not y[:, 2].isfinite().any()
    if cls is CausalRelation:
        assert y[:, :2].isfinite().all()
