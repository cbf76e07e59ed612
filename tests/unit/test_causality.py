"""No causal architecture sees the future, and generating token after token is the full pass."""

import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models import audit
from allmlp.models.audit.checks import predict_from_embeddings
from allmlp.models.audit.subject import TINY, build_small

CAUSAL = [name for name in models.REGISTRY if models.load(name).causal]
ABLATIONS = [
    {"activation": activation, "pre_norm": pre_norm, "post_norm": post_norm}
    for activation in ("exp", "relu", "elu")
    for pre_norm in ("exact", "approximate", "none")
    for post_norm in (True, False)
]
GELUS = {"n_heads": 1, "parallel": 2, "parallel_activation": "gelu"}
VARIANTS = {
    **audit.VARIANTS,
    "causal-rn": ABLATIONS,
    "masked-mixer": [*audit.VARIANTS["masked-mixer"], GELUS],
}
CASES = [(name, options) for name in CAUSAL for options in [{}, *VARIANTS.get(name, [])]]


def random_tokens(batch, length, seed=0):
    return torch.randint(11, (batch, length), generator=torch.Generator().manual_seed(seed))


def test_the_four_models_of_002_are_causal():
    assert {"causal-rn", "linear-causal-rn", "transformer", "linear-transformer"} <= set(CAUSAL)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_no_architecture_sees_the_future(name, options):
    model, tokens = build_small(name, **options), random_tokens(batch=2, length=12)
    changed = tokens.clone()
    changed[:, 7:] = random_tokens(batch=2, length=5, seed=1)
    assert torch.equal(model(tokens)[:, :7], model(changed)[:, :7])
    assert not torch.equal(model(tokens)[:, 7:], model(changed)[:, 7:])


@pytest.mark.parametrize("name", CAUSAL)
def test_every_position_sees_all_of_its_past(name):
    model, tokens = build_small(name), random_tokens(batch=1, length=12)
    for position in range(12):
        changed = tokens.clone()
        changed[0, position] = (tokens[0, position] + 1) % 11
        differs = (model(tokens) - model(changed)).abs().amax(-1)[0] > 1e-9
        assert differs.tolist() == [t >= position for t in range(12)]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_no_gradient_comes_back_from_the_future(name, options):
    subject = audit.Subject(build_small(name, **options), pad=None)
    audit.later_gradients(subject)
    embedded, logits = predict_from_embeddings(subject)
    logits[0, 6].square().sum().backward()
    assert embedded.grad[0, 7:].eq(0).all()
    assert embedded.grad[0, 6].abs().amin() > 0


@pytest.mark.parametrize(("name", "options"), CASES)
def test_generation_step_by_step_is_the_full_pass(name, options):
    model, tokens = build_small(name, **options), random_tokens(batch=3, length=12)
    full, state = model(tokens), model.start(batch=3)
    for t in range(12):
        logits, state = model.step(tokens[:, t], state)
        torch.testing.assert_close(logits, full[:, t], rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(logits, model(tokens[:, : t + 1])[:, -1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", CAUSAL)
def test_generation_in_single_precision_is_the_full_pass_to_1e_5(name):
    """70 tokens: into a second chunk of linear attention, and past two doublings of what holds the past."""
    torch.manual_seed(0)
    takes = models.hyperparameters(name)
    sizes = {**TINY, "context": 70, "d_model": 32}
    model = models.build(name, **{key: value for key, value in sizes.items() if key in takes}).eval()
    tokens = random_tokens(batch=2, length=70)
    full, state = model(tokens), model.start(batch=2)
    for t in range(70):
        logits, state = model.step(tokens[:, t], state)
        torch.testing.assert_close(logits, full[:, t], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_right_padded_sequences_of_any_length_are_each_alone(name, options):
    model, tokens = build_small(name, **options), random_tokens(batch=3, length=12)
    logits = model(tokens)
    for row, length in enumerate((12, 7, 1)):
        alone = model(tokens[row : row + 1, :length])
        torch.testing.assert_close(logits[row, :length], alone[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_two_continuations_of_one_prompt_do_not_meet(name, options):
    model = build_small(name, **options)
    with torch.no_grad():
        _, prompt = model.step(torch.tensor([3]), model.start(batch=1))
        states, logits = [prompt, prompt], [[], []]
        for t in range(1, 6):
            for side, token in enumerate((t, 10 - t)):
                row, states[side] = model.step(torch.tensor([token]), states[side])
                logits[side].append(row)
        for side, tokens in enumerate(([3, 1, 2, 3, 4, 5], [3, 9, 8, 7, 6, 5])):
            full = model(torch.tensor([tokens]))[0, 1:]
            torch.testing.assert_close(torch.cat(logits[side]), full, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_where_sums_factorise_the_memory_does_not_grow(name, options):
    factorises = options.get("activation", "exp") == "exp" and options.get("pre_norm", "exact") != "exact"
    if not (name.startswith("linear-") or (name == "causal-rn" and factorises)):
        pytest.skip("its memory grows with the past")
    model = build_small(name, **options)
    state, sizes = model.start(batch=2), set()
    for _ in range(12):
        _, state = model.step(torch.tensor([1, 2]), state)
        leaves = torch.utils._pytree.tree_leaves(state.blocks)
        sizes.add(sum(leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor)))
    assert len(sizes) == 1


def test_a_state_can_be_continued_twice():
    """Sampling several continuations of one prompt: a step leaves the state that it is given as it was."""
    for name in CAUSAL:
        model = build_small(name)
        _, state = model.step(torch.tensor([3]), model.start(batch=1))
        first, _ = model.step(torch.tensor([5]), state)
        model.step(torch.tensor([7]), state)
        again, _ = model.step(torch.tensor([5]), state)
        assert torch.equal(first, again)


def test_generation_ends_with_the_context():
    model = build_small("causal-rn")
    state = model.start(batch=1)
    for _ in range(12):
        _, state = model.step(torch.tensor([0]), state)
    with pytest.raises(UserError, match="at most 12 tokens and was given 13"):
        model.step(torch.tensor([0]), state)


def test_a_model_that_is_not_causal_cannot_generate():
    with pytest.raises(UserError, match="not causal"):
        build_small("gpt2-last").start(batch=1)
