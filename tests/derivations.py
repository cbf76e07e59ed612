"""The story grammar read backwards: every derivation of a text, and how many texts there are at least."""

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from allmlp.data.corpora import stories
from allmlp.data.corpora.stories.engine import Bindings, Choice, Draw, Mark, Node, surface
from allmlp.data.corpora.stories.grammar import compile_topic

SURFACE = re.compile(r"(?:[Aa]n? )?[A-Za-z]+")
ONE_WORD = re.compile(r"[A-Za-z]+")


def derivations(text: str) -> list[stories.Story]:
    """Every way in which the grammar gives `text`, found from the text alone: one for a story, none for other texts."""
    prior = math.log(len(stories.topics()))
    found = ((topic, *parse) for topic in stories.topics() for parse in parses(compile_topic(topic), text))
    return [stories.make_story(topic, text, bound, prior + nats) for topic, nats, bound in found]


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
        i = _places(node).get(match.group()) if match else None
        if match is None or i is None:
            return []
        bound = {**state.bound, node.variable: node.words[i]} if node.variable else state.bound
        return [State(match.end(), state.rest, bound, state.nats + node.nats[i])]
    literal = node if isinstance(node, str) else surface(state.bound[node.variable], node.form)
    return [state._replace(position=state.position + len(literal))] if text.startswith(literal, state.position) else []


@cache
def _places(draw: Draw) -> dict[str, int]:
    return {text: i for i, text in enumerate(draw.surfaces)}


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
