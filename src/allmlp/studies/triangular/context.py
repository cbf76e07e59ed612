"""How much a model makes of the context that it reads: the loss of what follows another document's text (004-6)."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from allmlp.models.base import SequenceModel
from allmlp.tasks.windows import read
from allmlp.tokens import TokenFile

FIRST = 64  # tokens that are exchanged, or half the context where that is less
WINDOWS = 64  # held-out windows, at most


@torch.no_grad()
def context_gain(model: SequenceModel, file: TokenFile) -> tuple[int, float]:
    """(tokens exchanged, nats): mean loss of the tokens after them, with another document's minus with their own.

    Windows stand in the corpus's order, so each takes the beginning of one half of all windows away. nan where the
    held-out text has fewer than two.
    """
    first = min(FIRST, model.context // 2)
    held_out = file.sequences("validation", model.context + 1)
    count = min(WINDOWS, len(held_out)) // 2 * 2
    if not count:
        return first, float("nan")
    windows = read(held_out, np.linspace(0, len(held_out) - 1, count).astype(np.int64))
    exchanged = windows.clone()
    exchanged[:, :first] = windows[:, :first].roll(count // 2, dims=0)
    return first, float((_losses(model, exchanged, first) - _losses(model, windows, first)).mean())


def _losses(model: SequenceModel, windows: Tensor, first: int) -> Tensor:
    """The loss of every token after the first `first`, nats: (B, T + 1 - first)."""
    parts = [
        F.cross_entropy(model(part[:, :-1])[:, first - 1 :].transpose(1, 2).double(), part[:, first:], reduction="none")
        for part in windows.split(8)
    ]
    return torch.cat(parts)
