"""The grammar machine: nodes, and the three things done with them (sample, parse, count).

A story is an expansion of nodes from left to right. Every node that chooses has an explicit probability for each
alternative, so the -log p of a derivation is a sum over its choices, in nats. A `Variable` draws at its first use and
is known from then on, which is how a hero met in the first line comes back in the last.
"""

import math
import random
import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from allmlp.corpora.stories.lexicon import Word

SURFACE = re.compile(r"(?:[Aa]n? )?[A-Za-z]+")
ONE_WORD = re.compile(r"[A-Za-z]+")
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
    index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        surfaces = [surface(word, self.form) for word in self.words]
        object.__setattr__(self, "surfaces", surfaces)
        object.__setattr__(
            self, "cumulative", list(accumulate(self.probabilities))[:-1]
        )  # bisect: the last takes the rest
        object.__setattr__(self, "nats", [-math.log(p) for p in self.probabilities])
        object.__setattr__(self, "index", {s: i for i, s in enumerate(surfaces)})


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
    """No text: binds a variable to a constant, such as the plot that was chosen."""

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


class State(NamedTuple):
    """A parse under way: the text read so far, the sequences still to match (innermost first), what is bound."""

    position: int
    rest: tuple | None  # (sequence, next index in it, enclosing rest)
    bound: Bindings
    nats: float


def parses(nodes: Sequence[Node], text: str) -> list[tuple[float, Bindings]]:
    """Every derivation of `text` from `nodes`: its nats and its bindings. Exactly one, if the grammar is unambiguous.

    Depth-first over an explicit stack; complete, so that a list of one proves that p(text) = exp(-nats) exactly.
    """
    found, stack = [], [State(0, (nodes, 0, None), {}, 0.0)]
    while stack:
        state = stack.pop()
        if state.rest is None:
            if state.position == len(text):
                found.append((state.nats, state.bound))
            continue
        sequence, at, outer = state.rest
        if at == len(sequence):
            stack.append(state._replace(rest=outer))
        else:
            stack += _steps(sequence[at], state._replace(rest=(sequence, at + 1, outer)), text)
    return found


def _steps(node: Node, state: State, text: str) -> list[State]:
    """The states that follow `state` by matching `node`."""
    if isinstance(node, Choice):
        pairs = zip(node.alternatives, node.nats, strict=True)
        return [state._replace(rest=(nodes, 0, state.rest), nats=state.nats + nats) for nodes, nats in pairs]
    if isinstance(node, Mark):
        return [state._replace(bound={**state.bound, node.variable: node.word})]
    if isinstance(node, Draw) and node.variable not in state.bound:
        match = (SURFACE if node.form.lower() == "a" else ONE_WORD).match(text, state.position)
        i = node.index.get(match.group()) if match else None
        if match is None or i is None:
            return []
        bound = {**state.bound, node.variable: node.words[i]} if node.variable else state.bound
        return [State(match.end(), state.rest, bound, state.nats + node.nats[i])]
    literal = node if isinstance(node, str) else surface(state.bound[node.variable], node.form)
    return [state._replace(position=state.position + len(literal))] if text.startswith(literal, state.position) else []


def count(nodes: Sequence[Node], known: dict[int, int] | None = None) -> int:
    """How many choice sequences `nodes` have, variables left out: a lower bound on the number of distinct texts.

    `known`: counts of choices by their id, since rules share nodes.
    """
    known = {} if known is None else known
    total = 1
    for node in nodes:
        if isinstance(node, Draw) and not node.variable:
            total *= len(node.words)
        elif isinstance(node, Choice):
            if id(node) not in known:
                known[id(node)] = sum(count(alternative, known) for alternative in node.alternatives)
            total *= known[id(node)]
    return total
