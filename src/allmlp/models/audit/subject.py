"""The subject of an audit: a model in float64, rows of inputs for it, and alterations of a row."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from allmlp import models
from allmlp.models.base import SequenceModel

TINY = {"vocabulary": 11, "context": 12, "d_model": 8, "n_blocks": 2, "n_heads": 2, "d_mlp": 16, "features": 4}
PAD = 10  # the last token of the tiny vocabulary
TOLERANCE = 1e-9  # of the largest prediction: rounding in float64 is far less, a leak far more
MOST_POSITIONS = 12  # positions that are altered or differentiated, evenly spaced


@dataclass(frozen=True)
class Subject:
    """A model in float64 and eval mode, and the token that pads its rows, if any."""

    model: SequenceModel
    pad: int | None

    def rows(self, batch: int = 1, seed: int = 0) -> Tensor:
        """Full rows of random tokens (batch, T), none of them padding, or of random patches (batch, T, features)."""
        drawn, model = torch.Generator().manual_seed(seed), self.model
        if model.features is not None:
            return torch.randn(batch, model.context, model.features, dtype=torch.float64, generator=drawn)
        return self._token_ids(torch.randint(self._text_tokens, (batch, model.context), generator=drawn))

    def alter_token(self, rows: Tensor, position: int) -> Tensor:
        """The rows with another token, or other numbers, at one position of the first row."""
        changed = rows.clone()
        if rows.is_floating_point():
            changed[0, position] = self.rows(seed=1000 + position)[0, position]
        else:
            number = changed[0, position] - (0 if self.pad is None else (changed[0, position] > self.pad).long())
            changed[0, position] = self._token_ids((number + 1) % self._text_tokens)
        return changed

    def pad_text(self, text: Tensor, before: int) -> Tensor:
        """One row of `before` tokens of padding, then as much of the text as has room."""
        assert self.pad is not None
        padding = text.new_full((1, before), self.pad)
        return torch.cat([padding, text], dim=1)[:, : self.model.context]

    @property
    def _text_tokens(self) -> int:
        return self.model.vocabulary - (self.pad is not None)

    def _token_ids(self, numbers: Tensor) -> Tensor:
        return numbers if self.pad is None else numbers + (numbers >= self.pad)


def amplify_weights(model: SequenceModel) -> SequenceModel:
    """The same model in float64 and eval mode, with weights so large that every path through it matters."""
    torch.manual_seed(0)
    for weight in model.double().eval().parameters():
        torch.nn.init.normal_(weight, std=(weight.shape[-1] if weight.ndim else 1) ** -0.5)
    return model


def build_small(name: str, **options: Any) -> SequenceModel:
    """The architecture `name` at a size for checks, with weights large enough that every path matters."""
    takes = models.hyperparameters(name)
    sizes = {key: TINY[key] for key in takes if key in TINY and (key != "context" or takes[key] != 2)}
    return amplify_weights(models.build(name, **{**sizes, **options}))


def spaced_positions(start: int, end: int) -> list[int]:
    """At most MOST_POSITIONS of start .. end - 1, evenly spaced, with both ends."""
    count = min(MOST_POSITIONS, end - start)
    return sorted({start + round(i * (end - 1 - start) / max(1, count - 1)) for i in range(count)})


def has_changed(a: Tensor, b: Tensor) -> Tensor:
    """Which predictions of two passes differ by more than rounding: (..., V), (..., V) -> (...) bool."""
    scale = torch.stack([a.abs().amax(), b.abs().amax()]).amax()
    return ~((a - b).abs().amax(-1) <= TOLERANCE * scale)  # not a number is a difference
