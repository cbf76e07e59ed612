"""The lower bound of a loss on stories: their entropy per token under the grammar."""

import contextlib
import json
from functools import cache
from pathlib import Path

from allmlp.common import paths
from allmlp.data.corpora.stories import story
from allmlp.data.tokens import TokenFile

STORIES = 4000  # stories; their mean is known to a fraction of a percent


@cache
def entropy_per_token(tokens: Path) -> float | None:
    """Mean -log p of the first 4,000 stories over their mean number of tokens, in nats; None for any other text.

    A text has one derivation and one encoding, so tokens carry the entropy of texts; the end of a document is a token.
    It takes seconds. work/entropy keeps it under the tokens' id, which depends on grammar, seed and tokenizer.
    """
    file = TokenFile(tokens)
    made, described = file.meta["source"], file.meta["source"].get("source", {})
    if described.get("source") != "stories" or "shuffling" in made:
        return None
    remembered = Path("work/entropy") / f"{tokens.name}-{STORIES}.json"
    with contextlib.suppress(OSError, ValueError, TypeError):  # missing or damaged: computed again
        return float(json.loads(remembered.read_text(encoding="utf-8")))
    written = [story(described["seed"], index) for index in range(min(STORIES, described["documents"]))]
    lengths = [len(ids) + 1 for ids in file.tokenizer.encode_batch([one.text for one in written])]
    entropy = sum(one.nats for one in written) / sum(lengths)
    with contextlib.suppress(OSError):  # the cache only saves time
        paths.write_atomically(remembered, json.dumps(entropy))
    return entropy
