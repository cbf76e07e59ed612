"""The scan behind linear causal relations, and the memory that generation appends to."""

import pytest
import torch

from allmlp.models import linear_relation
from allmlp.models.layers import PlainNorm
from allmlp.models.linear_relation import linear_causal_relation_sum, log_sums
from allmlp.models.rows import SMALLEST, Rows
from tests.tensors import inputs


def directly(p_BTD):
    """Each sum by itself, over all that precedes."""
    return torch.stack([p_BTD[:, : j + 1].logsumexp(1) for j in range(p_BTD.shape[1])], 1)


@pytest.mark.parametrize("bounded", [True, False])
def test_linear_form_is_the_quadratic_one_at_length_1024_and_size_100(bounded):
    """To 1e-10, after the norm that every reported run has: LN0 of sums whose exponents reach 800."""
    p, q = 100 * inputs(1, 1024, 6, seed=1), 100 * inputs(1, 1024, 6, seed=2)
    if bounded:
        p = PlainNorm(0.0)(p)
    z = p[:, None] + q[:, :, None]
    z = z.masked_fill(torch.ones(1024, 1024).triu(1).bool()[..., None], -torch.inf)
    quadratic = (z - z.amax((2, 3), keepdim=True)).exp().sum(2)
    norm = PlainNorm(0.0)
    linear = linear_causal_relation_sum(p, q, bounded)
    torch.testing.assert_close(norm(linear), norm(quadratic), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_log_sums_of_size_100_are_exact(dtype, atol):
    """1e-4 is 3 units in the last place of a number near 400."""
    p = 100 * inputs(2, 1024, 3)
    torch.testing.assert_close(log_sums(p.to(dtype)).double(), directly(p), rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_later_tokens_dwarf_is_not_lost(dtype):
    """Relative to a chunk's largest, 200 above it, an early p would underflow in single precision: log 0."""
    p = torch.zeros(1, 40, 2, dtype=dtype)
    p[0, :, 0] = torch.arange(40) * 200.0 - 4000
    p[0, :, 1] = -p[0, :, 0]
    p.requires_grad_()
    sums = log_sums(p)
    torch.testing.assert_close(sums[0, :, 0], p[0, :, 0])
    torch.testing.assert_close(sums[0, :, 1], torch.full((40,), 4000, dtype=dtype))
    sums.sum().backward()
    expected = torch.ones(40, 2, dtype=dtype)  # each its own largest so far; all sums are the first one's
    expected[:, 1] = torch.eye(40, dtype=dtype)[0] * 40
    torch.testing.assert_close(p.grad[0], expected)


@pytest.mark.parametrize("chunk", [2, 3, 16])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 9, 16, 17, 33])
def test_gradients_are_those_of_finite_differences(length, chunk, monkeypatch):
    monkeypatch.setattr(linear_relation, "CHUNK", chunk)
    p = (3 * inputs(2, length, 2)).requires_grad_()
    torch.testing.assert_close(log_sums(p), directly(p), rtol=0, atol=1e-13)
    assert torch.autograd.gradcheck(log_sums, p)


def test_gradient_is_that_of_torch_where_sums_are_long_and_large():
    p, g = 30 * inputs(2, 600, 3), inputs(2, 600, 3, seed=1)
    ours, theirs = (
        torch.autograd.grad(scan(leaf), leaf, g)[0]
        for scan in (log_sums, lambda p: torch.logcumsumexp(p, 1))
        for leaf in [p.clone().requires_grad_()]
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_later_tokens_leave_the_bits_of_earlier_sums(dtype):
    p = (10 * inputs(2, 300, 5)).to(dtype)
    sums = log_sums(p)
    for start in (1, 15, 16, 17, 255, 256, 299):
        for later in (1e4, -1e4, torch.inf, torch.nan):
            changed = p.clone()
            changed[:, start:] = later
            assert torch.equal(log_sums(changed)[:, :start], sums[:, :start])


def test_gradient_comes_back_only_from_what_was_asked():
    p = inputs(2, 50, 3).requires_grad_()
    log_sums(p)[:, :20].sum().backward()
    assert p.grad[:, 20:].eq(0).all()
    assert p.grad[:, :20].gt(0).all()


def test_any_layout_in_memory_is_taken():
    p = inputs(40, 2, 3).transpose(0, 1)
    assert torch.equal(log_sums(p), log_sums(p.contiguous()))
    leaf, g = p.clone().requires_grad_(), inputs(40, 2, 3, seed=1).transpose(0, 1)
    strided = torch.autograd.grad(log_sums(leaf), leaf, g)[0]
    assert torch.equal(strided, torch.autograd.grad(log_sums(leaf), leaf, g.contiguous())[0])


def test_half_precision_is_taken_in_single_precision():
    p = 30 * inputs(1, 100, 3).half()
    assert torch.equal(log_sums(p), log_sums(p.float()))
    y = linear_causal_relation_sum(p.clamp(-13, 13), p, bounded=True)
    assert y.dtype == torch.float32
    assert y.isfinite().all()


def test_rows_are_those_appended():
    rows, written = Rows(torch.empty(2, 0, 3)), inputs(2, 5 * SMALLEST, 3).float()
    for t in range(5 * SMALLEST):
        seen, rows = rows.append(written[:, t : t + 1])
        assert torch.equal(seen, written[:, : t + 1])


def test_continuations_of_one_past_do_not_meet():
    """Both append to the same store; the second finds its row taken and moves out."""
    _, past = Rows(torch.empty(1, 0, 1)).append(torch.zeros(1, 1, 1))
    seen, (first, second) = [], (past, past)
    for value in (1.0, 2.0):
        _, first = first.append(torch.full((1, 1, 1), value))
        _, second = second.append(torch.full((1, 1, 1), -value))
    for rows in (first, second, past):
        seen.append(rows.append(torch.full((1, 1, 1), 9.0))[0].flatten().tolist())
    assert seen == [[0, 1, 2, 9], [0, -1, -2, 9], [0, 9]]


def test_gradients_go_through_rows():
    written = inputs(1, 20, 2).requires_grad_()
    rows, total = Rows(written.new_empty(1, 0, 2)), 0
    for t in range(20):
        seen, rows = rows.append(written[:, t : t + 1])
        total = total + seen.square().sum()
    total.backward()
    torch.testing.assert_close(written.grad, 2 * written.detach() * torch.arange(20, 0, -1)[:, None])
