"""Embeddings of texts by the last hidden layer of a language model (001-21 to 001-26).

A causal model is trained to predict every token and the end of a text, but no token after that end:

    position       is read at                        trained to predict
    before_last    the text's last token             the end of the text
    last           the end token itself              nothing
    mean           the mean over the text's tokens   the next token of each

Texts are padded with the end token on the side of the model's training. Only the last tokens of a text longer than the
context are read. A model with its own `embedding` (the autoencoder) has no positions.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from allmlp.common.errors import UserError
from allmlp.models.base import SequenceModel

Position = Literal["last", "before_last", "mean"]
Padding = Literal["left", "right"]
Normalisation = Literal["none", "unit", "standardised"]
Tokens = NDArray[np.integer]
AT_ONCE = 1 << 14  # tokens of one pass; the hidden layers of more would fill the memory


@runtime_checkable
class Embedder(Protocol):
    """A model with its own embedding of a sequence."""

    def embedding(self, tokens_BT: Tensor) -> Tensor:
        """(B, T) -> (B, D)."""


def truncate_texts(texts: Sequence[Tokens], context: int, position: Position) -> list[Tokens]:
    """The last tokens of each text, as many as are read besides its end: one fewer if the end is read too.

    texts: ids without an end. A shorter result means that the text was truncated.
    """
    most = context - 1 if position == "last" else context
    return [text[max(0, len(text) - most) :] for text in texts]


def lay_out_texts(
    texts: Sequence[Tokens], context: int, padding: Padding, position: Position, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Token rows (B, context), the index of the last token read in each (B,), and its number of tokens (B,).

    texts: ids without an end. Raises UserError for a text without tokens.
    """
    read = truncate_texts(texts, context, position)
    kept = [np.append(text, end) for text in read] if position == "last" else read
    lengths = np.array([len(row) for row in kept], dtype=np.int64)
    if not all(len(text) for text in texts):
        raise UserError("a text without tokens has no embedding: leave it out of the corpus of pairs")
    tokens_BT = np.full((len(kept), context), end, dtype=np.int64)
    for row, ids, length in zip(tokens_BT, kept, lengths, strict=True):
        row[context - length if padding == "left" else 0 :][:length] = ids
    return tokens_BT, (lengths if padding == "right" else np.full_like(lengths, context)) - 1, lengths


def embed(
    model: SequenceModel, texts: Sequence[Tokens], padding: Padding, position: Position, end: int, device: str = "cpu"
) -> Tensor:
    """The embeddings of `texts`, (N, D) float32 on the CPU, in their order; the model stays as it is."""
    found: list[torch.Tensor] = []
    at_once = max(1, AT_ONCE // model.context)
    order = np.argsort([len(text) for text in texts], kind="stable")  # like lengths together: right padding is cut off
    model = model.to(device).eval()
    with torch.no_grad():
        for start in range(0, len(order), at_once):
            rows = [texts[i] for i in order[start : start + at_once]]
            tokens_BT, at_B, lengths_B = lay_out_texts(rows, model.context, padding, position, end)
            read_B = lengths_B if position == "mean" else np.ones_like(lengths_B)
            found.append(_read(model, torch.from_numpy(tokens_BT).to(device), at_B, read_B).float().cpu())
    embedded_ND = torch.cat(found)
    return embedded_ND[torch.from_numpy(np.argsort(order))]


def _read(model: SequenceModel, tokens_BT: Tensor, at_B: NDArray[np.int64], count_B: NDArray[np.int64]) -> Tensor:
    """The mean of the hidden layer over `count_B` positions up to `at_B`: (B, D)."""
    if isinstance(model, Embedder):
        return model.embedding(tokens_BT)
    # a causal model reads no later position: columns of padding alone are left out
    hidden_BTD = model.hidden(tokens_BT[:, : int(at_B.max()) + 1])
    places_T = np.arange(hidden_BTD.shape[1])
    read_BT = (places_T <= at_B[:, None]) & (places_T > (at_B - count_B)[:, None])
    shares_BT = tokens_BT.new_tensor(read_BT / count_B[:, None], dtype=hidden_BTD.dtype)
    return (shares_BT[:, None] @ hidden_BTD)[:, 0]


def available_device(device: str) -> str:
    """The device that a run was trained on if this machine has one, else cpu."""
    return "cuda" if device == "cuda" and torch.cuda.is_available() else "cpu"


def normalise(embedded_ND: Tensor, normalisation: Normalisation, like_ND: Tensor | None = None) -> Tensor:
    """none: as they are; unit: of length 1; standardised: mean 0, deviation 1 of each feature over `like_ND`.

    like_ND (None: the embeddings themselves) are those of the training split: no statistics of held-out texts.
    """
    if normalisation == "none":
        return embedded_ND
    if normalisation == "unit":
        return embedded_ND / embedded_ND.norm(dim=1, keepdim=True).clamp(min=1e-12)
    like_ND = embedded_ND if like_ND is None else like_ND
    spread_D = like_ND.std(dim=0, correction=0)
    return (embedded_ND - like_ND.mean(dim=0)) / spread_D.clamp(min=1e-6 * float(spread_D.max().clamp(min=1e-12)))
