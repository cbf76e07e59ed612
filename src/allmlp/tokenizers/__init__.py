"""Tokenizers: what a user asks for (`BPE`, `Bytes`, `Chunks`, `GPT2`, `SentencePiece`, `Shared`), `fit` and `load`.

Importing this costs nothing: the libraries behind the kinds are imported when one is fitted or loaded.
Every kind reserves one id, `eod`, for the end of a document; no text is ever encoded to it.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from allmlp import paths
from allmlp.errors import UserError
from allmlp.strict import Strict
from allmlp.tokenizers.base import Tokenizer
from allmlp.tokenizers.plain import ByteTokenizer, ChunkTokenizer

__all__ = ["BPE", "GPT2", "Bytes", "Chunks", "SentencePiece", "Shared", "Tokenizer", "TokenizerSpec", "fit", "load"]

RECIPE = 1


class BPE(Strict):
    """Byte-level byte-pair encoding, trained on the corpus's first documents; deterministic."""

    kind: Literal["bpe"] = "bpe"
    vocabulary: int = Field(ge=257, le=1 << 20, description="token types: 256 bytes, merges, the end of a document")
    sample_documents: int = Field(100_000, ge=1, description="train on the first so many documents")


class Bytes(Strict):
    """UTF-8 bytes, 257 types with the end of a document."""

    kind: Literal["bytes"] = "bytes"


class Chunks(Strict):
    """Consecutive chunks of `length` ASCII characters; the vocabulary is the set of chunks (004).

    With `vocabulary` it is the commonest of them, and the rarer ones are left out of the text: its size is then known
    before the text is.
    """

    kind: Literal["chunks"] = "chunks"
    length: int = Field(ge=1, le=8, description="characters in a chunk")
    vocabulary: int | None = Field(None, ge=2, description="token types, the end of a document among them")


class Shared(Strict):
    """The tokenizer of another corpus: what a model learns of one text it can then go on with on the other."""

    kind: Literal["shared"] = "shared"
    corpus: str = Field(min_length=1, description="the corpus that the tokenizer is fitted to")


class _Given(Strict):
    """A tokenizer that comes as files, each relative to the project folder."""

    def _files(self, root: Path) -> list[Path]:
        found = []
        for key, value in self:
            if key.endswith("_file"):
                path = root / Path(value).expanduser()
                if not path.is_file():
                    raise UserError(f"{key}: no file {path}. Put it there, or correct the path.")
                found.append(path)
        return found

    def sha256(self, root: Path) -> str:
        """Digest of the files' bytes: of one line with the sha256 of each, in the order of the fields."""
        lines = [f"{paths.file_sha256(path)}\n" for path in self._files(root)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


class GPT2(_Given):
    """A byte-level BPE in GPT-2's two files; `<|endoftext|>` ends a document."""

    kind: Literal["gpt2"] = "gpt2"
    vocab_file: str = Field(description="vocab.json")
    merges_file: str = Field(description="merges.txt")


class SentencePiece(_Given):
    """A SentencePiece model; its end-of-sentence piece ends a document."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    model_file: str = Field(description="the .model file")


Fitting = BPE | Bytes | Chunks | GPT2 | SentencePiece
TokenizerSpec = Annotated[Fitting | Shared, Field(discriminator="kind")]


def fit(spec: Fitting, documents: Iterable[str], root: Path = Path()) -> Tokenizer:
    """The tokenizer that `spec` asks for; `documents` are read only by the kinds that learn from the corpus.

    Raises:
        UserError: for a corpus too small for the vocabulary or not made of ASCII (chunks), and given files
            that are missing or not what they should be.
    """
    if isinstance(spec, Bytes):
        return ByteTokenizer()
    if isinstance(spec, Chunks):
        return ChunkTokenizer.fit(documents, spec.length, spec.vocabulary)
    if isinstance(spec, SentencePiece):
        from allmlp.tokenizers.pieces import PieceTokenizer

        return PieceTokenizer(*spec._files(root))
    from allmlp.tokenizers import library

    if isinstance(spec, GPT2):
        return library.from_gpt2(*spec._files(root))
    return library.train(documents, spec.vocabulary, spec.sample_documents)


def load(folder: Path, description: dict[str, Any] | None = None) -> Tokenizer:
    """The tokenizer that `save` left in `folder`, described as then. Raises UserError when it is missing or damaged."""
    model, described = folder / "tokenizer.model", folder / "tokenizer.json"
    if model.is_file():
        from allmlp.tokenizers.pieces import PieceTokenizer

        return PieceTokenizer(model)
    try:
        content = json.loads(described.read_text(encoding="utf-8"))
        if content.get("kind") == "bytes":
            return ByteTokenizer()
        if content.get("kind") == "chunks":
            return ChunkTokenizer(content["chunks"], content["length"], content.get("vocabulary"))
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise UserError(f"{described}: missing or damaged ({error}). Run `allmlp tokenize` again.") from error
    from allmlp.tokenizers import library

    return library.from_json(described, description)
