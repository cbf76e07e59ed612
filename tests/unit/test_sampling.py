"""Sampling: greedy is the argmax of the full pass, a seed is a sample, and draws follow the softmax."""

import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models.base import SequenceModel
from allmlp.models.sampling import draw, generate
from tests import tiny

STEPWISE = ["causal-rn", "linear-causal-rn", "transformer", "linear-transformer"]
LAST = ["mlp", "gpt2-last"]


def build(name: str) -> SequenceModel:
    torch.manual_seed(0)
    model = models.build(name, **tiny.SIZES.get(name, tiny.COPYING))
    for parameter in model.parameters():  # logits far enough apart that rounding decides nothing
        parameter.data *= 3
    return model.double().eval()


@pytest.mark.parametrize("name", STEPWISE)
def test_greedy_is_the_argmax_of_the_full_pass(name: str) -> None:
    model, prompt = build(name), [0, 5, 9]
    text = prompt + generate(model, prompt, model.context - 3, temperature=0)[0].tolist()
    with torch.no_grad():
        full = model(torch.tensor([text]))[0].argmax(-1)
    assert text[3:] == full[2:-1].tolist()


@pytest.mark.parametrize("name", STEPWISE)
def test_past_the_context_the_last_half_is_read_again(name: str) -> None:
    model, prompt = build(name), [0, 5, 9]
    context = model.context
    text = prompt + generate(model, prompt, 2 * context, temperature=0)[0].tolist()
    first = 0
    with torch.no_grad():
        for end in range(3, len(text)):
            if end - first > context:
                first = end - context // 2
            assert end - first <= context
            assert text[end] == model(torch.tensor([text[first:end]]))[0, -1].argmax()
    assert first > context


def test_a_prompt_longer_than_the_context_counts_by_its_last_half() -> None:
    model = build("transformer")
    long, half = list(range(3, 3 + 2 * model.context - 1)), model.context // 2
    assert torch.equal(generate(model, long, 4, temperature=0), generate(model, long[-half:], 4, temperature=0))


@pytest.mark.parametrize("name", LAST)
def test_models_of_the_last_token_read_a_sliding_window(name: str) -> None:
    model, prompt = build(name), list(b"The cat")
    text = prompt + generate(model, prompt, 9, temperature=0)[0].tolist()
    with torch.no_grad():
        for end in range(7, len(text)):
            assert text[end] == model(torch.tensor([text[end - 7 : end]]))[0].argmax()


@pytest.mark.parametrize("name", LAST)
def test_a_short_prompt_of_a_whole_window_is_filled_or_refused(name: str) -> None:
    model, prompt = build(name), list(b"cat")
    padded = generate(model, [256, 256, 256, 256, *prompt], 5, temperature=0)
    assert torch.equal(generate(model, prompt, 5, temperature=0, pad=256), padded)
    with pytest.raises(UserError, match=r"has 3 tokens, and \w+ reads exactly 7.*`pad`"):
        generate(model, prompt, 5)


@pytest.mark.parametrize("name", ["linear-causal-rn", "transformer", "mlp"])
def test_a_seed_is_a_sample_whatever_stands_beside_it(name: str) -> None:
    model, prompt = build(name), [3] * 7
    several = generate(model, prompt, 12, temperature=2.0, seeds=[4, 5, 4])
    assert torch.equal(several[0], several[2])
    assert not torch.equal(several[0], several[1])
    assert torch.equal(generate(model, prompt, 12, temperature=2.0, seeds=[5])[0], several[1])
    torch.manual_seed(99)
    before = torch.random.get_rng_state()
    generate(model, prompt, 3)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_draws_follow_the_softmax(temperature: float) -> None:
    logits = torch.tensor([0.0, 1.0, -torch.inf, 2.5, -3.0], dtype=torch.float64)
    n, one = 20_000, torch.Generator().manual_seed(1)
    counts = torch.bincount(draw(logits.expand(n, -1), temperature, [one] * n), minlength=5).double()
    expected = n * torch.softmax(logits / temperature, dim=-1)
    assert counts[2] == 0
    seen = expected > 0
    assert ((counts - expected)[seen].square() / expected[seen]).sum() < 25  # 3 degrees of freedom: once in 50,000


def test_a_temperature_near_zero_is_greedy_and_does_not_overflow() -> None:
    logits = torch.tensor([[1e5, 1e5 + 1, -1e5]], dtype=torch.float64)
    assert draw(logits, 1e-300, [torch.Generator().manual_seed(0)]).tolist() == [1]
    ties = torch.tensor([[2.0, 7.0, 7.0]])
    assert draw(ties, 0, []).tolist() == [1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": []}, "prompt: is empty"),
        ({"prompt": [1, 29]}, "token 29 is none of the model's 0 to 28"),
        ({"prompt": [-1]}, "token -1 is none"),
        ({"pad": 77}, "token 77 is none"),
        ({"temperature": -0.1}, "temperature=-0.1: it must be a number from 0"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"temperature": float("inf")}, "temperature=inf"),
        ({"seeds": []}, "seeds: none is given"),
        ({"count": -1}, "count=-1"),
    ],
)
def test_bad_input_is_named(changes: dict, message: str) -> None:
    given = {"prompt": [1, 2], "count": 3} | changes
    with pytest.raises(UserError, match=message):
        generate(build("linear-causal-rn"), given.pop("prompt"), given.pop("count"), **given)


def test_a_diverged_model_is_named_and_not_sampled() -> None:
    model = build("transformer")
    model.unembedding.weight.data[3] = torch.nan
    with pytest.raises(UserError, match="logits are not numbers"):
        generate(model, [1], 2)


def test_a_count_of_zero_draws_nothing() -> None:
    assert generate(build("transformer"), [1], 0, seeds=[1, 2]).shape == (2, 0)
