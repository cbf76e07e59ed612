"""English word forms of one lexicon entry: articles, plurals, tenses, pronouns.

An entry is a bare word where English is regular, and `word/irregular[/third]` where it is not: `goose/geese`,
`find/found`, `run/ran/running` (for a doubled final consonant).
"""

VOWELS = "aeiou"
AN_ALL_THE_SAME = ("honest", "hour")  # a silent initial h
A_ALL_THE_SAME = ("unic", "useful", "usual", "uku", "uniform", "one", "eu", "ewe")  # vowels that sound as consonants
PRONOUNS = {
    "girls": {"he": "she", "him": "her", "his": "her", "child": "girl", "mate": "sister"},
    "boys": {"he": "he", "him": "him", "his": "his", "child": "boy", "mate": "brother"},
}


def add_article(word: str) -> str:
    """`owl` -> `an owl`, `unicorn` -> `a unicorn`."""
    heard = word.startswith(AN_ALL_THE_SAME) or (word[0] in VOWELS and not word.startswith(A_ALL_THE_SAME))
    return f"{'an' if heard else 'a'} {word}"


def plural(word: str) -> str:
    """The regular plural: `fox` -> `foxes`, `pony` -> `ponies`."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def past_tense(word: str) -> str:
    """The regular past tense: `hurry` -> `hurried`, `plan` -> `planned` (monosyllables only)."""
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ied"
    return word + (word[-1] if _has_doubled_consonant(word) else "") + "ed"


def progressive(word: str) -> str:
    """The -ing form: `bake` -> `baking`, `chop` -> `chopping`, `see` -> `seeing`."""
    if word.endswith("ie"):
        return word[:-2] + "ying"
    if word.endswith("e") and not word.endswith(("ee", "oe", "ye")):
        return word[:-1] + "ing"
    return word + (word[-1] if _has_doubled_consonant(word) else "") + "ing"


def _has_doubled_consonant(word: str) -> bool:
    """A single vowel before a single final consonant, in a word of one vowel group: stop, hug, trim."""
    groups = sum(c in VOWELS and (i == 0 or word[i - 1] not in VOWELS) for i, c in enumerate(word))
    single = len(word) > 2 and word[-1] not in VOWELS + "wxy" and word[-2] in VOWELS and word[-3] not in VOWELS
    quiet_u = len(word) > 3 and word[-3] == "u" and word[-4] == "q"  # squat, quit: that u is a consonant
    return groups == 1 and (single or quiet_u)


def noun(entry: str) -> dict[str, str]:
    """Forms of a countable noun: itself, `a` (with article), `pl`."""
    word, *irregular = entry.split("/")
    return {"": word, "a": add_article(word), "pl": irregular[0] if irregular else plural(word)}


def verb(entry: str) -> dict[str, str]:
    """Forms of a verb: infinitive, `past`, `ing`."""
    word, *irregular = entry.split("/")
    return {
        "": word,
        "past": irregular[0] if irregular else past_tense(word),
        "ing": irregular[1] if len(irregular) > 1 else progressive(word),
    }


def modifier(entry: str) -> dict[str, str]:
    """Forms of a word that does not inflect: itself, `a` (an adjective after its article)."""
    return {"": entry, "a": add_article(entry)}


def name(entry: str, gender: str) -> dict[str, str]:
    """A name and the pronouns that stand for it; gender is `girls` or `boys`."""
    return {"": entry, **PRONOUNS[gender]}
