"""The loss that never holds all logits: values and gradients beside the plain form in float64, and what it keeps."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp import models
from allmlp.data.tasks.copying import Copying
from allmlp.data.tasks.last_token import LastToken
from allmlp.data.tasks.task import Batch
from allmlp.models.base import LinearHead
from allmlp.training import loss
from allmlp.training.loss import Loss, cross_entropy, linear_cross_entropy


def inputs(n: int, d: int, v: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n + 100 * d + v)
    hidden = torch.randn(n, d, generator=generator, dtype=torch.float64)
    weight = 3 * torch.randn(v, d, generator=generator, dtype=torch.float64)
    targets = torch.randint(v, (n,), generator=generator)
    return hidden.to(dtype).requires_grad_(), weight.to(dtype).requires_grad_(), targets


def written_out(hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """- mean over rows of log(exp(h . w_target + b_target) / sum over v of exp(h . w_v + b_v))."""
    rows = [weight @ h + bias for h in hidden]
    return torch.stack([torch.logsumexp(row, 0) - row[t] for row, t in zip(rows, targets, strict=True)]).mean()


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 9),
    d=st.integers(1, 5),
    v=st.integers(2, 40),
    held=st.integers(1, 80),
    biased=st.booleans(),
    caching=st.booleans(),
)
def test_value_and_gradients_are_those_of_the_formula(
    n: int, d: int, v: int, held: int, biased: bool, caching: bool
) -> None:
    hidden, weight, targets = inputs(n, d, v, torch.float64)
    bias = torch.linspace(-biased, biased, v, dtype=torch.float64, requires_grad=biased)
    given_weights = (hidden, weight, bias) if biased else (hidden, weight)
    wanted = written_out(hidden, weight, bias, targets)
    gradients = torch.autograd.grad(wanted, given_weights)
    with pytest.MonkeyPatch.context() as patch:
        few_at_a_time(patch, held)
        patch.setattr(loss, "CACHING", ("cpu",) if caching else ())
        found = linear_cross_entropy(hidden, LinearHead(weight, bias if biased else None), targets, torch.float64)
        (2 * found).backward()
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    for value, gradient in zip(given_weights, gradients, strict=True):
        torch.testing.assert_close(value.grad, 2 * gradient, rtol=1e-10, atol=1e-12)


def few_at_a_time(patch: pytest.MonkeyPatch, held: int, least: int = 1, in_cache: int = 30) -> None:
    """Pieces that need several rounds even of small inputs."""
    patch.setitem(loss.AT_ONCE, "cpu", held)
    patch.setattr(loss, "LEAST_ROWS", least)
    patch.setattr(loss, "IN_CACHE", in_cache)
    patch.setattr(loss, "TYPES_AT_ONCE", 7)


def test_its_gradients_are_used_up_by_the_first_backward_pass() -> None:
    hidden, weight, targets = inputs(6, 4, 30, torch.float64)
    found = linear_cross_entropy(hidden, LinearHead(weight), targets, torch.float64)
    found.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.backward()


def test_large_logits_do_not_overflow() -> None:
    hidden, weight, targets = inputs(4, 3, 11, torch.float32)
    with torch.no_grad():
        hidden *= 1e4
    found = linear_cross_entropy(hidden, LinearHead(weight), targets, torch.float32)
    found.backward()
    assert torch.isfinite(found)
    assert hidden.grad is not None
    assert torch.isfinite(hidden.grad).all()
    torch.testing.assert_close(found, cross_entropy(hidden @ weight.T, targets, torch.float32))


def test_half_precision_products_keep_the_weights_gradient_in_single() -> None:
    hidden, weight, targets = inputs(64, 32, 300, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found = linear_cross_entropy(hidden, LinearHead(weight), targets, torch.float32)
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
        linear_cross_entropy(hidden, LinearHead(weight), targets, torch.float32)
    assert max(kept) == max(hidden.numel(), weight.numel())
    kept.clear()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        cross_entropy(hidden @ weight.T, targets, torch.float32)
    assert max(kept) >= 200 * 1000, "the plain form does keep them"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_task_that_reads_no_logits_is_given_none(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.build("mlp", vocabulary=30, context=4, d_model=8, d_mlp=16)
    batch = Batch(torch.randint(30, (6, 4)), torch.randint(30, (6,)))
    expected = cross_entropy(model(batch.tokens), batch.targets, dtype)
    read, logits = Loss(model, Copying, dtype)(batch)  # type: ignore[arg-type]
    assert logits is not None
    assert logits.shape == (6, 30)
    with monkeypatch.context() as without:
        without.setattr(model, "linear_head", lambda: None)
        headless, held = Loss(model, LastToken, dtype)(batch)  # type: ignore[arg-type]
    monkeypatch.setattr(model, "forward", None)  # the logits of all types
    value, none = Loss(model, LastToken, dtype)(batch)  # type: ignore[arg-type]
    assert held is None
    assert none is None
    torch.testing.assert_close([read, headless, value], 3 * [expected])


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
    found = linear_cross_entropy(hidden, LinearHead(weight), targets, torch.float64)
    exact = cross_entropy(hidden @ weight.T, targets, torch.float64)
    assert found.dtype == exact.dtype == torch.float64
    assert found.item() == pytest.approx(exact.item(), rel=1e-14)
    assert cross_entropy(hidden @ weight.T, targets, torch.float32).dtype == torch.float32


def test_gradients_are_only_for_who_asks() -> None:
    hidden, weight, targets = inputs(6, 4, 30, torch.float64)
    whole = linear_cross_entropy(hidden, LinearHead(weight), targets, torch.float64)
    alone = linear_cross_entropy(hidden.detach(), LinearHead(weight), targets, torch.float64)
    alone.backward()
    assert hidden.grad is None
    torch.testing.assert_close(weight.grad, torch.autograd.grad(whole, weight)[0])
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss, "_add_product", lambda *_: pytest.fail("a gradient nobody asked for"))
        none = linear_cross_entropy(hidden, LinearHead(weight), targets, torch.float64)
    assert not none.requires_grad
    assert none.item() == whole.item()


def test_no_rows_have_no_loss() -> None:
    hidden, weight, targets = inputs(6, 4, 30, torch.float64)
    found = linear_cross_entropy(hidden[:0], LinearHead(weight), targets[:0], torch.float64)
    found.backward()
    assert found.item() == 0
    assert weight.grad is not None
    assert weight.grad.eq(0).all()


class Compiled:
    """Stands for torch.compile: remembers what it is given, and each call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, plain):  # type: ignore[no-untyped-def]
        def call(*given: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return plain(*given)

        return call


@pytest.mark.parametrize("task", [LastToken, Copying])
def test_only_the_model_in_training_is_compiled(task: type, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Compiled()
    monkeypatch.setattr(torch, "compile", compiled)
    model = models.build("mlp", vocabulary=30, context=4, d_model=8, d_mlp=16)
    batch = Batch(torch.randint(30, (6, 4)), torch.tensor([-1, 3, 4, -1, 5, 6]))
    plain, _ = Loss(model, task, torch.float32)(batch)  # type: ignore[arg-type]
    assert compiled.calls == 0
    of_both = Loss(model, task, torch.float32, compiled=True)  # type: ignore[arg-type]
    torch.testing.assert_close(of_both(batch)[0], plain)
    assert compiled.calls == 1
    model.eval()
    of_both(batch)
    assert compiled.calls == 1


def test_a_loss_from_all_logits_has_its_type_too() -> None:
    model = models.build("mlp", vocabulary=30, context=4, d_model=8, d_mlp=16)
    batch = Batch(torch.randint(30, (6, 4)), torch.randint(30, (6,)))
    assert Loss(model, Copying, torch.float64)(batch)[0].dtype == torch.float64  # type: ignore[arg-type]


@pytest.mark.parametrize(("held", "least", "rows"), [(80, 1, [2, 2, 2, 2, 1]), (1, 1, [1] * 9), (1, 5, [5, 4])])
def test_no_more_logits_are_held_than_allowed(
    held: int, least: int, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, weight, targets = inputs(9, 4, 40, torch.float32)
    made: list[torch.Size] = []
    wide: list[int] = []
    in_cache: list[int] = []
    plain, product, largest = loss._logits, torch.mm, torch.Tensor.amax
    monkeypatch.setattr(loss, "_logits", lambda *given: (found := plain(*given), made.append(found.shape))[0])
    monkeypatch.setattr(torch, "mm", lambda a, b, out: wide.append(b.shape[1]) or product(a, b, out=out))
    monkeypatch.setattr(torch.Tensor, "amax", lambda x, *of, **how: in_cache.append(len(x)) or largest(x, *of, **how))
    few_at_a_time(monkeypatch, held, least, in_cache=80)
    found = linear_cross_entropy(hidden.detach(), LinearHead(weight.detach()), targets, torch.float32)
    assert made == [(count, 40) for count in rows]
    assert set(wide) == {7, 5}
    assert max(in_cache) <= 2
    assert sum(in_cache) == 9
    torch.testing.assert_close(found, cross_entropy(hidden @ weight.T, targets, torch.float32))
