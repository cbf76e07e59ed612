"""Corpora by name: where the documents come from, how they become tokens, and the digest that names both.

What a user may say of them needs pydantic, and is imported when it is asked for: a machine that only trains need not
have it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allmlp.corpora.identity import (
        COUNTS,
        FILE_KEYS,
        LOCAL_LOCK,
        LOCK,
        content,
        described,
        lock,
        read_lock,
        token_id,
        vocabulary,
    )
    from allmlp.corpora.sources import (
        IMAGES,
        OF_TEXT,
        PAIRS,
        SOURCES,
        TEXT,
        ImageSource,
        PairsSource,
        Source,
        StoriesCorpus,
        TextSource,
    )
    from allmlp.corpora.spec import CorpusSpec, image_source, taught

__all__ = [
    "COUNTS",
    "FILE_KEYS",
    "IMAGES",
    "LOCAL_LOCK",
    "LOCK",
    "OF_TEXT",
    "PAIRS",
    "SOURCES",
    "TEXT",
    "CorpusSpec",
    "ImageSource",
    "PairsSource",
    "Source",
    "StoriesCorpus",
    "TextSource",
    "content",
    "described",
    "image_source",
    "lock",
    "read_lock",
    "taught",
    "token_id",
    "vocabulary",
]


def __getattr__(name: str) -> Any:
    """What `identity`, `sources` and `spec` hold."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from allmlp.corpora import identity, sources, spec

    return getattr(next(module for module in (identity, sources, spec) if hasattr(module, name)), name)
