"""What stands beside a verdict: the words of its badge, how near it comes to the paper, and what was known before.

The report and README count and say these with the same functions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from allmlp.judging import claims_json
from allmlp.judging.statistics import BELOW
from allmlp.spec import catalogue

SIZED = ("reproduced", "partly", BELOW, "contradicted")  # verdicts that can be about a small scale
UNTESTED = ("not testable at this scale", "not run")
SMALL = "at small scale"
LETTERS = {"parameters": "N", "tokens": "D", "operations": "C"}
LEVELLED = {"unknown": "not known", None: "nothing trained"}
AGES = {False: "older", True: "younger", None: "not known"}
NOTHING = "nothing yet"

Entry = Mapping[str, Any]  # of claims.json


def is_small_scale(entry: Entry) -> bool:
    """Is a decided verdict about less than a tenth of the paper's size?"""
    return claims_json.label(entry) in SIZED and (entry.get("reach") or {}).get("small_scale") is True


def words(entry: Entry) -> str:
    """The verdict as its badge says it: `contradicted`, `contradicted at small scale`."""
    return f"{claims_json.label(entry)} {SMALL}" if is_small_scale(entry) else claims_json.label(entry)


def counts(entries: Iterable[Entry], verdicts: Sequence[str]) -> dict[str, int]:
    """Badge -> how many claims have it, in the order of these verdicts; claims on one number count once."""
    found = Counter(words(entry) for entry in entries if not entry.get("same_as"))
    kinds = [kind for verdict in verdicts for kind in (verdict, *([f"{verdict} {SMALL}"] if verdict in SIZED else ()))]
    return {kind: found[kind] for kind in kinds}


def ratio(value: float) -> str:
    """`1/649`, `1/126,000` below a tenth; `0.13` or `2.5` from there on.

    >>> ratio(0.00154), ratio(7.93e-06), ratio(0.126), ratio(1.0)
    ('1/650', '1/130,000', '0.13', '1')
    """
    return f"1/{float(f'{1 / value:.2g}'):,.0f}" if value < 0.1 else f"{value:.2g}"


def ratios(entry: Entry) -> str:
    """`N 1/190, D 1/650, C 1/130,000`: parameters, tokens and operations over the paper's, as far as they are known."""
    found = entry.get("reach") or {}
    known = {letter: found[name] for name, letter in LETTERS.items() if found.get(name) is not None}
    return ", ".join(f"{letter}\u00a0{ratio(value)}" for letter, value in known.items())


def reach_text(entry: Entry) -> str:
    """The same for the table of claims, with what the claim is about if it is not the whole of a training."""
    about = (entry.get("reach") or {}).get("about")
    said = [ratios(entry), about if about != "training" else ""]
    return ", ".join(filter(None, said)) or _reach(entry)


def _reach(entry: Entry) -> str:
    found = entry.get("reach")
    if not found:
        return NOTHING
    if found["about"] not in (None, "training"):
        return "formula, code or beginning"
    return {True: "below a tenth", False: "a tenth or more", None: "nothing to compare with"}[found["small_scale"]]


def _levelled_text(entry: Entry) -> str:
    found = entry.get("reach")
    return LEVELLED.get(found["levelled"], found["levelled"]) if found else NOTHING


def marks(entry: Entry) -> dict[str, str]:
    """What the table of claims filters by: whose claim, reach, levelled, blind, and the rule's age."""
    return {
        "whose": "this project's" if catalogue.is_project_claim(entry["id"]) else "a paper's",
        "reach": _reach(entry),
        "levelled": _levelled_text(entry),
        "blind": "blind" if entry.get("blind") else "not blind",
        "rule": AGES[entry.get("rule_changed_since")] if entry["scale"] else NOTHING,
    }


def rule_age_counts(entries: Iterable[Entry]) -> dict[str, int]:
    """How many claims were `judged`, and by a rule that was written `before` its result.

    Before: no result was known when the rule was written (blind), and git says that the rule is not younger.
    """
    judged = [entry for entry in entries if entry["verdict"] not in UNTESTED and not entry.get("same_as")]
    return {"judged": len(judged), "before": len(judged) - sum(map(is_late, judged))}


def is_late(entry: Entry) -> bool:
    """Was the rule of a judged claim made, or changed, when results were known? Or does git not say that it was not?"""
    return not entry.get("blind") or entry["rule_changed_since"] is not False
