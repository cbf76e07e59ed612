"""Masked mixing is the paper's formula in every variant, in blocks, step by step, and the models are of its sizes."""

import itertools
import math
from functools import partial

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models import flops, triangles
from allmlp.models.masked_mixing import Mixing
from tests.tensors import inputs

CONTEXT, WIDTH = 11, 6
VARIANTS = [
    {},
    {"bias": False},
    {"kernel": 4},
    {"kernel": 3, "bias": False},
    {"parallel": 2},
    {"n_heads": 2},
    {"n_heads": 3, "kernel": 2, "parallel": 2},
    {"parallel": 2, "parallel_activation": "gelu"},
    {"n_heads": 2, "kernel": 3, "parallel": 3, "parallel_activation": "gelu", "bias": False},
    {"flat": False},
    {"expansion": 2.0},
    {"expansion": 0.5, "n_heads": 2, "kernel": 3},
]
NAMES = [" ".join(f"{k}={v}" for k, v in options.items()) or "flat" for options in VARIANTS]
every_variant = pytest.mark.parametrize("options", VARIANTS, ids=NAMES)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """So that a few tokens make several blocks, the last of them partly filled."""
    monkeypatch.setattr(triangles, "block_rows", lambda _: 4)


@pytest.fixture(params=["by batch", "by head"])
def either_form(request, monkeypatch):
    """A CPU's form of a block's product, and a GPU's."""
    monkeypatch.setattr(triangles, "PER_SEQUENCE", ("cpu",) if request.param == "by batch" else ())


def build(options, causal=True, dtype=torch.float64):
    torch.manual_seed(1)
    return Mixing(WIDTH, CONTEXT, causal=causal, **options).to(dtype)


def as_published(mixer, x_BTD, gelu=False):
    """The same as Conv1d over tokens with its weight times a mask, a head and a parallel set at a time (001).

    gelu: of each parallel set before their sum.
    """
    hidden_BTD = mixer.heads(x_BTD)
    joined = []
    for h, x in enumerate(hidden_BTD.chunk(mixer.n_heads, dim=-1)):
        for i, layer in enumerate(mixer.layers):
            made = []
            for p in range(len(layer.weight)):
                weight_TSK = layer.weight[p, h].movedim(0, -1)
                mask = torch.ones_like(weight_TSK)
                if mixer.causal:
                    mask *= torch.ones(weight_TSK.shape[:2], dtype=x.dtype).tril()[..., None]
                bias = None if layer.bias is None else layer.bias[p, h]
                y = F.conv1d(x, weight_TSK * mask, bias, padding="same")
                made.append(F.gelu(y) if gelu else y)
            x = sum(made)
            x = F.gelu(x) if i + 1 < len(mixer.layers) else x
        joined.append(x)
    return mixer.out(torch.cat(joined, dim=-1))


def gradients(mixer, function, x):
    """Of a sum that weighs every output differently: for x, then for each weight."""
    x = x.clone().requires_grad_()
    y = function(x)
    return torch.autograd.grad((y * inputs(*y.shape, seed=3)).sum(), (x, *mixer.parameters()), materialize_grads=True)


def test_the_papers_worked_example():
    """001-1: each token receives what is before it, and itself."""
    W = torch.tensor([[2.0, 1, 1], [1, 1, 4], [1, 3, 1]])
    x = torch.tensor([[1.0, 10], [2, 20], [3, 30]])
    mixer = Mixing(2, 3, bias=False)
    mixer.layers[0].weight.data = W.T.reshape(1, 1, 1, 3, 3)
    x1, x2, x3 = x
    assert torch.equal(mixer(x[None])[0], torch.stack([2 * x1, 1 * x1 + 1 * x2, 1 * x1 + 4 * x2 + 1 * x3]))


@every_variant
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
def test_outputs_and_gradients_are_the_published_forms(options, causal, either_form):
    mixer, x = build(options, causal), inputs(3, CONTEXT, WIDTH)
    published = partial(as_published, mixer, gelu="parallel_activation" in options)
    torch.testing.assert_close(mixer(x), published(x), rtol=1e-12, atol=1e-12)
    ours, theirs = gradients(mixer, mixer, x), gradients(mixer, published, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)


def test_two_linear_triangles_are_one_and_two_with_a_gelu_are_not():
    """E001-18: a linear sum computes what its summed matrix does; a GELU of a sum is not the sum of GELUs."""
    one, x = build({}), inputs(3, CONTEXT, WIDTH)
    for activation, equal in (("none", True), ("gelu", False)):
        two = build({"parallel": 2, "parallel_activation": activation})
        with torch.no_grad():
            for of_one, of_two in zip(one.parameters(), two.parameters(), strict=True):
                of_one.copy_(of_two.sum(0, keepdim=True))
        y = one(x) if activation == "none" else F.gelu(one(x))
        assert torch.allclose(two(x), y, rtol=1e-12, atol=1e-12) is equal


@every_variant
def test_masked_weights_have_no_gradient(options, either_form):
    mixer = build(options)
    mixer(inputs(2, CONTEXT, WIDTH)).square().sum().backward()
    for layer in mixer.layers:
        above = torch.ones(layer.weight.shape[-2:]).triu(1).bool()
        assert layer.weight.grad[..., above].eq(0).all()


@pytest.mark.parametrize("options", [{"kernel": 2, "n_heads": 2}, {"flat": False}], ids=str)
@pytest.mark.parametrize("causal", [True, False])
def test_gradients_are_those_of_finite_differences(options, causal):
    torch.manual_seed(0)
    mixer = Mixing(4, 5, causal=causal, **options).double()
    names, weights = zip(*mixer.named_parameters(), strict=True)

    def layer(x_BTD, *weights):
        return torch.func.functional_call(mixer, dict(zip(names, weights, strict=True)), (x_BTD,))

    assert torch.autograd.gradcheck(layer, (inputs(2, 5, 4).requires_grad_(), *weights))


@every_variant
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_later_tokens_leave_the_bits_of_earlier_outputs(options, dtype, either_form):
    mixer, x = build(options, dtype=dtype), inputs(2, CONTEXT, WIDTH, dtype=dtype)
    y = mixer(x)
    for start in (1, 3, 4, 5, 10):
        later = x.clone()
        later[:, start:] *= -1e3
        assert torch.equal(mixer(later)[:, :start], y[:, :start])


@every_variant
def test_a_shorter_sequence_is_the_beginning_of_a_longer_one(options):
    mixer, x = build(options), inputs(2, CONTEXT, WIDTH)
    for length in (1, 4, 5, 7):
        torch.testing.assert_close(mixer(x[:, :length]), mixer(x)[:, :length], rtol=1e-12, atol=1e-12)


@every_variant
def test_steps_are_the_full_pass(options):
    mixer, x = build(options), inputs(3, CONTEXT, WIDTH)
    with torch.no_grad():
        full, state = mixer(x), mixer.start(x[:, 0])
        for t in range(CONTEXT):
            mixer.step(-x[:, t], state)  # another continuation, which alters nothing
            y, state = mixer.step(x[:, t], state)
            torch.testing.assert_close(y, full[:, t], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("positions", ["none", "first", "every"])
@pytest.mark.parametrize("options", [{}, {"extra_linear": True}, {"kernel": 4}, {"expansion": 2.0}], ids=str)
def test_a_model_generates_what_its_full_pass_says(positions, options):
    torch.manual_seed(0)
    sizes = {"vocabulary": 13, "context": 20, "d_model": 8, "n_blocks": 2}
    model = models.build("masked-mixer", **sizes, positions=positions, **options).double()
    tokens = torch.randint(13, (2, 20))
    full, state = model(tokens), model.start(2)
    for t in range(20):
        logits, state = model.step(tokens[:, t], state)
        torch.testing.assert_close(logits, full[:, t], rtol=1e-10, atol=1e-10)
    with pytest.raises(UserError, match="at most 20 tokens"):
        model.step(tokens[:, 0], state)


def test_half_of_the_products_are_left_out(monkeypatch, either_form):
    """Forward and in both gradients: of n blocks in a row, (1 + 1 / n) / 2 of the dense form's operations."""
    monkeypatch.setattr(triangles, "block_rows", lambda _: 16)
    x, weight = torch.randn(2, 128, 1, 8), torch.randn(1, 1, 128, 128)
    with FlopCounterMode(display=False) as forward:
        triangles._product(x, weight, None, True)
    with FlopCounterMode(display=False) as backward:
        triangles._gradients(x, x, weight, True, [True, True])
    once = 2 * 2 * 128**2 * 8 * (1 + 1 / 8) / 2
    assert (forward.get_total_flops(), backward.get_total_flops()) == (once, 2 * once)


@pytest.mark.parametrize("taps", [1, 3])
def test_a_gpu_takes_one_product_for_all_heads(taps, monkeypatch):
    """Of each tap and each of two blocks one, and two for the gradients, whatever the number of heads."""
    monkeypatch.setattr(triangles, "PER_SEQUENCE", ())
    products = ("aten::bmm", "aten::baddbmm", "aten::mm", "aten::matmul")
    for H in (1, 5):
        x, weight = torch.randn(2, 8, H, 4), torch.randn(H, taps, 8, 8)
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            triangles._product(x, weight, torch.randn(H, 8), True)
            triangles._gradients(x, x, weight, True, [True, True])
        assert sum(event.name in products for event in profiled.events()) == 2 * taps * 3


@pytest.mark.parametrize(("S", "T", "H", "K"), [(9, 9, 1, 1), (5, 9, 2, 3), (1, 1, 3, 2), (4, 8, 1, 4)])
@pytest.mark.parametrize("causal", [True, False])
def test_compiled_code_gets_the_true_shapes_and_strides(S, T, H, K, causal, either_form):
    x, g, weight = torch.randn(3, S, H, 4), torch.randn(3, T, H, 4), torch.randn(H, K, T, S)
    operations = torch.ops.allmlp
    came, told = [], []
    for one, results in ((lambda tensor: tensor, came), (lambda tensor: tensor.to("meta"), told)):
        results.append(operations.token_product(one(x), one(weight), None, causal))
        for wanted in itertools.product([True, False], repeat=2):
            results += operations.token_product_backward(one(g), one(x), one(weight), causal, wanted)
    for tensor, of_meta in zip(came, told, strict=True):
        assert (tensor.shape, tensor.stride(), tensor.dtype) == (of_meta.shape, of_meta.stride(), of_meta.dtype)
    _, *both = came[:3]
    for found, other in zip(both, (came[3], came[6]), strict=True):
        assert torch.equal(found, other), "a gradient wanted alone is that wanted with the other"


@pytest.mark.parametrize("kernel", [1, 4])
def test_gradients_of_floats_are_those_of_doubles(kernel, either_form):
    """In several blocks."""
    mixer = build({"kernel": kernel}, dtype=torch.float32)
    x, g = inputs(16, CONTEXT, WIDTH, dtype=torch.float32), inputs(16, CONTEXT, WIDTH, seed=1, dtype=torch.float32)
    found = {}
    for dtype in (torch.float32, torch.float64):
        leaf = x.to(dtype).requires_grad_()
        found[dtype] = torch.autograd.grad(mixer.to(dtype)(leaf), [leaf, *mixer.parameters()], g.to(dtype))
    for floats, doubles in zip(found[torch.float32], found[torch.float64], strict=True):
        torch.testing.assert_close(floats.double(), doubles, rtol=1e-4, atol=1e-4)


def test_halves_are_added_up_as_floats(monkeypatch, either_form):
    """An input's gradient over eight blocks is nearly as exact as over one; added up as halves, half as exact."""
    mixer, errors = Mixing(16, 32).bfloat16(), []
    x, g = inputs(16, 32, 16, dtype=torch.bfloat16), inputs(16, 32, 16, seed=1, dtype=torch.bfloat16)
    for block in (4, 32):
        monkeypatch.setattr(triangles, "block_rows", lambda _, block=block: block)
        found = []
        for dtype in (torch.bfloat16, torch.float64):
            leaf = x.to(dtype).requires_grad_()
            found += torch.autograd.grad(mixer.to(dtype)(leaf), [leaf], g.to(dtype))
        errors.append(float((found[0].double() - found[1]).norm() / found[1].norm()))
        mixer.bfloat16()
    assert errors[0] < 1.6 * errors[1] < 0.004


@pytest.mark.parametrize("kernel", [1, 4])
def test_halves_are_rounded_a_few_times_only(kernel, either_form):
    """Each tap's product, each tap's addition and the last result, over blocks, taps and sequences."""
    numbers = inputs(16, 32, 16, seed=2)
    rounding = (numbers.bfloat16().double() - numbers).norm() / numbers.norm()  # independent ones add up as squares
    mixer = Mixing(16, 32, kernel=kernel).bfloat16()
    x, g = inputs(16, 32, 16, dtype=torch.bfloat16), inputs(16, 32, 16, seed=1, dtype=torch.bfloat16)
    found = {}
    for dtype in (torch.bfloat16, torch.float64):
        leaf, y = (one := x.to(dtype).requires_grad_()), mixer.to(dtype)(one)
        found[dtype] = [y, *torch.autograd.grad(y, [leaf, *mixer.parameters()], g.to(dtype))]
    for half, exact in zip(found[torch.bfloat16], found[torch.float64], strict=True):
        assert (half.double() - exact).norm() < math.sqrt(2 * kernel + 1) * rounding * exact.norm()


def test_counted_operations_are_those_of_all_pairs():
    """As attention's are: a comparison at equal operations does not depend on how blocks are cut."""
    sizes = {"vocabulary": 50, "context": 64, "d_model": 16}
    counted = [flops.counted_flops(models.build("masked-mixer", n_blocks=n, **sizes), 3) for n in (1, 2)]
    assert counted[1] - counted[0] == 3 * 2 * 3 * (64 * 64 * 16 + 8 * 64 * 16 * 16)


def test_inputs_and_weights_are_all_that_is_kept_for_backward():
    mixer, x, kept = Mixing(16, 64), torch.randn(3, 64, 16), []
    for weights, expected in ((True, {x.numel(), 64 * 64}), (False, {64 * 64})):
        mixer.requires_grad_(weights)
        kept.clear()
        with saved_tensors_hooks(lambda tensor: kept.append(tensor.numel()) or tensor, lambda tensor: tensor):
            y = mixer(x.requires_grad_())
        assert sorted(kept) == sorted(expected)
    (dx,) = torch.autograd.grad(y.sum(), x)
    mixer.requires_grad_()
    torch.testing.assert_close(dx, torch.autograd.grad(mixer(x).sum(), x)[0])


def test_an_expanded_hidden_layer_is_read_up_to_the_context():
    """001-9: of 32 tokens doubled, 32 of 64 hidden ones and 528 of 2,048 weights take part."""
    torch.manual_seed(0)
    mixer = Mixing(4, 32, expansion=2.0).double()
    mixer(inputs(1, 32, 4)).square().sum().backward()
    first, second = (layer.weight.grad[0, 0, 0] for layer in mixer.layers)
    assert first.shape == (64, 32)
    assert second.shape == (32, 64)
    assert second.ne(0).sum() == 528 == first.ne(0).sum()
    assert first[32:].eq(0).all()
    assert second[:, 32:].eq(0).all()


def test_a_factor_below_one_loses_the_tokens_beyond_it():
    mixer, x = build({"expansion": 0.5}), inputs(2, CONTEXT, WIDTH)
    other = x.clone()
    other[:, 5:] = 7
    assert torch.equal(mixer(x), mixer(other))
    assert not torch.equal(mixer(x), mixer(other.roll(1, 1)))


@pytest.mark.parametrize(("d_model", "count"), [(256, 8_411_136), (512, 23_109_632), (1024, 77_672_448)])
def test_flat_mixers_have_the_weights_that_the_inventory_counts(d_model, count):
    with torch.device("meta"):
        model = models.build("masked-mixer", vocabulary=4096, context=512, d_model=d_model, n_blocks=8)
    assert flops.parameters(model)["total"] == count


@pytest.mark.parametrize(
    ("options", "of_a_block"),
    [
        ({}, 20 * 20 + 20),
        ({"kernel": 4}, 4 * 20 * 20 + 20),
        ({"parallel": 4}, 4 * (20 * 20 + 20)),
        ({"parallel": 4, "parallel_activation": "gelu"}, 4 * (20 * 20 + 20)),
        ({"expansion": 2.0}, 2 * 40 * 20 + 40 + 20),
        ({"n_heads": 2}, 2 * (20 * 20 + 20) + 2 * (8 * 8 + 8)),
    ],
)
def test_weights_of_the_variants(options, of_a_block):
    sizes = {"vocabulary": 13, "context": 20, "d_model": 8, "n_blocks": 1}
    model = models.build("masked-mixer", **sizes, **options)
    feed_forward_and_norms = 2 * 4 * 8 * 8 + 5 * 8 + 4 * 8
    assert flops.parameters(model)["non_embedding"] == of_a_block + feed_forward_and_norms


def test_the_model_is_embedding_blocks_and_unembedding():
    """001's equations in the order of its code, with positions set anew after every block."""
    torch.manual_seed(0)
    sizes = {"vocabulary": 13, "context": 10, "d_model": 8, "n_blocks": 2}
    model = models.build("masked-mixer", **sizes, positions="every", extra_linear=True).double()
    tokens = torch.randint(13, (2, 10))
    position = torch.arange(-5, 5, dtype=torch.float64).expand(2, 10)[..., None]
    x = model.second_embedding(model.wte.weight[tokens])
    for block in model.blocks:
        x = torch.cat([x, position], dim=-1)
        x = x + as_published(block.mixer, F.layer_norm(x, (9,), block.norm.weight, block.norm.bias))
        z = F.layer_norm(x, (9,), block.feed_forward_norm.weight, block.feed_forward_norm.bias)
        feed = block.feed_forward
        z = F.gelu(z @ feed.expand.weight.T + feed.expand.bias) @ feed.out.weight.T + feed.out.bias
        x = (x + z)[..., :-1]
    torch.testing.assert_close(model(tokens), x @ model.unembedding.weight.T, rtol=1e-11, atol=1e-11)
    assert feed.expand.weight.shape == (36, 9)


def test_weights_at_first_are_pytorchs_own():
    torch.manual_seed(0)
    model = models.build("masked-mixer", vocabulary=300, context=64, d_model=48, n_blocks=2, kernel=4)
    for key, weight in model.named_parameters():
        if key == "wte.weight":
            assert weight.std().item() == pytest.approx(1, rel=0.03)
        elif "mixer" in key:
            assert weight.abs().max().item() == pytest.approx(1 / math.sqrt(64 * 4), rel=0.1)
        elif weight.dim() == 2:
            assert weight.abs().max().item() == pytest.approx(1 / math.sqrt(weight.shape[1]), rel=0.1)


def test_64_blocks_of_64_features_are_finite():
    torch.manual_seed(0)
    model = models.build("masked-mixer", vocabulary=29, context=16, d_model=64, n_blocks=64)
    loss = F.cross_entropy(model(torch.randint(29, (2, 16))).flatten(0, 1), torch.randint(29, (32,)))
    loss.backward()
    assert loss.isfinite()
    assert all(weight.grad.isfinite().all() and weight.grad.ne(0).any() for weight in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("options", [{}, {"kernel": 4, "n_heads": 2}, {"flat": False}], ids=str)
def test_half_precision_is_single_precision_rounded(options, dtype):
    mixer, x = build(options, dtype=torch.float32), inputs(2, CONTEXT, WIDTH, dtype=torch.float32)
    with torch.autocast("cpu", dtype):
        y = mixer(x)
        stepped, _ = mixer.step(x[:, 0], mixer.start(x[:, 0]))
    assert y.dtype == dtype
    y.float().square().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in mixer.parameters())
    scale, step = mixer(x).abs().max().item(), 16 * torch.finfo(dtype).eps
    torch.testing.assert_close(y.float(), mixer(x), rtol=0, atol=step * scale)
    torch.testing.assert_close(stepped.float(), mixer(x)[:, 0], rtol=0, atol=step * scale)


def test_a_model_that_sees_all_tokens_cannot_generate():
    mixer = build({}, causal=False)
    with pytest.raises(UserError, match="cannot generate"):
        mixer.start(inputs(1, WIDTH))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expansion": 0}, "expansion=0: it must be a number above 0"),
        ({"expansion": 0.01}, "leaves it no hidden token"),
        ({"expansion": 2.0, "flat": True}, "a flat mixer has none"),
        ({"expansion": 2.0, "parallel": 2}, "side by side and in a row"),
        ({"parallel_activation": "gelu"}, "needs parallel triangles: give `parallel` too"),
        ({"parallel": 2, "parallel_activation": "sine"}, "'sine': it must be one of none, gelu"),
        ({"kernel": 0}, "kernel=0: it must be a whole number above 0"),
        ({"n_heads": 3}, "d_model=8: does not divide among n_heads=3"),
        ({"positions": "all"}, "positions='all': it must be one of none, first, every"),
        ({"positions": "first", "n_heads": 2}, "d_model=9: does not divide among n_heads=2"),
    ],
)
def test_impossible_hyperparameters_are_reported(options, message):
    with pytest.raises(UserError, match=message):
        models.build("masked-mixer", vocabulary=9, context=12, d_model=8, n_blocks=1, **options)
