"""Text without one of its structures: sentences shuffled among documents, or words shuffled within each.

    corpora:
      stories-words: {source: stories, documents: 30000, seed: 0, shuffle: words, tokenizer: {...}}

A model's gain from the plain text over the shuffled one is due to that structure. "sentences": documents lose their
topics, sentences keep their order of words. "words": documents keep their words, and lose their order.
Spaces become single; a document keeps its number of sentences, or of words.

>>> list(shuffle_documents(["One two. Three?", "Four! Five six."], "sentences"))
['Three? Four!', 'One two. Five six.']
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

import numpy as np

RECIPE = 1
Shuffle = Literal["sentences", "words"]
DEALT = 10_000  # documents among which sentences are shuffled: all are in memory
SENTENCE = re.compile(r".+?(?:[.!?]+[\"'”’)]*(?=\s)|$)", re.DOTALL)


def shuffle_documents(documents: Iterable[str], what: Shuffle) -> Iterator[str]:
    """The documents, streamed in their order; the same text gives the same result everywhere."""
    if what == "words":
        for number, text in enumerate(documents):
            yield " ".join(_permute(text.split(), number))
        return
    waiting = iter(documents)
    for number, block in enumerate(iter(lambda: list(islice(waiting, DEALT)), [])):
        found = [sentences(text) for text in block]
        dealt = iter(_permute([one for of_text in found for one in of_text], number))
        yield from (" ".join(next(dealt) for _ in of_text) for of_text in found)


def sentences(text: str) -> list[str]:
    """Its sentences, stripped, without the space between them; a text without full stops is one."""
    return [stripped for one in SENTENCE.findall(text) if (stripped := one.strip())]


def _permute(parts: list[str], number: int) -> list[str]:
    order = np.random.Generator(np.random.Philox(key=number)).permutation(len(parts))
    return [parts[place] for place in order.tolist()]
