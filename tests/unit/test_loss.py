"""The loss that never holds all logits: values and gradients beside the plain form in float64, and what it keeps."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp import models
from allmlp.tasks.copying import Copying
from allmlp.tasks.last_token import LastToken
from allmlp.tasks.task import IGNORED, Batch
from allmlp.training import loss
from allmlp.training.loss import Loss, cross_entropy, linear_cross_entropy


def inputs(n: int, d: int, v: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n + 100 * d + v)
    hidden = torch.randn(n, d, generator=generator, dtype=torch.float64)
    weight = 3 * torch.randn(v, d, generator=generator, dtype=torch.float64)
    targets = torch.randint(v, (n,), generator=generator)
    return hidden.to(dtype).requires_grad_(), weight.to(dtype).requires_grad_(), targets


def written_out(hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """- mean over supervised rows of log(exp(h . w_target) / sum over v of exp(h . w_v))."""
    rows = [
        torch.logsumexp(h @ weight.T, 0) - h @ weight[t] for h, t in zip(hidden, targets, strict=True) if t != IGNORED
    ]
    return torch.stack(rows).mean()


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 9), d=st.integers(1, 5), v=st.integers(2, 40), held=st.integers(1, 80), silent=st.booleans())
def test_value_and_gradients_are_those_of_the_formula(n: int, d: int, v: int, held: int, silent: bool) -> None:
    hidden, weight, targets = inputs(n, d, v, torch.float64)
    if silent and n > 1:
        targets[::2] = IGNORED
    wanted = written_out(hidden, weight, targets)
    gradients = torch.autograd.grad(wanted, (hidden, weight))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(loss.AT_ONCE, "cpu", held)
        patch.setattr(loss, "TYPES_AT_ONCE", 7)
        found = linear_cross_entropy(hidden, weight, targets, torch.float64)
        (2 * found).backward()
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    for value, gradient in zip((hidden.grad, weight.grad), gradients, strict=True):
        torch.testing.assert_close(value, 2 * gradient, rtol=1e-10, atol=1e-12)


def test_large_logits_do_not_overflow() -> None:
    hidden, weight, targets = inputs(4, 3, 11, torch.float32)
    with torch.no_grad():
        hidden *= 1e4
    found = linear_cross_entropy(hidden, weight, targets, torch.float32)
    found.backward()
    assert torch.isfinite(found)
    assert hidden.grad is not None
    assert torch.isfinite(hidden.grad).all()
    torch.testing.assert_close(found, cross_entropy(hidden @ weight.T, targets, torch.float32))


def test_half_precision_products_keep_the_weights_gradient_in_single() -> None:
    hidden, weight, targets = inputs(64, 32, 300, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found = linear_cross_entropy(hidden, weight, targets, torch.float32)
    found.backward()
    exact = cross_entropy(hidden.double() @ weight.double().T, targets, torch.float64)
    assert found.dtype == weight.grad.dtype == torch.float32  # type: ignore[union-attr]
    assert abs(found.item() - exact.item()) < 0.02 * exact.item()
    wanted = torch.autograd.grad(exact, weight)[0]
    assert (weight.grad - wanted).norm() < 0.02 * wanted.norm()


def test_no_matrix_of_all_logits_is_kept_for_backward() -> None:
    hidden, weight, targets = inputs(200, 8, 1000, torch.float32)
    kept: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        linear_cross_entropy(hidden, weight, targets, torch.float32)
    assert max(kept) == max(hidden.numel(), weight.numel())
    kept.clear()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        cross_entropy(hidden @ weight.T, targets, torch.float32)
    assert max(kept) >= 200 * 1000, "the plain form does keep them"


def test_a_task_that_reads_no_logits_is_given_none() -> None:
    torch.manual_seed(0)
    model = models.build("mlp", vocabulary=30, context=4, d_model=8, d_mlp=16)
    batch = Batch(torch.randint(30, (6, 4)), torch.randint(30, (6,)))
    value, logits = Loss(model, LastToken, torch.float32)(batch)  # type: ignore[arg-type]
    assert logits is None
    torch.testing.assert_close(value, cross_entropy(model(batch.tokens), batch.targets, torch.float32))
    plain, logits = Loss(model, Copying, torch.float32)(batch)  # type: ignore[arg-type]
    assert logits is not None
    assert logits.shape == (6, 30)
    torch.testing.assert_close(plain, value)
