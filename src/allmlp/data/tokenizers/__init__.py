"""Tokenizers: `fit` one to a corpus, `load` one from a folder of tokens.

The library of a kind is imported when a tokenizer is fitted or loaded, and pydantic with the specifications (`specs`):
a machine that only trains need not have it. Every kind reserves one id, `eod`, for the end of a document; no text is
encoded to it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allmlp.common import formats
from allmlp.common.errors import UserError
from allmlp.data.tokenizers.base import Tokenizer
from allmlp.data.tokenizers.plain import ByteTokenizer, ChunkTokenizer

if TYPE_CHECKING:
    from allmlp.data.tokenizers.specs import Fitting

RECIPE = 1


def fit(spec: "Fitting", documents: Iterable[str], root: Path = Path()) -> Tokenizer:
    """The tokenizer of `spec`. Only kinds that learn from the corpus read `documents`.

    UserError for a corpus too small for the vocabulary or not made of ASCII (chunks), and given files that are missing
    or of another kind.
    """
    from allmlp.data.tokenizers.specs import GPT2, Bytes, Chunks, SentencePiece

    if isinstance(spec, Bytes):
        return ByteTokenizer()
    if isinstance(spec, Chunks):
        return ChunkTokenizer.fit(documents, spec.length, spec.vocabulary)
    if isinstance(spec, SentencePiece):
        from allmlp.data.tokenizers.sentencepiece_model import PieceTokenizer

        return PieceTokenizer(*spec._files(root))
    from allmlp.data.tokenizers import library

    if isinstance(spec, GPT2):
        return library.load_gpt2(*spec._files(root))
    return library.train(documents, spec.vocabulary, spec.sample_documents)


def load(folder: Path, description: dict[str, Any] | None = None) -> Tokenizer:
    """The tokenizer that `save` wrote into `folder`. Raises UserError when it is missing or damaged."""
    model, described = folder / "tokenizer.model", folder / "tokenizer.json"
    if model.is_file():
        from allmlp.data.tokenizers.sentencepiece_model import PieceTokenizer

        return PieceTokenizer(model)
    try:
        content = formats.parse_json(described.read_text(encoding="utf-8"))
        if content.get("kind") == "bytes":
            return ByteTokenizer()
        if content.get("kind") == "chunks":
            return ChunkTokenizer(content["chunks"], content["length"], content.get("vocabulary"))
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise UserError(f"{described}: missing or damaged ({error}). Run `allmlp tokenize` again.") from error
    from allmlp.data.tokenizers import library

    return library.load_json(described, description)
