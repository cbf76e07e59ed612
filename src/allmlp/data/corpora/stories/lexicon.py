"""The lexicon: general.yaml holds the words of every topic, topics/*.yaml the words that one topic alone may use.

Every list is a line of words, most frequent first. `word=gloss` gives the hypernym that stands for the word in a
paraphrase; glosses are never words of a story. Every surface belongs to one entry of one list, so that a word of a text
has one origin: otherwise two derivations could give one text.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from allmlp.common.errors import UserError
from allmlp.data.corpora.stories import inflection

FOLDER = Path(__file__).parent / "lexicon"
NOUNS = ("treasures", "places", "helpers", "things", "folk", "spots", "sounds", "times")
VERBS = ("holds", "acts", "says")
NAMES = ("girls", "boys", "friend_girls", "friend_boys", "extras")
GLOSSED = ("treasures", "places", "helpers")  # the words of a story's core, which a paraphrase must render
TOPIC_LISTS = (*GLOSSED, "things", "folk", "spots", "holds", "acts", "looks")
TOPIC_SHARE = 0.25  # of a kind that has both: the topic's own words, as against general ones


@dataclass(frozen=True)
class Word:
    """One entry: its forms by name ("" is the entry itself), its list, its gloss."""

    forms: dict[str, str]
    kind: str
    gloss: str = ""


Lists = dict[str, list[Word]]


def _forms(entry: str, kind: str) -> dict[str, str]:
    if kind in NAMES:
        return inflection.name(entry, kind.removeprefix("friend_")) if kind != "extras" else {"": entry}
    if kind in NOUNS:
        return inflection.noun(entry)
    return inflection.verb(entry) if kind in VERBS else inflection.modifier(entry)


def _word(entry: str, kind: str, path: Path) -> Word:
    entry, _, gloss = entry.partition("=")
    if bool(gloss) != (kind in GLOSSED):
        raise UserError(f"{path}: '{entry}' in {kind}: a gloss is for {', '.join(GLOSSED)}, and for all of these")
    if not entry.replace("/", "").isalpha():
        raise UserError(f"{path}: '{entry}' in {kind}: an entry is one word of letters, or word/irregular forms")
    return Word(_forms(entry, kind), kind, gloss)


def read(path: Path) -> tuple[Lists, str]:
    """The lists of one file, and its `gloss:` (what a paraphrase calls the topic; empty in general.yaml)."""
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    gloss = raw.pop("gloss", "")
    if gloss and sorted(raw) != sorted(TOPIC_LISTS):
        raise UserError(f"{path}: has the lists {', '.join(raw)}; a topic has exactly {', '.join(TOPIC_LISTS)}")
    return {kind: [_word(entry, kind, path) for entry in line.split()] for kind, line in raw.items()}, gloss


@dataclass(frozen=True)
class Lexicon:
    """`general` and `topics[topic]`: lists of words by kind. `glosses[topic]`: the topic in a paraphrase's words."""

    general: Lists
    topics: dict[str, Lists]
    glosses: dict[str, str]

    def table(self, kind: str, topic: str) -> list[tuple[Word, float]]:
        """The words of a kind within a topic, with probabilities: a mixture of the topic's own and the general ones."""
        own, general = self.topics[topic].get(kind, []), self.general.get(kind, [])
        share = (TOPIC_SHARE if general else 1.0) if own else 0.0
        return [(w, share * p) for w, p in zip(own, zipf(len(own)), strict=True)] + [
            (w, (1 - share) * p) for w, p in zip(general, zipf(len(general)), strict=True)
        ]


def zipf(n: int, flat: float = 30.0) -> list[float]:
    """Zipf-Mandelbrot probabilities of n ranks, p(r) ~ 1 / (r + flat); `flat` keeps short lists varied."""
    weights = [1 / (rank + flat) for rank in range(1, n + 1)]
    return [w / sum(weights) for w in weights]


def check(lists: dict[str, Lists]) -> None:
    """Refuse a surface that two entries share; `lists` by file name."""
    owner: dict[str, tuple[str, Word]] = {}
    for file, kinds in lists.items():
        for word in (word for words in kinds.values() for word in words):
            own = [word.forms[""]] if word.kind in NAMES else [f for key, f in word.forms.items() if key != "a"]
            for surface in {form.lower() for form in own}:
                other_file, other = owner.setdefault(surface, (file, word))
                if other is not word:
                    raise UserError(
                        f"{file}: '{surface}' in {word.kind} is also a form of '{other.forms['']}' in {other.kind} of "
                        f"{other_file}. Every surface must belong to one entry: take one of them out."
                    )


@cache
def load_lexicon() -> Lexicon:
    """The package's own lexicon, read and checked once."""
    general, _ = read(FOLDER / "general.yaml")
    topics = {path.stem: read(path) for path in sorted((FOLDER / "topics").glob("*.yaml"))}
    check({"general.yaml": general} | {f"{topic}.yaml": lists for topic, (lists, _) in topics.items()})
    return Lexicon(general, {t: lists for t, (lists, _) in topics.items()}, {t: g for t, (_, g) in topics.items()})
