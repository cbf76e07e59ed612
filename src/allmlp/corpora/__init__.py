"""Corpora by name: where the documents come from, how they become tokens, and the digest that names both."""

from allmlp.corpora.identity import COUNTS, FILE_KEYS, LOCK, content, described, lock, read_lock, token_id, vocabulary
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
