"""The registry, what every architecture owes to its users, and the initial weights."""

import math
import subprocess
import sys

import pytest
import torch

from allmlp import models
from allmlp.common import recipes
from allmlp.common.errors import UserError
from allmlp.models.base import SequenceModel
from allmlp.models.matchers import Matcher

GIVEN = {"hand-coded-addition"}  # architectures whose weights nobody draws
TINY = {"vocabulary": 11, "context": 6, "d_model": 8, "n_blocks": 2, "n_heads": 2, "d_mlp": 16, "features": 4}


def tiny(name, seed=0, **options):
    """`name` at a size for tests: required values from TINY, and what makes it small; the rest by default."""
    takes = models.hyperparameters(name)
    own = {key: TINY[key] for key in takes if key in TINY and (key != "context" or takes[key] != 2)}
    torch.manual_seed(seed)
    return models.build(name, **{**own, **options}).double().eval()


def inputs_for(model, batch=3, seed=0):
    """Tokens, or patches of an image."""
    generator = torch.Generator().manual_seed(seed)
    if model.features is not None:
        return torch.randn(batch, model.context, model.features, dtype=torch.float64, generator=generator)
    return torch.randint(model.vocabulary, (batch, model.context), generator=generator)


def test_registry_imports_without_torch():
    code = "import sys; from allmlp import models; models.REGISTRY['causal-rn']; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", models.REGISTRY)
def test_every_architecture_keeps_the_contract(name):
    model = tiny(name)
    assert isinstance(model, SequenceModel)
    assert recipes.recipe_number(type(model).__module__) == sys.modules[type(model).__module__].RECIPE >= 1
    assert model.family
    tokens = inputs_for(model)
    shape = (3, model.context) if model.predicts == "all" else (3,)
    assert model(tokens).shape == (*shape, model.vocabulary)
    each = (model.vocabulary,) if isinstance(model, Matcher) else ()  # it reads every candidate
    assert model.hidden(tokens).shape[:-1] == (*shape, *each)


@pytest.mark.parametrize("name", models.REGISTRY)
def test_the_seed_determines_the_weights(name):
    first, again, other = (tiny(name, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first) == (name not in GIVEN)


@pytest.mark.parametrize("name", models.REGISTRY)
def test_unembedding_reads_hidden(name):
    model = tiny(name)
    tokens = inputs_for(model)
    if head := model.linear_head():
        read = torch.nn.functional.linear(model.hidden(tokens), *head)
    elif isinstance(model, Matcher):
        read = model.unembedding(model.hidden(tokens)).squeeze(-1)
    else:  # of modular addition, whose weights are (D, V)
        read = model.hidden(tokens) @ model.W_U
    torch.testing.assert_close(read, model(tokens), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", models.REGISTRY)
def test_gradient_is_finite_and_reaches_every_weight_that_takes_part(name):
    model = tiny(name)
    model(inputs_for(model)).square().sum().backward()
    idle = {key for key, weight in model.named_parameters() if weight.grad is None}
    assert idle == ({"W_Q", "W_K"} if hasattr(model, "W_Q") else set())
    assert all(w.grad.isfinite().all() and w.grad.abs().sum() > 0 for w in model.parameters() if w.grad is not None)


@pytest.mark.slow
@pytest.mark.parametrize("name", models.REGISTRY)
def test_torch_compile_sees_the_same_model(name):
    """Traced without a compiler: forward and backward graph give the same gradients."""
    gradients = []
    for wrap in (lambda model: model, lambda model: torch.compile(model, backend="aot_eager")):
        model = tiny(name)
        wrap(model)(inputs_for(model)).square().sum().backward()
        gradients.append([w.grad for w in model.parameters() if w.grad is not None])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", models.REGISTRY)
def test_context_is_a_limit(name):
    model = tiny(name)
    with pytest.raises(UserError, match=f"{model.context} tokens and was given {model.context + 1}"):
        model(torch.cat([inputs_for(model), inputs_for(model)[:, :1]], dim=1))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("causalrn", {}, "Did you mean 'causal-rn'"),
        ("causal-rn", {"d_modl": 8}, "Did you mean 'd_model'"),
        ("transformer", {"vocabulary": 29, "context": 8}, "needs d_model, n_blocks"),
        ("causal-rn", {**TINY, "activation": "gelu"}, "one of exp, relu, elu"),
        ("causal-rn", {**TINY, "pre_norm": "nearly"}, "one of exact, approximate, none"),
        ("causal-rn", {**TINY, "post_norm": "no"}, "true or false"),
        ("causal-rn", {**TINY, "eps": -1.0}, "eps=-1.0"),
        ("transformer", {**TINY, "n_heads": 3}, "d_model=8: does not divide among n_heads=3"),
        ("mlp", {**TINY, "d_mlp": 0}, "d_mlp=0"),
        ("constant-attention", {"vocabulary": 59, "context": 3}, "context is 2"),
    ],
)
def test_wrong_requests_fail_at_once_and_name_the_way_out(name, options, message):
    if name in models.REGISTRY:
        takes = models.hyperparameters(name)
        options = {k: v for k, v in options.items() if k in takes or k == "d_modl"}
    with pytest.raises(UserError, match=message):
        models.build(name, **options)


def test_mlp_embedding_std_is_a_hyperparameter():
    shape = {"vocabulary": 500, "d_model": 64, "context": 2}
    assert tiny("mlp", **shape).embedding.weight.std().item() == pytest.approx(1, rel=0.03)
    assert tiny("mlp", **shape, embedding_std=0.02).embedding.weight.std().item() == pytest.approx(0.02, rel=0.03)


@pytest.mark.parametrize(("name", "connections"), [("causal-rn", 4), ("linear-causal-rn", 4), ("transformer", 8)])
def test_initial_weights_of_002(name, connections):
    model = tiny(name, vocabulary=300, context=200, d_model=96, n_blocks=4)
    for key, weight in model.named_parameters():
        if key.endswith("bias"):
            assert weight.eq(0).all()
            continue
        std = 1.0 if key in ("wte.weight", "wpe.weight") else 0.02
        std /= math.sqrt(connections) if key.endswith(".out.weight") else 1
        assert weight.std().item() == pytest.approx(std, rel=0.05), key


def test_initial_weights_of_003():
    model = tiny("constant-attention", vocabulary=59, d_model=128, n_heads=4, d_mlp=512)
    for key, weight in model.named_parameters():
        expected = 0 if key.startswith("b_") else 0.8 / math.sqrt(128)
        assert weight.std().item() == pytest.approx(expected, rel=0.15), key
