"""The settings in which matchers differ. Imports no pandas: every command plans runs with them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

PART, MATCHER_SEARCH = "retrieval", "matcher-search"  # the label `part`
SHARED_WORDS, OTHER_WORDS = "shared", "other"  # the label `words`: may a query have content words of its text?
ALL = "all"  # the label `training_pairs`
BASE, WIDE = "base", "wide"  # the label `size`: embedders of the study's width, or of another
SMALL, LARGE = 32, 128  # the article's contexts: a query and 31 or 127 candidates
LABELS = {  # field of a setting -> label of the runs
    "embedder": "embedder",
    "context": "context",
    "matcher": "model",
    "words": "words",
    "position": "position",
    "size": "size",
}


class Setting(NamedTuple):
    """The settings in which matchers differ besides padding side and seed; defaults are the article's."""

    embedder: str
    context: int = SMALL
    matcher: str = "matcher-mixer"
    words: str = SHARED_WORDS
    position: str = "before_last"
    fewer: bool = False  # of the training pairs
    size: str = BASE

    def __str__(self) -> str:
        pairs = "fewer pairs, " if self.fewer else ""
        where = f"{self.words} words, {self.position}, {self.size} size"
        return f"{self.matcher} on {self.embedder}, context {self.context}, {pairs}{where}"


def read_setting(labels: Mapping[str, Any]) -> Setting:
    """The setting of a run's labels; its runs differ only in padding side and seed."""
    return Setting(**{field: labels[label] for field, label in LABELS.items()}, fewer=labels["training_pairs"] != ALL)
