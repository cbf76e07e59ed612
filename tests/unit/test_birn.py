"""Bidirectional relation networks against equation 6 in float64, and what every image classifier owes to its users."""

import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models.attention import SoftmaxAttention
from allmlp.models.birn import BidirectionalRelation, LinearBidirectionalRelation, linear_relation_sum, relation_sum
from allmlp.models.causal_rn import CausalRelation
from allmlp.models.classifiers import BidirectionalLinearAttention
from allmlp.models.flops import counted_flops, parameters
from allmlp.models.layers import PlainNorm
from allmlp.models.patches import PatchClassifier
from allmlp.plan import params
from tests.tensors import inputs, ln0, randomised

CLASSIFIERS = ["birn", "linear-birn", "transformer-classifier", "linear-transformer-classifier"]
SIZE = {"vocabulary": 5, "context": 6, "features": 4, "d_model": 8, "n_blocks": 2}


def pairwise(p, q, term):
    """sum over all i of term(p_i, q_j), pair by pair."""
    T = p.shape[1]
    return torch.stack([sum(term(p[:, i], q[:, j]) for i in range(T)) for j in range(T)], 1)


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("kind", [BidirectionalRelation, LinearBidirectionalRelation])
def test_the_mixers_are_equation_6(kind, eps):
    mixer, x = randomised(kind(8, 5, eps=eps)), inputs(2, 5, 8)
    p, q = x @ mixer.left.weight.T, x @ mixer.right.weight.T + mixer.right.bias
    if kind is BidirectionalRelation:
        mean = pairwise(p, q, lambda p_i, q_j: torch.exp(ln0(p_i + q_j, eps))) / 5
        tolerance = 1e-10
    else:
        mean = pairwise(ln0(p, eps), ln0(q, eps), lambda p_i, q_j: torch.exp(p_i + q_j)) / 5
        tolerance = 1e-10 if eps == 0 else 1e-3  # the stable form is exact as far as the post-norm's eps is 0 (002-6)
    expected = ln0(mean, eps) @ mixer.out.weight.T + mixer.out.bias
    assert mixer.left.weight.shape == (32, 8)  # four times as wide as published
    torch.testing.assert_close(mixer(x), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_gradients_of_the_sums_are_those_of_finite_differences(length):
    p, q = inputs(2, length, 4, seed=4).requires_grad_(), inputs(2, length, 4, seed=5).requires_grad_()
    assert torch.autograd.gradcheck(lambda p, q: relation_sum(p, q, 1e-5), (p, q))
    # the divisor of the linear form counts as a constant; behind a norm it has no effect, and no gradient is lost
    assert torch.autograd.gradcheck(lambda p, q: ln0(linear_relation_sum(p, q), 0.0), (p, q))


def test_the_sum_of_pairs_holds_no_array_of_all_pairs():
    """What autograd keeps of a longer sum is inputs and results, not pairs times features."""
    T, D, kept = 64, 32, []
    p, q = inputs(1, T, D, seed=1).requires_grad_(), inputs(1, T, D, seed=2).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.numel()), lambda x: x):
        relation_sum(p, q, 1e-5)
    assert sum(kept) < T * T * D / 4


def test_linear_form_survives_what_overflows():
    p, q = 300 * inputs(1, 9, 4, seed=1), 300 * inputs(1, 9, 4, seed=2)
    p.requires_grad_()
    y = linear_relation_sum(p, q)
    y.sum().backward()
    plain = q + torch.logsumexp(p, 1, keepdim=True)
    torch.testing.assert_close(y, torch.exp(plain - plain.amax(-1, keepdim=True)))
    assert p.grad.isfinite().all()


def test_bidirectional_linear_attention_is_its_formula():
    mixer, x, joined = randomised(BidirectionalLinearAttention(8, 5, n_heads=2)), inputs(2, 5, 8), []
    for q, k, v in zip(*(part.chunk(2, -1) for part in mixer.qkv(x).chunk(3, -1)), strict=True):
        weights = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).mT
        joined.append(weights / weights.sum(-1, keepdim=True) @ v)
    torch.testing.assert_close(mixer(x), mixer.out(torch.cat(joined, -1)), rtol=0, atol=1e-12)


def tiny(name, **options):
    torch.manual_seed(0)
    return randomised(models.build(name, **{**SIZE, **options}))


def test_a_classifier_is_its_description():
    model, patches = tiny("birn"), inputs(3, 6, 4)
    x = torch.cat([patches @ model.embedding.weight.T + model.embedding.bias, model.cls.expand(3, 1, 8)], 1)
    x = x + model.wpe.weight
    for block in model.blocks:
        assert block.feed_forward is None
        x = x + block.mixer(ln0(x))
    torch.testing.assert_close(model(patches), ln0(x[:, -1]) @ model.unembedding.weight.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_classifier_is_causal_and_every_position_sees_all(name):
    model, patches = tiny(name), inputs(1, 6, 4)
    assert not model.causal
    assert not any(block.mixer.causal for block in model.blocks)
    x = model.residual(patches, 0)
    for position in range(7):
        changed = x.clone()
        changed[:, position] += inputs(8, seed=3)
        mixed, other = (model.blocks[0].mixer(values) for values in (x, changed))
        assert (mixed - other).abs().amax(-1).gt(1e-9).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_without_positions_patches_have_no_order(name):
    model, patches = tiny(name), inputs(2, 6, 4)
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    assert not torch.allclose(model(patches), model(patches[:, order]), rtol=0, atol=1e-6)
    torch.nn.init.zeros_(model.wpe.weight)
    torch.testing.assert_close(model(patches), model(patches[:, order]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["birn", "linear-birn", "linear-transformer-classifier"])
def test_a_model_that_is_not_causal_cannot_generate(name):
    mixer = tiny(name).blocks[0].mixer
    with pytest.raises(UserError, match="not causal"):
        mixer.start(torch.zeros(1, 8))
    with pytest.raises(UserError, match="not causal"):
        mixer.step(torch.zeros(1, 8), None)


@pytest.mark.parametrize("mixer", [CausalRelation, SoftmaxAttention, BidirectionalRelation])
def test_a_classifier_takes_any_mixer_and_its_class_token_sees_every_patch(mixer):
    model = randomised(PatchClassifier(**SIZE, mixer=mixer, norm=lambda: PlainNorm(1e-5)))
    patches = inputs(1, 6, 4)
    for position in range(6):
        changed = patches.clone()
        changed[:, position] += 1
        assert not torch.allclose(model(patches), model(changed), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_half_precision_stays_near_single_precision(name):
    torch.manual_seed(0)
    model, patches = models.build(name, **SIZE), inputs(2, 6, 4).float()
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(patches)
    torch.testing.assert_close(logits.float(), model(patches), rtol=0, atol=0.05)
    logits.sum().backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_a_relation_of_four_widths_has_a_transformer_block_s_weights():
    """12 D^2 and biases: so did the published networks of 768 features and 3,072 hidden ones compare."""
    blocks = [
        sum(
            w.numel()
            for key, w in models.build(name, **SIZE).named_parameters()
            if key.startswith("blocks") and w.ndim == 2
        )
        for name in CLASSIFIERS
    ]
    assert blocks == [2 * 12 * 8 * 8] * 4
    count = parameters(models.build("birn", **SIZE))
    assert (count["positions"], count["unembedding"], count["token_embedding"]) == (7 * 8, 5 * 8, 0)


def test_counted_operations_of_images():
    B, T, D, E, V = 3, 7, 8, 32, 5
    linear = 3 * 2 * T * D * E
    ends = 2 * 6 * 4 * D + 2 * D * V
    assert counted_flops(models.build("linear-birn", **SIZE), B) == 3 * B * (2 * linear + ends)


def test_initial_weights():
    model = models.build("birn", **{**SIZE, "features": 12, "d_model": 96, "n_blocks": 4, "context": 64})
    for key, weight in model.named_parameters():
        if key.endswith("bias"):
            assert weight.eq(0).all()
            continue
        std = {"wpe.weight": 1.0, "cls": 1.0, "embedding.weight": 12**-0.5}.get(key, 0.02)
        std /= 2 if key.endswith(".out.weight") else 1
        assert weight.std().item() == pytest.approx(std, rel=0.3 if key == "cls" else 0.06), key


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_published_map_of_patches_has_no_bias_and_small_weights(name):
    torch.manual_seed(0)
    wide = {**SIZE, "features": 12, "d_model": 96}
    model = models.build(name, **wide, embedding_bias=False, embedding_std=0.02)
    assert model.embedding.bias is None
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert model.wpe.weight.std().item() == pytest.approx(1, rel=0.1)


def test_every_image_run_of_002_embeds_patches_as_published():
    given = [of for (study, _), of in params.read().settings.items() if study == "copying"]
    images = [part for of in given for part in (of.images, of.photographs) if part]
    assert images
    for part in images:
        for name in CLASSIFIERS:
            if name in part.models:
                asked = part.models[name].hyperparameters
                assert (asked["embedding_bias"], asked["embedding_std"]) == (False, 0.02)


def test_patches_of_another_size_are_refused():
    with pytest.raises(UserError, match="patches of 4 numbers and was given 3"):
        models.build("birn", **SIZE)(torch.zeros(1, 6, 3))
    with pytest.raises(UserError, match="exactly 6 tokens and was given 5"):
        models.build("birn", **SIZE)(torch.zeros(1, 5, 4))
