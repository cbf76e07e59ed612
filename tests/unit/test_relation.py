"""Causal relation networks against equations 4 and 5 of 002, pair by pair in float64."""

import pytest
import torch

from allmlp import models
from allmlp.models import relation
from allmlp.models.causal_rn import CausalRelation
from allmlp.models.linear_relation import linear_causal_relation_sum
from allmlp.models.relation import causal_relation_sum
from tests.tensors import inputs, ln0, randomised

SIZE = {"vocabulary": 11, "context": 6, "d_model": 8, "n_blocks": 2}


PSI = {"exp": torch.exp, "relu": torch.relu, "elu": lambda z: torch.where(z > 0, z, torch.exp(z) - 1)}


def relation_sum(p, q, psi, norm):
    """Equation 4's sum, pair by pair."""
    rows = [sum(psi(norm(p[:, i] + q[:, j])) for i in range(j + 1)) for j in range(p.shape[1])]
    return torch.stack(rows, 1)


@pytest.mark.parametrize("post_norm", [True, False])
@pytest.mark.parametrize("pre_norm", ["exact", "approximate", "none"])
@pytest.mark.parametrize("activation", ["exp", "relu", "elu"])
def test_causal_relation_is_equation_4(activation, pre_norm, post_norm):
    eps = 0.0 if post_norm else 1e-5  # with eps 0 the post-norm removes the stability trick's factor exactly
    options = {"activation": activation, "pre_norm": pre_norm, "post_norm": post_norm, "eps": eps}
    mixer, x = randomised(CausalRelation(8, 5, **options)), inputs(2, 5, 8)
    p, q = x @ mixer.left.weight.T, x @ mixer.right.weight.T + mixer.right.bias
    if pre_norm == "approximate":
        p, q = ln0(p, eps), ln0(q, eps)
    norm = (lambda z: ln0(z, eps)) if pre_norm == "exact" else lambda z: z
    mean = relation_sum(p, q, PSI[activation], norm) / torch.arange(1, 6)[:, None]
    expected = (ln0(mean, eps) if post_norm else mean) @ mixer.out.weight.T + mixer.out.bias
    torch.testing.assert_close(mixer(x), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("pre_norm", ["exact", "none"])
@pytest.mark.parametrize("activation", ["exp", "relu", "elu"])
def test_relation_gradients_are_those_of_equation_4(activation, pre_norm, eps):
    norm = (lambda z: ln0(z, eps)) if pre_norm == "exact" else lambda z: z
    p, q, weight = inputs(2, 6, 5, seed=1), inputs(2, 6, 5, seed=2), inputs(2, 6, 5, seed=3)
    gradients = []
    for total in (
        lambda p, q: causal_relation_sum(p, q, activation, pre_norm, eps),
        lambda p, q: relation_sum(p, q, PSI[activation], norm),
    ):
        leaves = p.clone().requires_grad_(), q.clone().requires_grad_()
        gradients.append(torch.autograd.grad((total(*leaves) * weight).sum(), leaves))
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("pre_norm", ["exact", "none"])
@pytest.mark.parametrize("activation", ["exp", "relu", "elu"])
def test_relation_gradients_are_those_of_finite_differences(activation, pre_norm, length):
    p, q = inputs(2, length, 4, seed=4).requires_grad_(), inputs(2, length, 4, seed=5).requires_grad_()
    assert torch.autograd.gradcheck(lambda p, q: causal_relation_sum(p, q, activation, pre_norm, 1e-5), (p, q))


@pytest.mark.parametrize("pre_norm", ["exact", "none"])
@pytest.mark.parametrize("activation", ["exp", "relu", "elu"])
def test_later_tokens_and_other_sequences_leave_the_bits_of_a_sum(activation, pre_norm):
    """In single precision too, where another order of summation would show; padding, then, is whatever comes after."""
    p, q = inputs(2, 90, 24, seed=1).float(), inputs(2, 90, 24, seed=2).float()
    y = causal_relation_sum(p, q, activation, pre_norm, 1e-5)
    later_p, later_q = p.clone(), q.clone()
    later_p[:, 50:], later_q[:, 50:] = 1e3, torch.inf
    later_p[1], later_q[1] = torch.nan, 0
    assert torch.equal(causal_relation_sum(later_p, later_q, activation, pre_norm, 1e-5)[0, :50], y[0, :50])
    shorter = causal_relation_sum(p[:, :50], q[:, :50], activation, pre_norm, 1e-5)
    torch.testing.assert_close(shorter, y[:, :50], rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("pre_norm", ["exact", "none"])
@pytest.mark.parametrize("activation", ["exp", "relu", "elu"])
def test_blocks_of_earlier_tokens_leave_sum_and_gradients_as_they_are(activation, pre_norm, monkeypatch):
    results = []
    for numbers in (2**18, 3 * 2 * 5, 1):  # one block; blocks of 3 tokens, which 7 is no multiple of; single tokens
        monkeypatch.setattr(relation, "BLOCK", numbers)
        p, q = inputs(2, 7, 5, seed=1).requires_grad_(), inputs(2, 7, 5, seed=2).requires_grad_()
        y = causal_relation_sum(p, q, activation, pre_norm, 1e-5)
        results.append((y, *torch.autograd.grad(y.square().sum(), (p, q))))
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=1e-11, atol=1e-11)


def test_padding_takes_no_gradient():
    p, q = inputs(2, 9, 5, seed=1).requires_grad_(), inputs(2, 9, 5, seed=2).requires_grad_()
    causal_relation_sum(p, q, "exp", "exact", 1e-5)[:, :6].square().sum().backward()
    assert all((x.grad[:, 6:] == 0).all() and (x.grad[:, :6] != 0).all() for x in (p, q))


def test_pairs_of_the_future_cannot_spoil_the_past():
    """With eps 0 a later token that cancels an earlier one would give 0 / 0, if they met (E002-5)."""
    p, q = inputs(1, 4, 5, seed=1), inputs(1, 4, 5, seed=2)
    p[:, 3] = -q[:, 1]
    y = causal_relation_sum(p.requires_grad_(), q.requires_grad_(), "exp", "exact", 0.0)
    y.sum().backward()
    assert all(values.isfinite().all() for values in (y, p.grad, q.grad))


def test_half_precision_keeps_the_sum_in_single_precision():
    torch.manual_seed(0)
    model, tokens = models.build("causal-rn", **SIZE), torch.arange(10).reshape(2, 5)
    with torch.autocast("cpu", torch.bfloat16):
        y = causal_relation_sum(inputs(1, 4, 8).bfloat16(), inputs(1, 4, 8).bfloat16(), "exp", "exact", 1e-5)
        logits = model(tokens)
    assert y.dtype == torch.float32
    torch.testing.assert_close(logits.float(), model(tokens), rtol=0, atol=0.02)
    logits.sum().backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_at_the_end_of_half_precision_do_not_turn_into_nan(dtype):
    """Their squares, and a lone feature's exp(sqrt(D)), would not fit into float16 itself."""
    p, q = torch.zeros(1, 4, 256, dtype=dtype), torch.zeros(1, 4, 256, dtype=dtype)
    p[:, :, 0], q[:, :, 0] = 3e4, 3e4
    p.requires_grad_()
    y = causal_relation_sum(p, q, "exp", "exact", 0.0)
    y.sum().backward()
    assert y.max() > torch.finfo(torch.float16).max
    assert y.isfinite().all()
    assert p.grad.isfinite().all()


def test_without_post_norm_half_precision_does_not_overflow():
    torch.manual_seed(0)
    mixer, x = CausalRelation(256, 4, post_norm=False), torch.zeros(1, 4, 256)
    torch.nn.init.eye_(mixer.left.weight)
    x[:, :, 0] = 100
    with torch.autocast("cpu", torch.float16):
        y = mixer(x)
    assert y.isfinite().all()
    torch.testing.assert_close(y, mixer(x), rtol=0.02, atol=1)


def test_equation_5_makes_the_sum_linear_up_to_a_factor_per_position():
    p, q = inputs(2, 7, 5, seed=1), inputs(2, 7, 5, seed=2)
    plain = relation_sum(p, q, torch.exp, lambda z: z)
    for bounded in (True, False):
        quotient = linear_causal_relation_sum(p, q, bounded) / plain
        torch.testing.assert_close(quotient, quotient[..., :1].expand_as(quotient), rtol=1e-12, atol=0)


def test_stability_trick_survives_what_overflows():
    p, q = 300 * inputs(1, 9, 4, seed=1), 300 * inputs(1, 9, 4, seed=2)
    p.requires_grad_()
    y = linear_causal_relation_sum(p, q, bounded=False)
    y.sum().backward()
    assert y.amax(-1).eq(1).all()
    assert p.grad.isfinite().all()
    plain = torch.stack([torch.logsumexp(p[:, : j + 1], 1) + q[:, j] for j in range(9)], 1)
    torch.testing.assert_close(y, torch.exp(plain - plain.amax(-1, keepdim=True)))


def test_linear_network_is_the_quadratic_one_with_approximate_norm():
    linear = models.build("linear-causal-rn", **SIZE).double()
    quadratic = models.build("causal-rn", **SIZE, pre_norm="approximate").double()
    quadratic.load_state_dict(linear.state_dict())
    tokens = torch.arange(10).reshape(2, 5)
    torch.testing.assert_close(linear(tokens), quadratic(tokens), rtol=0, atol=1e-12)
    mixer, x = randomised(CausalRelation(8, 5, pre_norm="approximate", eps=0.0)), inputs(2, 5, 8)
    p, q = ln0(x @ mixer.left.weight.T, 0), ln0(x @ mixer.right.weight.T + mixer.right.bias, 0)
    expected = ln0(relation_sum(p, q, torch.exp, lambda z: z), 0) @ mixer.out.weight.T + mixer.out.bias
    torch.testing.assert_close(mixer(x), expected, rtol=0, atol=1e-10)
