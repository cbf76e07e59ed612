"""Batches are pure functions of seed and step; what is supervised is what the papers say."""

from pathlib import Path

import numpy as np
import pytest
import torch

from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.data.tasks import last_token
from allmlp.data.tasks.copying import BOS, EOS, SEP, Copying
from allmlp.data.tasks.modular import ModularAddition
from allmlp.data.tasks.shuffle import shuffle_positions
from allmlp.data.tasks.task import IGNORED
from allmlp.studies.copying.runs import strings
from tests import tiny


def test_copying_is_bos_string_sep_string_eos() -> None:
    batch = Copying(string_length=5, batch_size=3).batch(seed=0, step=7)
    first, second = batch.tokens[:, 1:6], batch.tokens[:, 7:]
    assert torch.equal(first, second)
    assert (batch.tokens[:, 0] == BOS).all()
    assert (batch.tokens[:, 6] == SEP).all()
    assert (batch.targets[:, :6] == IGNORED).all()
    assert torch.equal(batch.targets[:, 6:11], first)
    assert (batch.targets[:, 11] == EOS).all()
    assert first.min() >= 3
    assert first.max() <= 28


def test_the_copying_vocabulary_is_stated_once_and_the_same() -> None:
    assert Copying.vocabulary == strings.VOCABULARY == 29


def test_string_accuracy_counts_whole_strings_with_their_end() -> None:
    task = Copying(string_length=4, batch_size=2)
    batch = task.batch(0, 0)
    logits = torch.nn.functional.one_hot(batch.targets.clamp(min=0), 29).double()
    assert task.scores(logits, batch) == {"token_accuracy": 1.0, "string_accuracy": 1.0}
    logits[0, -1] = 0
    logits[0, -1, 5] = 1
    assert task.scores(logits, batch) == {"token_accuracy": 0.9, "string_accuracy": 0.5}


@pytest.mark.parametrize("architecture", ["transformer", "mlp", "constant-attention"])
def test_batches_are_pure(architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    name, parameters = tiny.TASKS.get(architecture, ("copying", {"string_length": 4, "batch_size": 4}))
    where = {"tokens": Path("results/tokens/tiny-00000000")} if name == "last-token" else {}
    one, two = (tasks.build(name, **parameters, **where) for _ in range(2))
    later = one.batch(3, 40)
    for step in (0, 41, 40):
        assert torch.equal(one.batch(3, step).tokens, two.batch(3, step).tokens)
    assert torch.equal(one.batch(3, 40).tokens, later.tokens)
    if name != "modular-addition":
        assert not torch.equal(one.batch(4, 40).tokens, later.tokens)
    assert tasks.size(name, parameters) == (len(later.tokens), int((later.targets != IGNORED).sum()))


def test_modular_addition_splits_all_pairs() -> None:
    task = ModularAddition(p=59, train_share=0.8)
    train, (rest,) = task.batch(0, 0), task.validation()
    assert (len(train.tokens), len(rest.tokens)) == (2784, 697)
    assert len(torch.cat([train.tokens, rest.tokens]).unique(dim=0)) == 59 * 59
    assert torch.equal(train.targets, (train.tokens[:, 0] + train.tokens[:, 1]) % 59)


def test_an_epoch_visits_every_window_once(tmp_path: Path) -> None:
    tiny.write_tokens(tmp_path)
    task = tasks.build("last-token", tokens=tmp_path / "results/tokens/tiny-00000000", context=7, batch_size=16)
    batches = [task.batch(0, step) for step in range(task.batches_per_epoch)]  # type: ignore[attr-defined]
    rows = torch.cat([torch.cat([b.tokens, b.targets[:, None]], dim=1) for b in batches])
    held_out = torch.cat([torch.cat([b.tokens, b.targets[:, None]], dim=1) for b in task.validation()])
    assert len(rows) == 16 * task.batches_per_epoch  # type: ignore[attr-defined]
    assert len(held_out) > 0


def test_the_order_is_that_of_the_shuffle_whatever_was_asked_for_before(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(last_token, "AT_ONCE", 48)  # three batches
    tiny.write_tokens(tmp_path)
    task = tasks.build("last-token", tokens=tmp_path / "results/tokens/tiny-00000000", context=7, batch_size=16)
    per_epoch, count = task.batches_per_epoch, len(task._windows.train)  # type: ignore[attr-defined]
    for step in [0, 1, 2, 3, per_epoch - 1, 5, per_epoch, 2 * per_epoch + 4, 0]:
        epoch, position = divmod(step, per_epoch)
        rows = np.sort(shuffle_positions(np.arange(16 * position, 16 * position + 16), count, 3, epoch))
        expected = torch.from_numpy(task._windows.train[rows].astype(np.int64))  # type: ignore[attr-defined]
        found = task.batch(3, step)
        assert torch.equal(torch.cat([found.tokens, found.targets[:, None]], dim=1), expected)


def test_a_corpus_smaller_than_a_batch_is_reported(tmp_path: Path) -> None:
    tiny.write_tokens(tmp_path)
    with pytest.raises(UserError, match=r"windows of 8 tokens are fewer than one batch of 999999"):
        tasks.build("last-token", tokens=tmp_path / "results/tokens/tiny-00000000", context=7, batch_size=999_999)
