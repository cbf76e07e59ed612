"""Recall at long range: what is asked for was told once, far before, and nothing else gives it away."""

import pytest
import torch

from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.data.tasks.recall import FILLERS, Recall
from allmlp.data.tasks.task import IGNORED

SYMBOLS = 32
FIRST_KEY, FIRST_VALUE = FILLERS, FILLERS + SYMBOLS
MULTI = {"context": 64, "n_pairs": 12, "n_queries": 5, "batch_size": 32}
SINGLE = {"context": 32, "n_pairs": 4, "n_queries": 1, "batch_size": 32}


def is_key(token: int) -> bool:
    return FIRST_KEY <= token < FIRST_VALUE


@pytest.mark.parametrize("parameters", [MULTI, SINGLE])
def test_every_query_is_answered_by_the_pair_far_before_it(parameters: dict[str, int]) -> None:
    batch = Recall(**parameters).batch(seed=3, step=7)
    T = parameters["context"]
    for tokens, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        told = {tokens[i]: (tokens[i + 1], i + 1) for i in range(T // 2 - 1) if is_key(tokens[i])}
        asked = [i for i, target in enumerate(targets) if target != IGNORED]
        assert len(told) == parameters["n_pairs"]
        assert len(asked) == parameters["n_queries"]
        assert len({tokens[i] for i in asked}) == len(asked), "each key is asked for once"
        for i in asked:
            value, at = told[tokens[i]]
            assert targets[i] == value
            assert i - at > T // 4
            assert FIRST_VALUE <= value < FIRST_VALUE + SYMBOLS
        rest = set(range(T)) - set(asked) - {at - d for _, at in told.values() for d in (0, 1)}
        assert all(tokens[i] < FILLERS for i in rest)


def test_the_single_form_asks_with_its_last_token_for_either_kind_of_model() -> None:
    everywhere, last = (Recall(**SINGLE, predicts=kind).batch(0, 1) for kind in ("all", "last"))  # type: ignore[arg-type]
    assert torch.equal(everywhere.tokens, last.tokens)
    assert torch.equal(everywhere.targets[:, -1], last.targets)
    assert everywhere.targets[:, :-1].eq(IGNORED).all()
    assert last.tokens[:, -1].ge(FIRST_KEY).all()


def test_a_batch_is_a_function_of_seed_and_step_and_never_one_that_is_held_out() -> None:
    task = Recall(**MULTI)
    assert torch.equal(task.batch(1, 2).tokens, Recall(**MULTI).batch(1, 2).tokens)
    batches = [task.batch(1, 2), task.batch(1, 3), task.batch(2, 2), *task.validation()]
    assert len({batch.tokens.numpy().tobytes() for batch in batches}) == len(batches)


def test_values_do_not_depend_on_keys_or_places() -> None:
    """The best answer without looking back is one of `symbols` equally likely ones."""
    task = Recall(**{**SINGLE, "batch_size": 4096})
    targets = task.batch(0, 0).targets[:, -1] - FIRST_VALUE
    counts = torch.bincount(targets, minlength=SYMBOLS)
    assert counts.max() < 2 * len(targets) / SYMBOLS


def test_scores_count_queries_alone() -> None:
    task = Recall(**MULTI)
    batch = task.batch(0, 0)
    logits = torch.nn.functional.one_hot(batch.targets.clamp(min=0), task.vocabulary).double()
    assert task.scores(logits, batch) == {"accuracy": 1.0}
    assert task.scores(logits.roll(1, dims=-1), batch) == {"accuracy": 0.0}


def test_size_is_known_without_a_batch() -> None:
    batch = Recall(**MULTI).batch(0, 0)
    assert tasks.size("recall", MULTI) == (len(batch.tokens), int((batch.targets != IGNORED).sum()))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_pairs": 17}, "32 keys have room for 1 to 16 pairs"),
        ({"n_pairs": 0}, "32 keys have room for 1 to 16 pairs"),
        ({"n_queries": 13}, "12 pairs can be asked for 1 to 12 times"),
        ({"predicts": "last"}, "answers one query"),
    ],
)
def test_sizes_that_do_not_fit_are_reported(change: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        tasks.build("recall", **{**MULTI, **change})


def test_addition_for_models_that_predict_every_token() -> None:
    plain = tasks.build("modular-addition", p=7, train_share=0.8)
    causal = tasks.build("modular-addition-causal", p=7, train_share=0.8)
    a, b = plain.batch(0, 0), causal.batch(0, 0)
    assert torch.equal(a.tokens, b.tokens)
    assert torch.equal(a.targets, b.targets[:, 1])
    assert b.targets[:, 0].eq(IGNORED).all()
    logits = torch.nn.functional.one_hot(b.targets.clamp(min=0), 7).double()
    assert causal.scores(logits, b) == {"accuracy": 1.0}
    assert tasks.size("modular-addition-causal", {"p": 7, "train_share": 0.8}) == (39, 39)


@pytest.mark.parametrize(("n_pairs", "n_queries"), [(2, 1), (4, 4), (4, 2)])
def test_the_guess_without_keys_is_the_commonest_value(n_pairs: int, n_queries: int) -> None:
    task = Recall(context=32, n_pairs=n_pairs, n_queries=n_queries, batch_size=8192, symbols=8)
    batch = task.batch(5, 0)
    values = torch.where(batch.tokens >= FILLERS + 8, batch.tokens, -1)
    commonest = torch.stack([torch.mode(row[row >= 0]).values for row in values])
    supervised = batch.targets != IGNORED
    right = ((batch.targets == commonest[:, None]) & supervised).sum() / supervised.sum()
    assert task.baseline_accuracy(batch) == pytest.approx(right.item(), abs=0.01)
    if n_pairs == 2:
        assert task.baseline_accuracy(batch) == pytest.approx(9 / 16, abs=0.01), "two values, alike once in eight"
