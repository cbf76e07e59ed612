"""A SentencePiece model that the user gives."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allmlp.common import cores
from allmlp.common.errors import UserError
from allmlp.data.tokenizers.base import MOST_LOST, Tokenizer, encode_in_parts

THREADS = int(os.environ.get("RAYON_NUM_THREADS") or 0) or cores.count()  # the variable of Hugging Face's tokenizers
CUT = re.compile(r"(?<=[a-zA-Z]) (?=[a-zA-Z])")  # the space is in neither part: the model adds it


class PieceTokenizer(Tokenizer):
    """Pieces of a model file; its end-of-sentence piece ends a document."""

    def __init__(self, model_file: Path) -> None:
        import sentencepiece

        self._bytes = model_file.read_bytes()
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_proto=self._bytes)
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{model_file}: not a SentencePiece model ({error}).") from error
        self.vocabulary, self.eod = self._model.vocab_size(), self._model.eos_id()
        if self.eod < 0:
            raise UserError(f"{model_file}: has no end-of-sentence piece, which must end each document.")
        # parts give the whole's tokens if a space is put before every text and no piece spans two words
        spans = any("▁" in self._model.id_to_piece(i).lstrip("▁") for i in range(self.vocabulary))
        one, other, both = self._encode(["a", "b", "a b"])
        self._separable = not spans and np.array_equal(np.concatenate([one, other]), both)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """By the library's threads, with the model's own normalisation. UserError where it knows too little of it."""
        found = encode_in_parts(self._encode, texts, CUT) if self._separable else self._encode(list(texts))
        if (share := self.lost_share(np.concatenate(found), 0) if found else 0.0) > MOST_LOST:
            raise UserError(
                f"tokenizer: {share:.0%} of the pieces stand for text that the SentencePiece model does not know. It "
                "was trained on other text: take `kind: bpe` or `kind: bytes`, or a model of this language."
            )
        return found

    def lost_share(self, ids: np.ndarray, size: int) -> float:
        """The pieces that stand for unknown text."""
        return float(np.mean(ids == self._model.unk_id())) if len(ids) else 0.0

    def _encode(self, texts: list[str]) -> list[np.ndarray]:
        found = self._model.encode(texts, out_type=int, num_threads=THREADS)
        return [np.array(ids, self.dtype) for ids in found]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of the pieces; not the original where the model normalises."""
        return self._model.decode([int(i) for i in ids if i != self.eod])

    def describe(self) -> dict[str, Any]:
        """The kind; the model itself is the file beside the tokens."""
        return {"kind": "sentencepiece"}

    def save(self, folder: Path) -> Path:
        """Write the model file as it was given, as `tokenizer.model`."""
        path = folder / "tokenizer.model"
        path.write_bytes(self._bytes)
        return path
