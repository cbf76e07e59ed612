"""The triangular feed-forward model against its paper's formulas in float64 (004)."""

import pytest
import torch
from torch.nn import functional as F

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models.triangular import FORMS, MASKS, TriangularMixing, averaging_mask
from allmlp.plan import params

TINY = {"vocabulary": 11, "context": 7, "d_model": 6, "n_blocks": 2}  # 6 x 7 numbers: rows of a reshape cross tokens
CASES = [(form, layers, mask) for form in FORMS for layers in (1, 2) for mask in MASKS]


def tiny(**options):
    """The model at a size for tests, every weight large enough to matter."""
    torch.manual_seed(0)
    model = models.build("triangular", **{**TINY, **options}).double()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return model


def tokens(length=7, seed=0):
    return torch.randint(11, (2, length), generator=torch.Generator().manual_seed(seed))


def mixed(x_BTD, mixing):
    """The paper's x W^T over time, triangle after triangle; with "reshape" as the published code has it."""
    B, T, D = x_BTD.shape
    rows = x_BTD.transpose(1, 2) if mixing.form == "transpose" else x_BTD.reshape(B, D, T)
    for triangle in mixing.triangles:
        weight = triangle.weight.tril()
        if triangle.mask == "averaging":
            weight = weight * averaging_mask(T)
        rows = rows @ weight.T
    return rows.transpose(1, 2) if mixing.form == "transpose" else rows.reshape(B, T, D)


def test_the_paper_s_model_has_its_weights_to_the_digit():
    with torch.device("meta"):
        model = models.build("triangular", vocabulary=1092, context=430, d_model=768, n_blocks=17)
        one = models.build("triangular", vocabulary=1092, context=430, d_model=768, n_blocks=17, layers=1)
    assert sum(weight.numel() for weight in model.parameters()) == 36_297_036
    assert sum(weight.numel() for weight in model.parameters()) - 17 * 430**2 == sum(
        w.numel() for w in one.parameters()
    )
    assert sum(weight.numel() for weight in one.parameters()) == pytest.approx(33.15e6, abs=5e3)


def test_the_averaging_mask_is_figure_1_and_the_discount_favours_the_latest():
    mask = averaging_mask(5)
    for t in range(5):
        assert mask[t].tolist() == pytest.approx([1 / (t + 1)] * (t + 1) + [0.0] * (4 - t))
    discounted = averaging_mask(5, 0.5)
    assert discounted.sum(dim=1).tolist() == pytest.approx([1.0] * 5)
    assert discounted[2].tolist() == pytest.approx([1 / 7, 2 / 7, 4 / 7, 0, 0])


@pytest.mark.parametrize(("form", "layers", "mask"), CASES)
def test_the_mixing_is_the_papers_formula(form, layers, mask):
    torch.manual_seed(0)
    mixing = TriangularMixing(6, 7, layers=layers, mask=mask, form=form).double()
    x_BTD = torch.randn(2, 7, 6, dtype=torch.float64)
    torch.testing.assert_close(mixing(x_BTD), mixed(x_BTD, mixing), rtol=1e-12, atol=1e-12)
    assert sum(weight.numel() for weight in mixing.parameters()) == layers * 49, "no bias over time"


def test_the_whole_model_is_the_papers():
    model = tiny(activation="sine")
    x = model.wte(tokens()) + model.wpe.weight
    x = model.embedding_map(F.layer_norm(x, x.shape[-1:], model.embedding_norm.weight, model.embedding_norm.bias))
    for block in model.blocks:
        x = block.norm(x)
        x = x + mixed(x, block.mixer)
        x = block.feed_forward_norm(x)
        x = x + torch.sin(x @ block.expand.weight.T + block.expand.bias) @ block.out.weight.T + block.out.bias
    expected = model.norm(x) @ model.unembedding.weight.T + model.unembedding.bias
    torch.testing.assert_close(model(tokens()), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("form", "layers", "mask"), CASES)
def test_no_form_reads_the_future_and_every_form_generates(form, layers, mask):
    model = tiny(form=form, layers=layers, mask=mask)
    read, changed = tokens(), tokens()
    changed[:, 4:] = tokens(3, seed=1)
    assert torch.equal(model(read)[:, :4], model(changed)[:, :4])
    assert not torch.equal(model(read)[:, 4:], model(changed)[:, 4:])
    state = model.start(batch=2)
    for t in range(7):
        logits, state = model.step(read[:, t], state)
        torch.testing.assert_close(logits, model(read)[:, t], rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(logits, model(read[:, : t + 1])[:, -1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mask", MASKS)
def test_masked_weights_take_no_part_whatever_they_hold(mask):
    torch.manual_seed(0)
    mixing = TriangularMixing(6, 7, layers=2, mask=mask).double()
    x_BTD, outside = torch.randn(2, 7, 6, dtype=torch.float64), torch.ones(7, 7).triu(1).bool()
    before = mixing(x_BTD)
    with torch.no_grad():
        for weight in mixing.parameters():
            weight[outside] = 1e3
    assert torch.equal(mixing(x_BTD), before)
    mixing(x_BTD).square().sum().backward()
    assert all(bool((weight.grad[outside] == 0).all()) for weight in mixing.parameters())


def test_a_mask_on_the_gradient_leaves_the_output_plain():
    torch.manual_seed(0)
    plain, gradient = (TriangularMixing(6, 7, layers=1, mask=mask).double() for mask in ("plain", "gradient"))
    gradient.load_state_dict(plain.state_dict())
    x_BTD = torch.randn(2, 7, 6, dtype=torch.float64)
    torch.testing.assert_close(gradient(x_BTD), plain(x_BTD), rtol=1e-12, atol=1e-12)
    for mixing in (plain, gradient):
        mixing(x_BTD).square().sum().backward()
    (of_plain,), (of_gradient,) = plain.parameters(), gradient.parameters()
    torch.testing.assert_close(of_gradient.grad, of_plain.grad * averaging_mask(7), rtol=1e-12, atol=1e-12)


def test_where_the_width_is_a_multiple_of_the_context_a_reshape_mixes_no_tokens():
    torch.manual_seed(0)
    mixing = TriangularMixing(12, 6, form="reshape").double()
    x_BTD = torch.randn(1, 6, 12, dtype=torch.float64)
    changed = x_BTD.clone()
    changed[:, 2] += 1
    differs = (mixing(x_BTD) - mixing(changed)).abs().amax(dim=(0, 2)) > 0
    assert differs.tolist() == [t == 2 for t in range(6)]


@pytest.mark.parametrize(("options", "slope"), [({}, 0.01), ({"negative_slope": 0.07}, 0.07)])
def test_a_leaky_relu_has_the_slope_that_it_is_given(options, slope):
    model = tiny(activation="leaky-relu", **options)
    x = torch.tensor([-3.0, 2.0], dtype=torch.float64)
    assert model.blocks[0].activation(x).tolist() == pytest.approx([-3 * slope, 2])


def test_every_scale_trains_leaky_relus_of_the_published_slope():
    given = [of for (study, _), of in params.read().settings.items() if study == "triangular"]
    leaky = [
        v.hyperparameters for of in given for v in of.variants.values() if "leaky-relu" in v.hyperparameters.values()
    ]
    assert leaky
    assert {one["negative_slope"] for one in leaky} == {0.07}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mask": "avarage"}, "mask='avarage': it must be one of averaging, gradient, plain"),
        ({"form": "reshap"}, "form='reshap': it must be one of transpose, reshape"),
        ({"layers": 0}, "layers=0: it must be a whole number above 0"),
        ({"discount": 1.5}, "discount=1.5: it must be above 0 and at most 1"),
        ({"mask": "plain", "discount": 0.9}, "discount=0.9: has no effect on mask='plain'"),
        ({"activation": "gelu", "negative_slope": 0.07}, "negative_slope=0.07: has no effect on activation='gelu'"),
        ({"activation": "tanhh"}, "activation='tanhh': it must be one of sine, gelu, relu, leaky-relu"),
    ],
)
def test_wrong_options_are_refused_with_the_right_ones(options, said):
    with pytest.raises(UserError, match=said.replace("(", r"\(")):
        models.build("triangular", **TINY, **options)


def test_a_text_longer_than_the_context_is_refused():
    with pytest.raises(UserError, match="at most 7 tokens and was given 8"):
        tiny()(tokens(8))
