"""A corpus's `tokenizer:`, strictly checked."""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.common.schema import StrictModel


class BPE(StrictModel):
    """Byte-level byte-pair encoding, trained on the corpus's first documents; deterministic."""

    kind: Literal["bpe"] = "bpe"
    vocabulary: int = Field(ge=257, le=1 << 20, description="token types: 256 bytes, merges, the end of a document")
    sample_documents: int = Field(100_000, ge=1, description="train on the first so many documents")


class Bytes(StrictModel):
    """UTF-8 bytes, 257 types with the end of a document."""

    kind: Literal["bytes"] = "bytes"


class Chunks(StrictModel):
    """Consecutive chunks of `length` ASCII characters; the vocabulary is the set of chunks (004).

    With `vocabulary` it is the commonest chunks, and rarer ones are left out of the text: then its size is known in
    advance.
    """

    kind: Literal["chunks"] = "chunks"
    length: int = Field(ge=1, le=8, description="characters in a chunk")
    vocabulary: int | None = Field(None, ge=2, description="token types, the end of a document among them")


class SharedTokenizer(StrictModel):
    """The tokenizer of another corpus, so that a model can be trained on both texts."""

    kind: Literal["shared"] = "shared"
    corpus: str = Field(min_length=1, description="the corpus that the tokenizer is fitted to")


class _TokenizerFiles(StrictModel):
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


class GPT2(_TokenizerFiles):
    """A byte-level BPE in GPT-2's two files; `<|endoftext|>` ends a document."""

    kind: Literal["gpt2"] = "gpt2"
    vocab_file: str = Field(description="vocab.json")
    merges_file: str = Field(description="merges.txt")


class SentencePiece(_TokenizerFiles):
    """A SentencePiece model; its end-of-sentence piece ends a document."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    model_file: str = Field(description="the .model file")


Fitting = BPE | Bytes | Chunks | GPT2 | SentencePiece
TokenizerSpec = Annotated[Fitting | SharedTokenizer, Field(discriminator="kind")]
