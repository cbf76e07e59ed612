"""A stacked model under torch.vmap is each of its models alone: outputs and gradients of every architecture."""

import itertools

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.profiler import ProfilerActivity, profile

from allmlp import models
from allmlp.models import relation, triangles
from allmlp.models.audit import VARIANTS
from allmlp.models.audit.subject import PAD, Subject, build_small
from allmlp.models.linear_relation import log_sums
from allmlp.models.relation import causal_relation_sum
from allmlp.models.sliding_dct import SlidingDCT
from allmlp.models.triangles import token_product
from allmlp.pipeline.gpu_check.exact import distance

SEEDS, ROWS = 3, 2
CASES = [(name, options) for name in models.REGISTRY for options in [{}, *VARIANTS.get(name, [])]]
CASES += [("masked-mixer", {"n_heads": 2, "parallel": 2, "parallel_activation": "gelu"})]
NAMES = [" ".join([name, *map("{}={}".format, options, options.values())]) for name, options in CASES]
every_architecture = pytest.mark.parametrize(("name", "options"), CASES, ids=NAMES)
DROPPING = [name for name in models.REGISTRY if "dropout" in models.hyperparameters(name)]


class Reading(nn.Module):
    """A model as `functional_call` takes it, by `hidden` or by `forward`."""

    def __init__(self, model, method):
        super().__init__()
        self.model, self.method = model, method

    def forward(self, inputs):
        return getattr(self.model, self.method)(inputs)


def of_seeds(name, options, dtype, **more):
    """(models, inputs of each): the same architecture with other weights and other inputs; some rows padded."""
    padded = {"pad": PAD} if "pad" in models.hyperparameters(name) else {}
    alone, rows = [], []
    for seed in range(SEEDS):
        model = build_small(name, **padded, **options, **more).to(dtype).train()
        torch.manual_seed(seed)
        for weight in model.parameters():
            weight.data += 0.3 * torch.randn_like(weight)
        alone.append(model)
        rows.append(Subject(model, None).rows(ROWS, seed=seed))
    inputs = torch.stack(rows)
    if padded:
        inputs[0, 0, :3], inputs[1, 1, :5] = PAD, PAD
    return alone, inputs.to(dtype) if inputs.is_floating_point() else inputs


def without_dropout(name):
    return {"dropout": 0.0} if name in DROPPING else {}


def stacked(alone, inputs, method="forward", **options):
    """(outputs of all models at once, their stacked weights)."""
    reading = Reading(alone[0], method)
    each = [dict(Reading(model, method).named_parameters()) for model in alone]
    weights = {key: torch.stack([of[key].detach() for of in each]).requires_grad_() for key in each[0]}
    made = torch.vmap(lambda weights, rows: functional_call(reading, weights, (rows,)), **options)(weights, inputs)
    return made, weights


def gradients(outputs, weights):
    """Of a sum that weighs every output differently."""
    draw = torch.Generator().manual_seed(5)
    factors = torch.randn(outputs.shape, dtype=torch.float64, generator=draw).to(outputs)
    return torch.autograd.grad((outputs * factors).sum(), weights, allow_unused=True, materialize_grads=True)


@every_architecture
@pytest.mark.parametrize("method", ["forward", "hidden"])
@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-12), (torch.float32, 1e-5)], ids=["doubles", "floats"])
def test_stacked_models_are_each_alone(name, options, method, dtype, most):
    alone, inputs = of_seeds(name, options, dtype, **without_dropout(name))
    made, weights = stacked(alone, inputs, method)
    expected = torch.stack([getattr(model, method)(rows) for model, rows in zip(alone, inputs, strict=True)])
    assert made.dtype == expected.dtype
    of_all = gradients(made, list(weights.values()))
    of_each = gradients(expected, [weight for model in alone for weight in model.parameters()])
    for seed in range(SEEDS):
        assert distance(made[seed], expected[seed]) < most
        own = of_each[seed * len(weights) : (seed + 1) * len(weights)]
        found, truth = (torch.cat([one.flatten() for one in many]) for many in ([g[seed] for g in of_all], own))
        assert truth.norm() > 0
        assert distance(found, truth) < most


@every_architecture
def test_stacked_models_run_in_half_precision(name, options):
    alone, inputs = of_seeds(name, options, torch.float32, **without_dropout(name))
    with torch.autocast("cpu", torch.bfloat16):
        made, weights = stacked(alone, inputs)
        expected = torch.stack([model(rows) for model, rows in zip(alone, inputs, strict=True)])
    assert distance(made, expected) < 0.03  # of halves, rounded at other places
    assert all(gradient.isfinite().all() for gradient in gradients(made, list(weights.values())))


@pytest.mark.parametrize("name", DROPPING)
def test_seeds_drop_different_numbers(name):
    """With dropout a stacked model runs, but does not draw what each of its models draws alone."""
    alone, inputs = of_seeds(name, {}, torch.float64, dropout=0.3)
    same = [alone[0]] * SEEDS, inputs[:1].expand(SEEDS, *inputs.shape[1:])
    made, _ = stacked(*same, randomness="different")
    assert all(not torch.allclose(made[a], made[b]) for a, b in itertools.combinations(range(SEEDS), 2))
    with pytest.raises(RuntimeError, match="randomness"):
        stacked(*same)


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def sliding(x, weights):
    return SlidingDCT([3, 40], 3, 70)(x, weights)


# each kernel with the shapes of one seed's inputs
KERNELS = {
    "token_product": (lambda x, w, b: token_product(x, w, b, True), (2, 5, 2, 4), (2, 3, 9, 5), (2, 9)),
    "token_product without bias": (lambda x, w: token_product(x, w, None, False), (2, 5, 2, 4), (2, 1, 9, 5)),
    "causal_relation": (lambda p, q: causal_relation_sum(p, q, "elu", "exact", 1e-5), (2, 7, 4), (2, 7, 4)),
    "log_sums": (log_sums, (2, 40, 4)),
    "sliding DCT": (sliding, (2, 70, 2, 4), (2, 3, 4, 4)),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("devices", [("cpu",), ()], ids=["by batch", "by head"])
def test_kernels_take_seeds_wherever_they_are(name, devices, monkeypatch):
    """Each input has the seeds at any place, or is shared by all of them; not all inputs are shared."""
    monkeypatch.setattr(triangles, "PER_SEQUENCE", devices)
    kernel, *shapes = KERNELS[name]
    for places in itertools.product([None, 0, 1, -1], repeat=len(shapes)):
        if not any(place is not None for place in places):
            continue
        pairs = list(zip(shapes, places, strict=True))
        whole = [drawn(*shape) if at is None else drawn(SEEDS, *shape).movedim(0, at) for shape, at in pairs]
        inputs = [x.clone().requires_grad_() for x in whole]
        made = torch.vmap(kernel, in_dims=places)(*inputs)
        own = [
            [x if at is None else x.select(at, n) for x, at in zip(inputs, places, strict=True)] for n in range(SEEDS)
        ]
        expected = torch.stack([kernel(*of_one) for of_one in own])
        torch.testing.assert_close(made, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(gradients(made, inputs), gradients(expected, inputs), rtol=1e-11, atol=1e-11)


def launches(function, *inputs):
    """How many operations of PyTorch one forward and backward pass starts, those inside others among them."""
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        torch.autograd.grad(function(*inputs).sum(), inputs)
    return sum(event.name.startswith("aten::") for event in profiled.events())


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "sliding DCT"])  # it cuts out each head's window
def test_more_seeds_start_no_more_operations(name, monkeypatch):
    """On a GPU each costs a launch."""
    monkeypatch.setattr(triangles, "PER_SEQUENCE", ())
    kernel, *shapes = KERNELS[name]
    few, many = ([drawn(seeds, *shape).requires_grad_() for shape in shapes] for seeds in (2, 5))
    assert launches(torch.vmap(kernel), *many) == launches(torch.vmap(kernel), *few)


def test_kernels_of_a_gpu_get_contiguous_sequences(monkeypatch):
    """Of one sequence each too, where seeds could be a view."""
    layouts, made = [], relation._arguments
    monkeypatch.setattr(
        relation, "_arguments", lambda p, *others: layouts.append(p.is_contiguous()) or made(p, *others)
    )
    p, q = drawn(SEEDS, 1, 7, 4), drawn(SEEDS, 1, 7, 4, seed=1)
    torch.vmap(lambda p, q: causal_relation_sum(p, q, "relu", "none", 1e-5))(p, q)
    assert layouts
    assert all(layouts)
