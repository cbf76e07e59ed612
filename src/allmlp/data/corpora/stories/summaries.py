"""The one-sentence summaries of a story: one in its own words, one in words that occur in no story.

Both are functions of the story's variables (hero, friend, treasure, place, helper, look, plot), so they add no
information. The paraphrase names each by its gloss (a hypernym) and the topic by the topic's gloss:

    summary     Mira lost the salty compass, and the captain of the harbour found it.
    paraphrase  A maritime narrative featuring a mooring: a heroine misplaces a gadget, which a commander recovers.
"""

from functools import cache
from pathlib import Path

import yaml

from allmlp.data.corpora.stories.engine import Bindings
from allmlp.data.corpora.stories.inflection import add_article
from allmlp.data.corpora.stories.lexicon import load_lexicon

FILE = Path(__file__).parent / "summaries.yaml"
FRAME = "{topic} narrative featuring {place}: "
HERO = {"girl": "a heroine", "boy": "a hero"}


@cache
def templates() -> dict[str, dict[str, str]]:
    """Plot -> {summary, paraphrase}, as format strings."""
    found: dict[str, dict[str, str]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found


def summary(bound: Bindings) -> str:
    """One sentence that shares the story's names and things."""
    words = {key: word.forms[""] for key, word in bound.items()}
    return _sentence(templates()[_plot(bound)]["summary"].format(**words))


def paraphrase(topic: str, bound: Bindings) -> str:
    """The same in other words: no content word of it occurs in any story."""
    glosses = {key: add_article(bound[key].gloss) for key in ("treasure", "place", "helper")}
    glosses |= {"hero": HERO[bound["hero"].forms["child"]], "topic": add_article(load_lexicon().glosses[topic])}
    return _sentence((FRAME + templates()[_plot(bound)]["paraphrase"]).format(**glosses))


def _plot(bound: Bindings) -> str:
    return bound["plot"].forms[""]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
