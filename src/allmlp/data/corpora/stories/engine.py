"""The grammar machine: nodes, and the drawing of texts from them. tests/derivations.py parses texts.

A story is an expansion of nodes from left to right. Every node that chooses has an explicit probability for each
alternative, so the -log p of a derivation is a sum over its choices, in nats. A variable draws at its first use and
keeps its word, so that the hero of the first line returns in the last.
"""

import math
import random
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from allmlp.data.corpora.stories.lexicon import Word

Bindings = dict[str, Word]


@dataclass(frozen=True, eq=False)
class Draw:
    """A word of a table, in one form; bound to `variable` if that is not empty. `nats[i]` is -log p of entry i."""

    words: list[Word]
    probabilities: list[float]
    form: str
    variable: str = ""
    surfaces: list[str] = field(init=False)
    cumulative: list[float] = field(init=False)
    nats: list[float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "surfaces", [surface(word, self.form) for word in self.words])
        object.__setattr__(self, "cumulative", list(accumulate(self.probabilities))[:-1])  # the last takes the rest
        object.__setattr__(self, "nats", [-math.log(p) for p in self.probabilities])


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several sequences; `nats[i]` is -log p of alternative i."""

    alternatives: list[list["Node"]]
    probabilities: list[float]
    cumulative: list[float] = field(init=False)
    nats: list[float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cumulative", list(accumulate(self.probabilities))[:-1])
        object.__setattr__(self, "nats", [-math.log(p) for p in self.probabilities])


class Mark(NamedTuple):
    """No text: binds a variable to a constant, such as the chosen plot."""

    variable: str
    word: Word


Node = str | Draw | Choice | Mark


def surface(word: Word, form: str) -> str:
    """A form of a word; a capital in the form's name (`A`, `He`; `^` for the bare word) asks for a capital letter."""
    if form == "^":
        return word.forms[""].capitalize()
    text = word.forms[form.lower()]
    return text[0].upper() + text[1:] if form[:1].isupper() else text


def sample(nodes: Sequence[Node], rng: random.Random, bound: Bindings, text: list[str]) -> float:
    """Expand `nodes`, appending to `text` and binding variables; returns the nats of the choices made."""
    nats = 0.0
    for node in nodes:
        if type(node) is str:
            text.append(node)
        elif type(node) is Draw:
            if node.variable in bound:
                text.append(surface(bound[node.variable], node.form))
                continue
            i = bisect(node.cumulative, rng.random())
            text.append(node.surfaces[i])
            nats += node.nats[i]
            if node.variable:
                bound[node.variable] = node.words[i]
        elif type(node) is Choice:
            i = bisect(node.cumulative, rng.random())
            nats += node.nats[i] + sample(node.alternatives[i], rng, bound, text)
        elif type(node) is Mark:
            bound[node.variable] = node.word
    return nats
