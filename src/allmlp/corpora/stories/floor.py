"""The loss that no model of the stories can pass: their entropy under the grammar that wrote them, per token."""

from functools import cache
from pathlib import Path

from allmlp.corpora.stories import story
from allmlp.tokens import TokenFile

STORIES = 4000  # the mean of so many is known to a fraction of a percent


@cache
def entropy_per_token(tokens: Path) -> float | None:
    """Mean -log p of the first 4,000 stories over their mean number of tokens, in nats; None for any other text.

    A text has one derivation and one encoding, so tokens carry the entropy of texts; the end of a document is a token.
    """
    file = TokenFile(tokens)
    made, described = file.meta["source"], file.meta["source"].get("source", {})
    if described.get("source") != "stories" or "shuffling" in made:
        return None
    written = [story(described["seed"], index) for index in range(min(STORIES, described["documents"]))]
    lengths = [len(ids) + 1 for ids in file.tokenizer.encode_batch([one.text for one in written])]
    return sum(one.nats for one in written) / sum(lengths)
