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
    halves = cross_entropy(hidden.bfloat16() @ weight.bfloat16().T, targets, torch.float32)
    assert found.item() == pytest.approx(halves.item(), rel=1e-6)
    assert found.item() != pytest.approx(exact.item(), rel=1e-6)


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


@pytest.mark.parametrize(
    ("count", "most", "sizes"),
    [(10, 4, [4, 4, 2]), (9, 4, [3, 3, 3]), (4, 4, [4]), (3, 100, [3]), (3, 0, [1, 1, 1]), (1, 1, [1]), (0, 5, [])],
)
def test_pieces_are_few_even_and_none_is_larger_than_allowed(count: int, most: int, sizes: list[int]) -> None:
    pieces = loss._even_pieces(count, most)
    assert [len(range(count)[piece]) for piece in pieces] == sizes
    assert [n for piece in pieces for n in range(count)[piece]] == list(range(count))


def test_a_softmax_may_be_more_precise_than_its_logits() -> None:
    hidden, weight, targets = inputs(20, 4, 30, torch.float32)
    found = linear_cross_entropy(hidden, weight, targets, torch.float64)
    exact = cross_entropy(hidden @ weight.T, targets, torch.float64)
    assert found.dtype == exact.dtype == torch.float64
    assert found.item() == pytest.approx(exact.item(), rel=1e-14)
    assert cross_entropy(hidden @ weight.T, targets, torch.float32).dtype == torch.float32


def test_hidden_states_keep_their_shape_and_gradients_are_only_for_who_asks() -> None:
    hidden, weight, targets = inputs(6, 4, 30, torch.float64)
    whole = linear_cross_entropy(hidden, weight, targets, torch.float64)
    deep = linear_cross_entropy(hidden.reshape(2, 3, 4), weight, targets.reshape(2, 3), torch.float64)
    assert deep.item() == whole.item()
    alone = linear_cross_entropy(hidden.detach(), weight, targets, torch.float64)
    alone.backward()
    assert hidden.grad is None
    torch.testing.assert_close(weight.grad, torch.autograd.grad(whole, weight)[0])
    none = linear_cross_entropy(hidden.detach(), weight.detach(), targets, torch.float64)
    assert not none.requires_grad
    assert none.item() == whole.item()


@pytest.mark.parametrize(("types", "most"), [(7, 80), (1024, 1)])
def test_no_more_logits_are_held_than_allowed(types: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, weight, targets = inputs(9, 4, 40, torch.float32)
    held: list[int] = []
    wide: list[int] = []
    plain, product = torch.log_softmax, torch.mm
    monkeypatch.setitem(loss.AT_ONCE, "cpu", most)
    monkeypatch.setattr(loss, "TYPES_AT_ONCE", types)
    monkeypatch.setattr(torch, "log_softmax", lambda x, dim: held.append(x.numel()) or plain(x, dim=dim))
    monkeypatch.setattr(torch, "mm", lambda a, b, out: wide.append(b.shape[1]) or product(a, b, out=out))
    found = linear_cross_entropy(hidden, weight, targets, torch.float32)
    assert set(wide) == ({7, 5} if types == 7 else {40})
    assert held == ([80, 80, 80, 80, 40] if most == 80 else [40] * 9)
    torch.testing.assert_close(found, cross_entropy(hidden @ weight.T, targets, torch.float32))


@pytest.mark.parametrize("task", [Copying, LastToken])
def test_only_the_loss_that_asks_for_it_is_compiled(task: type, monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.build("mlp", vocabulary=30, context=4, d_model=8, d_mlp=16)
    compiled: list[object] = []
    monkeypatch.setattr(torch, "compile", lambda forward: compiled.append(forward) or forward)
    Loss(model, task, torch.float32)  # type: ignore[arg-type]
    assert compiled == []
    Loss(model, task, torch.float32, compiled=True)  # type: ignore[arg-type]
    assert compiled == [model if task is Copying else model.hidden]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("task", [Copying, LastToken])
def test_a_loss_has_the_type_that_it_is_given(task: type, dtype: torch.dtype) -> None:
    model = models.build("mlp", vocabulary=30, context=4, d_model=8, d_mlp=16)
    batch = Batch(torch.randint(30, (6, 4)), torch.randint(30, (6,)))
    assert Loss(model, task, dtype)(batch)[0].dtype == dtype  # type: ignore[arg-type]


def test_logits_of_sequences_are_those_of_their_rows() -> None:
    logits, _, targets = inputs(6, 30, 30, torch.float64)
    rows = cross_entropy(logits, targets, torch.float64)
    of_sequences = cross_entropy(logits.reshape(2, 3, 30), targets.reshape(2, 3), torch.float64).item()
    assert of_sequences == pytest.approx(rows.item(), rel=1e-14)
    some = targets.clone()
    some[::2] = IGNORED
    of_some = cross_entropy(logits[1::2], targets[1::2], torch.float64).item()
    assert cross_entropy(logits, some, torch.float64).item() == pytest.approx(
        of_some, rel=1e-14
    )  # another order of sum
