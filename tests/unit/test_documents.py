"""The task of documents: every token after a document's first is a target once, and padding never is."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allmlp.common.errors import UserError
from allmlp.data import tasks, tokenizers
from allmlp.data.tasks.documents import cut_pieces, shift_pieces
from allmlp.data.tasks.task import IGNORED
from allmlp.data.tokenizers.specs import Bytes
from allmlp.data.tokens import TokenFile, write_tokens

END = 256
documents = st.lists(st.integers(0, 255), max_size=40).map(lambda ids: np.array([*ids, END], np.uint16))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [f"Story {number}. {'The cat sat. ' * (number % 7)}" for number in range(200)]
    made = tmp_path_factory.mktemp("tokens") / "tiny-00000000"
    write_tokens(texts, tokenizers.fit(Bytes(), texts, made), made, describe={})
    return made


def test_the_worked_example_of_the_docstring() -> None:
    a, b, c, d, e, f = range(6)
    pieces = cut_pieces(np.array([a, b, c, d, e, f, END]), 4)
    assert [piece.tolist() for piece in pieces] == [[a, b, c, d, e], [e, f, END]]
    right, left = (shift_pieces(pieces, 4, END, side) for side in ("right", "left"))
    assert right.tokens.tolist() == [[a, b, c, d], [e, f, END, END]]
    assert right.targets.tolist() == [[b, c, d, e], [f, END, IGNORED, IGNORED]]
    assert left.tokens.tolist() == [[a, b, c, d], [END, END, e, f]]
    assert left.targets.tolist() == [[b, c, d, e], [IGNORED, IGNORED, f, END]]


@given(documents, st.integers(1, 12))
def test_each_token_after_the_first_is_a_target_once_after_the_one_before_it(ids: np.ndarray, context: int) -> None:
    pieces = cut_pieces(ids, context)
    assert all(2 <= len(piece) <= context + 1 for piece in pieces)
    for side in ("left", "right"):
        batch = shift_pieces(pieces, context, END, side)
        chosen = batch.targets != IGNORED
        assert batch.targets[chosen].tolist() == ids[1:].tolist()
        assert batch.tokens[chosen].tolist() == ids[:-1].tolist()


def test_an_epoch_visits_each_piece_once_and_no_batch_depends_on_another(folder: Path) -> None:
    task = tasks.build("documents", tokens=folder, context=16, batch_size=4)
    batches = [task.batch(seed=3, step=step) for step in range(task.batches_per_epoch)]
    again = tasks.build("documents", tokens=folder, context=16, batch_size=4).batch(seed=3, step=7)
    assert torch.equal(again.tokens, batches[7].tokens)
    assert torch.equal(again.targets, batches[7].targets)
    seen = Counter(tuple(row) for batch in batches for row in torch.cat([batch.tokens, batch.targets], 1).tolist())
    every = Counter(
        tuple(row)
        for document in TokenFile(folder).documents("train")
        for row in torch.cat(shift_pieces(cut_pieces(document, 16), 16, END, "right"), 1).tolist()
    )
    assert not seen - every
    assert sum((every - seen).values()) < 4, "only what does not fill a batch is left out"
    assert not torch.equal(task.batch(seed=4, step=0).tokens, batches[0].tokens)
    assert not torch.equal(task.batch(seed=3, step=task.batches_per_epoch).tokens, batches[0].tokens)


@pytest.mark.parametrize("side", ["left", "right"])
def test_validation_is_of_held_out_documents_whole(folder: Path, side: str) -> None:
    held_out = TokenFile(folder).documents("validation")[:5]
    task = tasks.build("documents", tokens=folder, context=16, batch_size=4, padding=side, validation_documents=5)
    targets = torch.cat([batch.targets.flatten() for batch in task.validation()])
    assert targets[targets != IGNORED].tolist() == [token for document in held_out for token in document[1:].tolist()]


def test_size() -> None:
    assert tasks.size("documents", {"context": 64, "batch_size": 4}) == (4, 256)


def test_impossible_settings_are_reported(folder: Path) -> None:
    with pytest.raises(UserError, match="fewer than one batch of 9999"):
        tasks.build("documents", tokens=folder, context=16, batch_size=9999)
    with pytest.raises(UserError, match="padding is 'middle': it must be left or right"):
        tasks.build("documents", tokens=folder, context=16, batch_size=4, padding="middle").batch(0, 0)
