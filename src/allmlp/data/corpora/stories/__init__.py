"""Stories: a seeded grammar of English children's stories whose entropy is known.

Every story is of one topic (sea, farm, music, ...: see lexicon/topics), drawn once, which colours the words to the end:
its place, its treasure and its helper are the topic's own, and so are a quarter of the other words. Around a plot in
several beats (something is lost, broken, given, ...) the sentences draw their words from about 4,500 entries with
Zipf-like weights. Each text has exactly one derivation, so `nats` = -log p(text) is exact: no model, however good,
reaches a mean loss below the mean of `nats` over the tokens.

>>> import textwrap
>>> s = story(seed=0, index=0)
>>> s.topic, round(s.nats)
('space', 434)
>>> print(s.summary)
Tom broke the cold satellite, and the cosmonaut of the moon made it whole again.
>>> print(s.paraphrase)
A cosmic narrative featuring an orb: a hero damages an apparatus, which a traveller repairs.
>>> print(textwrap.fill(s.text, 110))
Do you know the stony moon? Tom, a busy boy, slouched there five dusks ago. Extra beacons, foreign barrows and
big havens lay atop Imran's hill. He waddled underneath a sturdy recess until both coots guarded an elegant,
starry banner. Before long, Tom might pounce besides Cal's airlock as Gia's coot whined across smart mothers.
Tom owned a cold satellite that smelled of porridge. Then, fetching a yummy, frothy lute up his naughty pest,
Tom broke the satellite into eleven bits. "Amazing! Xavi and Joachim twinkled truly!" explained Kevin warily.
Boredom, pride and sadness grew without a lunar, luminous weed. Kevin tried to fix it with a belt, but it only
expanded. The cosmonaut took three sunsets and each soft rye, and made the satellite work. From then on, busy
Tom thought of courage and luminous rice.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from allmlp.common.errors import UserError
from allmlp.data.corpora.stories import summaries
from allmlp.data.corpora.stories.engine import Bindings, sample
from allmlp.data.corpora.stories.grammar import compile_topic
from allmlp.data.corpora.stories.lexicon import load_lexicon

RECIPE = 1


@dataclass(frozen=True)
class Story:
    """A text, what it is about in its own words and in others, its topic, and -log p(text) in nats."""

    text: str
    summary: str
    paraphrase: str
    topic: str
    nats: float


@cache
def topics() -> tuple[str, ...]:
    """The topics, equally likely, in alphabetical order."""
    return tuple(load_lexicon().topics)


def story(seed: int, index: int) -> Story:
    """Story `index` of `seed`: a pure function of both. Raises UserError unless seed >= 0 and 0 <= index < 2**64."""
    topic, text, bound, nats = _derive(seed, index)
    return make_story(topic, text, bound, nats)


def documents(seed: int, count: int) -> Iterator[str]:
    """The texts of stories 0 to count - 1 of `seed`."""
    return (_derive(seed, index)[1] for index in range(count))


def _derive(seed: int, index: int) -> tuple[str, str, Bindings, float]:
    if seed < 0 or not 0 <= index < 2**64:
        raise UserError(f"stories: seed {seed}, index {index}: want seed >= 0 and 0 <= index < 2**64")
    rng = random.Random(seed * 2**64 + index)  # random() of an integer seed is the same in every version of Python
    topic = topics()[int(rng.random() * len(topics()))]
    pieces: list[str] = []
    bound: Bindings = {}
    nats = math.log(len(topics())) + sample(compile_topic(topic), rng, bound, pieces)
    return topic, "".join(pieces), bound, nats


def make_story(topic: str, text: str, bound: Bindings, nats: float) -> Story:
    """A derivation's text with its summaries."""
    return Story(text, summaries.summary(bound), summaries.paraphrase(topic, bound), topic, nats)
