"""Does a tried mixer read later positions, or other rows of its batch? Asked before anything is trained."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from allmlp.common.errors import UserError
from allmlp.models import audit
from allmlp.models.audit.checks import LeakError, batch_neighbours
from allmlp.models.audit.subject import Subject
from allmlp.pipeline.try_mixer.architecture import FileMixer
from allmlp.pipeline.try_mixer.loading import error_text, line

VOCABULARY = 11  # of the model that is checked


def check(file: Path, hyperparameters: Mapping[str, Any]) -> None:
    """UserError, with the position and the way out, for a mixer that does."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of constants that forward makes
    try:
        with torch.random.fork_rng():
            model = FileMixer(**{**hyperparameters, "vocabulary": VOCABULARY, "n_blocks": 1})
            leak = audit.leak(model)
            with torch.no_grad():
                batch_neighbours(Subject(audit.amplify_weights(model), None))
    except LeakError as found:
        raise UserError(f"{file}: {found}. A row must not read another one: mix along dimension 1 alone.") from found
    except RuntimeError as error:
        raise UserError(
            f"{line(file, error)}: cannot be checked for causality, which is done in float64: {error_text(error)}. "
            "Make constants in the type of x, as in `torch.ones(T, T, dtype=x.dtype)`."
        ) from error
    finally:
        torch.set_default_dtype(before)
    if leak:
        raise UserError(
            f"{file}: is not causal: {leak}. It would read what it is to predict. Let position t read positions up to "
            "t alone, by a mask such as `weight.tril()` or a sum such as `x.cumsum(dim=1)`."
        )
