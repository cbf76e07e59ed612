"""Positions that no loss asks for are not computed: all others, and all gradients, are as if they were."""

from functools import partial

import pytest
import torch

from allmlp import models
from allmlp.data.tasks.task import IGNORED, Batch
from allmlp.models import audit
from allmlp.models.audit.subject import PAD, build_small
from allmlp.models.backbone import Backbone
from allmlp.models.layers import PlainNorm
from allmlp.models.ragged import RaggedLayout, select_rows
from allmlp.training.loss import Loss, cross_entropy

READING_TOKENS = [
    name
    for name in models.REGISTRY
    if models.load(name).predicts == "all" and "features" not in models.hyperparameters(name)
]
CASES = [(name, options) for name in READING_TOKENS for options in [{}, *audit.VARIANTS.get(name, [])]]
CASES += [("masked-mixer", {"n_heads": 2, "parallel": 2, "parallel_activation": "gelu"})]
PADDED = [name for name in READING_TOKENS if "pad" in models.hyperparameters(name)]

B, T = 4, 12
SHAPES = {
    "padded on the right": [range(5), range(12), range(1), range(8)],
    "from the middle": [range(3, 7), range(6, 9), range(11, 12), range(2, 10)],
    "with gaps": [[0, 3], [1, 2, 8], [5], [0, 11]],
    "rows of none": [[], [], range(2), range(9)],
    "all": [range(12)] * 4,
    "none": [[], [], [], []],
}


def asked(rows):
    at = torch.zeros(B, T, dtype=torch.bool)
    for row, places in zip(at, rows, strict=True):
        row[list(places)] = True
    return at


def with_gradients(model, states):
    """The states, and the gradients of a sum in which each number has a weight of its own."""
    model.zero_grad()
    weights = torch.linspace(1, 2, states.numel(), dtype=states.dtype).view_as(states)
    (states.square() * weights).sum().backward()
    gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return states.detach(), gradients


def assert_agreement(model, tokens, at):
    torch.manual_seed(0)
    expected, expected_gradients = with_gradients(model, model.hidden(tokens)[at])
    torch.manual_seed(0)
    found, gradients = with_gradients(model, model.select_hidden_states(tokens, at))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)
    for name, gradient in expected_gradients.items():
        own = gradients.get(name, torch.zeros_like(gradient))
        torch.testing.assert_close(own, gradient, rtol=1e-8, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_states_asked_for_are_those_of_the_full_pass(name, options, shape):
    model, at = build_small(name, **options), asked(SHAPES[shape])
    tokens = torch.randint(model.vocabulary - 1, (B, T), generator=torch.Generator().manual_seed(3))
    assert_agreement(model, tokens[:, : model.context], at[:, : model.context])


@pytest.mark.parametrize("name", PADDED)
@pytest.mark.parametrize("supervised", ["text", "its end", "padding too"])
def test_the_states_after_left_padding_are_those_of_the_full_pass(name, supervised):
    model = build_small(name, pad=PAD)
    tokens = torch.randint(PAD, (B, T), generator=torch.Generator().manual_seed(3))
    begins = [0, 4, 11, 12]  # the last row is all padding
    for row, begin in zip(tokens, begins, strict=True):
        row[:begin] = PAD
    rows = {"text": [range(b, 12) for b in begins], "its end": [[11]] * 3 + [[]], "padding too": [range(2, 12)] * 4}
    assert_agreement(model, tokens, asked(rows[supervised]))


def rows_of(model, tokens, at):
    """Rows that each feed-forward layer and each token mixer's last map sees."""
    seen = []
    for block in model.blocks:
        for layer in (block.feed_forward, block.mixer.out if hasattr(block.mixer, "qkv") else None):
            if layer is not None:
                layer.register_forward_hook(lambda _, x, y: seen.append(x[0].numel() // x[0].shape[-1]))
    model.select_hidden_states(tokens, at)
    return set(seen)


@pytest.mark.parametrize(("name", "options"), [("masked-mixer", {}), ("hybrid", {}), ("llama", {})])
def test_layers_of_single_tokens_see_no_padding(name, options):
    at = asked(SHAPES["padded on the right"])
    assert rows_of(build_small(name, **options), torch.zeros(B, T, dtype=torch.int64), at) == {5 + 12 + 1 + 8}


def test_llama_sees_no_padding_on_the_left():
    tokens = torch.full((2, T), PAD)
    tokens[0, 3:], tokens[1, 10:] = 1, 2
    assert rows_of(build_small("llama", pad=PAD), tokens, tokens != PAD) == {9 + 2}


class Louder(models.load("transformer")):  # type: ignore[misc]
    """An architecture with states of its own."""

    def hidden(self, tokens_BT):
        return 3 * super().hidden(tokens_BT)


def test_an_architecture_with_states_of_its_own_computes_all_of_them():
    torch.manual_seed(0)
    model = Louder(vocabulary=11, context=T, d_model=8, n_blocks=1).double()
    assert_agreement(model, torch.randint(11, (B, T)), asked(SHAPES["padded on the right"]))


class Running(torch.nn.Module):
    """A mixer as `allmlp try` takes it: any module."""

    def __init__(self, d_model, context):
        super().__init__()
        self.out = torch.nn.Linear(d_model, d_model)

    def forward(self, x_BTD):
        return self.out(x_BTD.cumsum(1))


def test_a_mixer_may_be_any_module():
    torch.manual_seed(0)
    model = Backbone(vocabulary=11, context=T, d_model=8, n_blocks=2, mixer=Running, norm=partial(PlainNorm, 1e-5))
    assert_agreement(model.double(), torch.randint(11, (B, T)), asked(SHAPES["with gaps"]))


def test_rows_are_laid_out_from_the_first_column_and_repeat_at_the_end():
    x = torch.arange(24.0).view(3, 8, 1)
    kept = torch.zeros(3, 8, dtype=torch.bool)
    kept[0, 2:5], kept[2, 7:] = True, True
    ragged = RaggedLayout(kept)
    rows = ragged.take_rows(x)
    assert rows[:, 0].tolist() == [2, 3, 4, 23]
    assert ragged.places_N.tolist() == [2, 3, 4, 7]
    laid_out = ragged.lay_out_rows(rows)
    assert laid_out[[0, 2], :, 0].tolist() == [[2, 3, 4], [23, 23, 23]]
    assert torch.equal(ragged.rows(laid_out), rows)


def test_rows_at_is_the_index_and_so_is_its_gradient():
    x = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    at = torch.rand(3, 4, generator=torch.Generator().manual_seed(1)) < 0.5
    assert torch.equal(select_rows(x, at), x[at])
    assert torch.autograd.gradcheck(lambda x: select_rows(x, at), x)
    assert select_rows(x, torch.ones(3, 4, dtype=torch.bool)).data_ptr() == x.data_ptr()


class Silent:
    """A task that reads no logits."""

    reads_logits = False


@pytest.mark.parametrize("name", ["masked-mixer", "llama", "transformer", "openai-gpt"])
@pytest.mark.parametrize("training", [True, False])
def test_the_loss_of_padded_rows_is_that_of_all_logits(name, training):
    model = build_small(name).train(training)
    tokens = torch.randint(PAD, (B, T), generator=torch.Generator().manual_seed(3))
    targets = torch.where(asked(SHAPES["padded on the right"]), tokens.roll(-1, 1), IGNORED)
    losses = []
    for of in (
        lambda: Loss(model, Silent, torch.float64)(Batch(tokens, targets))[0],  # type: ignore[arg-type]
        lambda: cross_entropy(model(tokens), targets, torch.float64),
    ):
        torch.manual_seed(0)
        model.zero_grad()
        loss = of()
        loss.backward()
        losses.append((loss.detach(), [weight.grad for weight in model.parameters()]))
    torch.testing.assert_close(*losses, rtol=1e-9, atol=1e-11)
