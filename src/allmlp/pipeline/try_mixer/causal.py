"""Does a tried mixer read later positions, or other rows of its batch? Asked before anything is trained.

In eval mode as the registry's architectures are audited; and in training mode, where a batch norm reads other rows.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from allmlp.common.errors import UserError
from allmlp.models import audit
from allmlp.models.audit.checks import LeakError, batch_neighbours
from allmlp.models.audit.subject import Subject, has_changed, spaced_positions
from allmlp.models.base import SequenceModel
from allmlp.pipeline.try_mixer.architecture import FileMixer
from allmlp.pipeline.try_mixer.loading import error_text, forward_line, line

VOCABULARY = 11  # of the model that is checked


def check(file: Path, hyperparameters: Mapping[str, Any]) -> None:
    """UserError, with the position and the way out, for a mixer that does, or that needs rows of one length."""
    place = forward_line(file)
    try:
        with _float64(), torch.random.fork_rng():
            model = FileMixer(**{**hyperparameters, "vocabulary": VOCABULARY, "n_blocks": 1})
            leak = audit.leak(model)
            amplified = audit.amplify_weights(model)
            with torch.no_grad():
                batch_neighbours(Subject(amplified, None))
    except LeakError as found:
        raise UserError(f"{place}: {found}. A row must not read another one: mix along dimension 1 alone.") from found
    except RuntimeError as error:
        raise UserError(
            f"{line(file, error)}: cannot be checked for causality, which is done in float64: {error_text(error)}. "
            "Make constants in the type of x, as in `torch.ones(T, T, dtype=x.dtype)`."
        ) from error
    if leak:
        raise UserError(
            f"{place}: is not causal: {leak}. It would read what it is to predict. Let position t read positions up to "
            "t alone, by a mask such as `weight.tril()` or a sum such as `x.cumsum(dim=1)`."
        )
    with _float64(), torch.random.fork_rng(), torch.no_grad():
        _check_shorter_rows(file, amplified)
        _check_training_mode(file, amplified)


@contextmanager
def _float64() -> Iterator[None]:
    """Constants that forward makes are in float64, too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _check_shorter_rows(file: Path, model: SequenceModel) -> None:
    """A row's beginning must give what it gives within the whole row."""
    rows, place = Subject(model, None).rows(2), forward_line(file)
    whole = model(rows)
    for n in sorted({1, rows.shape[1] // 2} - {0}):
        try:
            found = model(rows[:, :n])
        except Exception as error:
            raise UserError(
                f"{line(file, error)}: works on {rows.shape[1]} tokens, the whole context, and not on {n}: "
                f"{error_text(error)}. Texts are read while they grow: take T from `x.shape[1]`, and slice what is as "
                "large as the context, as in `weight[:T, :T]`."
            ) from error
        if has_changed(found, whole[:, :n]).any():
            raise UserError(
                f"{place}: gives other numbers for the first {n} of {rows.shape[1]} tokens than for these {n} alone. "
                "Let position t depend on positions up to t, and not on how many follow."
            )


def _check_training_mode(file: Path, model: SequenceModel) -> None:
    """In training mode, with the same random numbers each time: no later token and no other row may matter."""
    model.train()
    subject, place = Subject(model, None), forward_line(file)
    rows, others = subject.rows(4, seed=2), subject.rows(4, seed=3)
    known = _seeded(model, rows)
    changed = others.clone()
    changed[0] = rows[0]
    if has_changed(known[0], _seeded(model, changed)[0]).any():
        raise UserError(
            f"{place}: in training mode, predictions of a row change with the other rows of its batch, as with "
            "BatchNorm. Take a norm over features, such as LayerNorm."
        )
    for source in spaced_positions(1, rows.shape[1]):
        seen = has_changed(known[0, :source], _seeded(model, subject.alter_token(rows, source))[0, :source])
        if seen.any():
            raise UserError(
                f"{place}: is not causal in training mode: position {int(seen.nonzero()[0])} changes with token "
                f"{source}, which comes after it. It would read what it is to predict."
            )


def _seeded(model: SequenceModel, rows: Tensor) -> Tensor:
    torch.manual_seed(0)  # of a dropout
    return model(rows)
