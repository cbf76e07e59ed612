"""The Triton kernels against `models.relation` in float64: on a GPU, or by the interpreter (conftest.py).

`make triton` installs the interpreter; `.ci/run` calls it.
"""

import ast
import importlib
import sys
from pathlib import Path

import pytest
import torch

from allmlp.models import relation
from tests.conftest import PROJECT

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# (T, B, D), block of tokens, block of features: one token; blocks that divide nothing; several chunks; defaults
SHAPES = [((1, 2, 3), 8, 64), ((7, 2, 5), 4, 2), ((13, 1, 20), 4, 8), ((18, 2, 6), None, None)]


@pytest.fixture(scope="module")
def kernels():
    triton = pytest.importorskip("triton", reason="triton is not installed: `make triton`")
    if DEVICE == "cpu" and tuple(map(int, triton.__version__.split(".")[:2])) < (3, 7):
        pytest.skip(f"the interpreter of Triton {triton.__version__}, torch 2.11's, does not read NumPy 2.4")
    return importlib.import_module("allmlp.models.relation_triton")


def inputs(shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    p, q, g = (torch.randn(shape, generator=generator) for _ in range(3))
    return p - p.mean(-1, keepdim=True), q - q.mean(-1, keepdim=True), g


def by_kernels(kernels, p, q, g, activation, exact, **blocks):
    p, q, g = (x.to(DEVICE) for x in (p, q, g))
    y = kernels.pairs_sum(p, q, activation, exact, 1e-5, **blocks)
    return [x.cpu() for x in (y, *kernels.pairs_gradients(g, p, q, activation, exact, 1e-5, **blocks))]


def by_pairs(p, q, g, activation, exact):
    p, q, g = p.double(), q.double(), g.double()
    y = relation._pairs_sum(p, q, activation, exact, 1e-5)
    return [y, *relation._pairs_gradients(g, p, q, activation, exact, 1e-5)]


@pytest.mark.parametrize(("shape", "block_t", "block_d"), SHAPES)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("activation", relation.ACTIVATIONS)
def test_sum_and_gradients_are_those_of_the_pairs(kernels, activation, exact, shape, block_t, block_d):
    blocks = {"block_t": block_t, "block_d": block_d} if block_t else {}
    p, q, g = inputs(shape)
    found = by_kernels(kernels, p, q, g, activation, exact, **blocks)
    for ours, exactly in zip(found, by_pairs(p, q, g, activation, exact), strict=True):
        torch.testing.assert_close(ours.double(), exactly, rtol=0, atol=3e-6 * (exactly.abs().max().item() + 1))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter's numpy
def test_a_later_token_leaves_the_bits_of_earlier_sums(kernels):
    """Also a token that is infinite, and one that cancels an earlier one: 1 / rms without eps is then infinite."""
    p, q, _ = inputs((10, 1, 5))
    later_p, later_q = p.clone(), q.clone()
    later_p[6:], later_q[6:] = -q[2], torch.inf
    y, later_y = (kernels.pairs_sum(*(x.to(DEVICE) for x in pair), "exp", True, 0.0, block_t=4) for pair in
                  ((p, q), (later_p, later_q)))  # fmt: skip
    assert torch.equal(y[:6], later_y[:6])


def test_bits_of_a_sum_do_not_depend_on_the_blocks(kernels):
    p, q, _ = inputs((11, 1, 6))
    sums = [
        kernels.pairs_sum(p.to(DEVICE), q.to(DEVICE), "exp", False, 0.0, t, d) for t, d in ((2, 2), (8, 4), (16, 8))
    ]
    assert all(torch.equal(sums[0], other) for other in sums[1:])


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
def test_the_layer_on_a_gpu_takes_the_kernels_and_equals_the_cpu(kernels):
    assert relation._can_use_kernels(torch.empty(1, device="cuda"))
    p, q, g = (x.transpose(0, 1) for x in inputs((130, 4, 192)))
    results = []
    for device, dtype in (("cuda", torch.float32), ("cpu", torch.float64)):
        leaves = [x.to(device, dtype).requires_grad_() for x in (p, q)]
        y = relation.causal_relation_sum(*leaves, "exp", "exact", 1e-5)
        y.backward(g.to(device, dtype))
        results.append([x.detach().cpu().double() for x in (y, *(leaf.grad for leaf in leaves))])
    for ours, exactly in zip(*results, strict=True):
        torch.testing.assert_close(ours, exactly, rtol=0, atol=2e-5 * exactly.abs().max().item())


@pytest.mark.skipif(DEVICE == "cuda", reason="the test before this one does it, on the GPU itself")
@pytest.mark.parametrize("pre_norm", ["exact", "none"])
def test_the_layer_hands_the_kernels_what_they_can_read(kernels, monkeypatch, pre_norm):
    """By autograd, of inputs that are views; and of several seeds as one stack."""
    monkeypatch.setattr(relation, "_can_use_kernels", lambda x: x.dtype == torch.float32)
    p, q, g = (x.transpose(0, 1) for x in inputs((9, 2, 5)))

    def layer(dtype):
        leaves = [x.to(dtype).detach().requires_grad_() for x in (p, q)]
        y = relation.causal_relation_sum(*leaves, "exp", pre_norm, 1e-5)
        y.backward(g.to(dtype))
        return [y.detach().double(), *(leaf.grad.double() for leaf in leaves)]

    for ours, exactly in zip(layer(torch.float32), layer(torch.float64), strict=True):
        torch.testing.assert_close(ours, exactly, rtol=0, atol=2e-5 * exactly.abs().max().item())
    one_by_one = torch.stack(
        [relation.causal_relation_sum(p[n, None], q[n, None], "exp", pre_norm, 1e-5) for n in (0, 1)]
    )
    stacked = torch.vmap(lambda p, q: relation.causal_relation_sum(p, q, "exp", pre_norm, 1e-5))(p[:, None], q[:, None])
    assert torch.equal(stacked, one_by_one)


def kernels_of_the_sources():
    """(module, function) of each function that Triton compiles."""
    found = set()
    for file in (PROJECT / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "triton" in text else ():
            if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(one) for one in node.decorator_list):
                found.add((file.stem, node.name))
    return found


@pytest.mark.skipif(DEVICE == "cuda", reason="only the interpreter shows which kernels ran")
def test_every_kernel_of_the_sources_ran(kernels):
    """One that is new here fails until it is compared above and called here."""
    ran = set()

    def note(frame, event, _):
        if event == "call":
            ran.add((Path(frame.f_code.co_filename).stem, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        for exact in (True, False):
            by_kernels(kernels, *inputs((5, 1, 3)), "exp", exact, block_t=4, block_d=2)
    finally:
        sys.setprofile(None)
    declared = kernels_of_the_sources()
    assert len(declared) >= 7
    assert declared <= ran
