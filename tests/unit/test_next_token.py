"""Next-token windows: shifted by one, each visited once an epoch, in an order that needs no memory."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.data.tasks.next_token import NextToken
from allmlp.data.tasks.shuffle import shuffle_positions
from allmlp.data.tokens import Sequences, TokenFile
from tests import tiny


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    tiny.write_tokens(tmp_path)
    return tmp_path / "results/tokens/tiny-00000000"


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17, 1000, 4097])
def test_shuffled_is_a_permutation_for_every_length_and_key(n: int) -> None:
    for key in [(0, 0), (0, 1), (5, 0)]:
        assert sorted(shuffle_positions(np.arange(n), n, *key).tolist()) == list(range(n))


def test_shuffled_depends_on_seed_and_epoch_and_not_on_what_else_is_asked() -> None:
    n, at = 1000, np.array([3, 999, 0])
    whole = shuffle_positions(np.arange(n), n, 7, 2)
    assert np.array_equal(shuffle_positions(at, n, 7, 2), whole[at])
    assert (shuffle_positions(np.arange(n), n, 8, 2) == whole).mean() < 0.02
    assert (shuffle_positions(np.arange(n), n, 7, 3) == whole).mean() < 0.02


def test_shuffled_looks_random() -> None:
    """Over 4,000 keys each place is equally likely, and neighbours do not stay together: chi squared, correlation."""
    n, keys = 23, 4000
    orders = np.stack([shuffle_positions(np.arange(n), n, key, 0) for key in range(keys)])
    expected = keys / n
    for position in (0, 11, 22):
        chi = ((np.bincount(orders[:, position], minlength=n) - expected) ** 2 / expected).sum()
        assert chi < 60  # 22 degrees of freedom: above 60 once in 50,000
    large = shuffle_positions(np.arange(100_000), 100_000, 0, 0)
    assert abs(np.corrcoef(large[:-1], large[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(np.arange(100_000), large)[0, 1]) < 0.02
    assert (np.abs(np.diff(large)) < 10).mean() < 1e-3


def test_the_order_of_a_corpus_of_half_a_billion_bytes_takes_no_memory() -> None:
    n = 522_243_436 // 257
    tracemalloc.start()
    rows = shuffle_positions(np.arange(320), n, 3, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(set(rows.tolist())) == 320
    assert rows.max() < n
    assert peak < 1 << 18


def whole(windows: Sequences) -> np.ndarray:
    return windows[np.arange(len(windows))].astype(np.int64)


def test_targets_are_the_tokens_shifted_by_one(tokens: Path) -> None:
    task = NextToken(tokens, context=9, batch_size=4)
    batch = task.batch(0, 5)
    assert batch.tokens.shape == batch.targets.shape == (4, 9)
    assert torch.equal(batch.tokens[:, 1:], batch.targets[:, :-1])
    windows = whole(TokenFile(tokens).sequences("train", 10))
    for row, answers in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        assert [*row, answers[-1]] in windows.tolist()


def test_an_epoch_visits_each_window_once_and_the_next_in_another_order(tokens: Path) -> None:
    task = NextToken(tokens, context=9, batch_size=4)
    windows = whole(TokenFile(tokens).sequences("train", 10))[:, :9]
    epochs = [
        torch.cat([task.batch(2, start + step).tokens for step in range(task.batches_per_epoch)])
        for start in (0, task.batches_per_epoch)
    ]
    for seen in epochs:
        there = {tuple(row) for row in windows.tolist()}
        assert len(seen) == 4 * task.batches_per_epoch > len(windows) - 4
        assert {tuple(row) for row in seen.tolist()} <= there
        assert len(seen.unique(dim=0)) >= len(np.unique(windows, axis=0)) - 4
    assert not torch.equal(*epochs)


def test_held_out_windows_are_of_other_documents_and_as_many_as_asked(tokens: Path) -> None:
    held_out = TokenFile(tokens).sequences("validation", 10)
    everything = NextToken(tokens, context=9, batch_size=4).validation()
    assert torch.equal(torch.cat([b.tokens for b in everything]), torch.from_numpy(whole(held_out))[:, :9])
    (some,) = NextToken(tokens, context=9, batch_size=4, validation_tokens=20).validation()
    assert some.tokens.shape == (2, 9)
    assert NextToken(tokens, context=9, batch_size=4, validation_tokens=1).validation()[0].tokens.shape == (1, 9)


def test_size() -> None:
    assert tasks.size("next-token", {"context": 9, "batch_size": 4, "validation_tokens": 20}) == (4, 36)


def test_a_corpus_smaller_than_a_batch_is_reported(tokens: Path) -> None:
    with pytest.raises(UserError, match=r"windows of 10 tokens are fewer than one batch of 999999"):
        NextToken(tokens, context=9, batch_size=999_999)
