"""Both implementations of a claim, part by part, to six digits; and Holm's correction again."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tests.numerics.second_opinion import (  # noqa: F401
    copying,
    crossover,
    language_models,
    language_neurons,
    mixers_counts,
    mixers_embeddings,
    mixers_trainings,
    quadrature,
    triangular,
)
from tests.numerics.second_opinion.numbers import Best, Course, Decided, Each, Fact, Number, Part, Share, survives
from tests.numerics.second_opinion.registry import CLAIMS, ONLY_AT
from tests.numerics.second_opinion.stored import Measured, Stored, judged, ledger

Entry = dict[str, Any]
NOT_RUN, NOT_TESTABLE = "not run", "not testable at this scale"
AROUND_ZERO = ("0 or equal within", "the same with the signs turned")
UNJUDGED = ("premise not met", "not judged")
LOST = "does not survive Holm's correction"
RESTS_ON: dict[str, str] = {"reproduced": "p", "contradicted": "p_against", "below margin": "p_against"}
TESTS = ("p", "p_against")
DIGITS = 2e-6  # relative: the stored numbers are rounded to six digits
READ = 1e-4  # relative: they have the ends of a crossing from 400 points, and the lines between them


def stored(claim: str) -> Measured | None:
    """What was measured at the scale of a claim's verdict; None without a complete set of runs, or at sizes that its
    words do not name."""
    scale = judged()[claim]["scale"]
    return Stored(claim, scale) if scale and scale == ONLY_AT.get(claim, scale) else None


def derived(claim: str, data: Measured) -> dict[str, Part]:
    """A claim's parts, derived again."""
    found = CLAIMS[claim](data)
    return {letter: _around_zero(part) if asked_around_zero(claim, letter) else part for letter, part in found.items()}


def asked_around_zero(claim: str, letter: str) -> bool:
    """Do the words say of this part that it is contradicted below 0 or equal within its margin?"""
    said = [part for part in ledger()[claim]["contradicted_if"].split(";") if f"({letter})" in part or not letter]
    return any(words in part for part in said for words in AROUND_ZERO)


def _around_zero(part: Any) -> Any:
    match part:
        case Number(kind="above" | "below"):
            return replace(part, around_zero=True)
        case Each():
            return replace(part, numbers=tuple(replace(one, around_zero=True) for one in part.numbers))
        case Best():
            return Best(_around_zero(part.chosen), tuple(map(_around_zero, part.tried)))
    return part


def underived(claim: str, entry: Entry, data: Measured) -> list[str]:
    """Parts that are judged, and withheld by no premise, without a second derivation."""
    parts = {part["name"]: part for part in entry["parts"] or [{**entry, "name": ""}]}
    have = derived(claim, data)
    return [
        name or claim
        for name, part in parts.items()
        if name[1:2] not in have
        and part["verdict"] != NOT_TESTABLE
        and not (part["verdict"] == "undecided" and any(words in part["text"] for words in UNJUDGED))
    ]


def differences(claim: str, entry: Entry, data: Measured) -> list[str]:
    """What the two implementations say differently of a claim; `entry`: of claims.json."""
    parts = derived(claim, data).items()
    return [f"{claim} {line}" for letter, part in parts for line in _of_part(entry, letter, part)]


def _of_part(entry: Entry, letter: str, part: Part) -> Iterator[str]:
    theirs = _theirs(entry, letter)
    name = theirs["name"]
    guards = entry["rests"].get(name, {}).get("guards", [])
    if not isinstance(part, Fact | Share) and not all(number.n for number in numbers_of(part)):
        if any(basis["n"] for basis in entry["rests"].get(name, {}).get("of", [])):
            yield f"{name} n: 0 here"
        return  # no run is of the kind that the words ask for
    same = not isinstance(part, Fact) and any(number.agree for number in numbers_of(part))
    if not agree(part.decided, theirs, withheld=bool(guards) or same):
        yield f"{name} verdict: {part.decided} here, {theirs['verdict']} there"
    pairs = _of_fact(part, theirs) if isinstance(part, Fact) else _of_numbers(part, entry, theirs)
    for key, ours, stored in pairs:
        if not alike(ours, stored, READ if isinstance(part, Course) and key in ("low", "high") else DIGITS):
            yield f"{name} {key}: {ours} here, {stored} there"


def _of_fact(part: Fact, theirs: Entry) -> Iterator[tuple[str, float | None, float | None]]:
    if part.value is not None:
        yield "value", part.value, theirs["value"]


def numbers_of(part: Any) -> tuple[Number, ...]:
    """The numbers that a part rests on."""
    return (part,) if isinstance(part, Number) else tuple(part.numbers)


def _of_numbers(part: Any, entry: Entry, theirs: Entry) -> Iterator[tuple[str, float | None, float | None]]:
    numbers = numbers_of(part)
    bases = sorted(entry["rests"][theirs["name"]]["of"], key=lambda basis: _place(basis["mean"]))
    yield "count of numbers", len(numbers), len(bases)
    for number, basis in zip(sorted(numbers, key=lambda one: _place(one.mean)), bases, strict=False):
        yield from ((key, getattr(number, key), basis[key]) for key in ("mean", "spread", "n"))
    if not theirs["name"]:
        yield from ((key, ours, theirs[key]) for key, ours in _ends(part).items())
    if not any(number.agree for number in numbers):  # without a spread there is no t test
        for key in TESTS:  # a premise that is not met leaves no test, or p = 1, of a verdict that is not given
            if theirs[key] not in (None, 1.0) or RESTS_ON.get(theirs["verdict"]) == key:
                yield key, getattr(part, key), theirs[key]


def _place(mean: float | None) -> float:
    """For sorting. A number without a mean, as where a seed diverged, comes last."""
    return math.inf if mean is None or math.isnan(mean) else mean


def _ends(part: Any) -> dict[str, float | None]:
    """The numbers that a claim without parts has beside the basis of its verdict."""
    match part:
        case Number():
            return dict(zip(("low", "high"), part.ends(part.level), strict=True))
        case Share():
            return dict(zip(("value", "low", "high"), part.shown, strict=True))
        case Course():
            return dict(zip(("value", "low", "high"), part.place or (None, None, None), strict=True))
    return {}


def _theirs(entry: Entry, letter: str) -> Entry:
    found = (
        [part for part in entry["parts"] if part["name"].startswith(f"({letter})")]
        if letter
        else [{**entry, "name": ""}]
    )
    assert len(found) == 1, f"{entry['id']} has {len(found)} parts ({letter})"
    return found[0]


def agree(ours: Decided, theirs: Entry, withheld: bool) -> bool:
    """Is their verdict ours? It may be undecided where Holm's correction or a stated condition took it back."""
    verdict = theirs["verdict"]
    if verdict == NOT_TESTABLE:
        return theirs.get("indication") in (None, ours)
    if verdict == "undecided" and (LOST in theirs["text"] or withheld):
        return withheld or ours != "undecided"
    return bool(ours == ("contradicted" if verdict == "corrected" else verdict))


def alike(ours: float | None, theirs: float | None, digits: float = DIGITS) -> bool:
    """The same number to six digits, or to `digits`; both without one (nan here)."""
    if theirs is None:
        return ours is None or math.isnan(ours)
    if ours is None:
        return False
    return math.isclose(float(f"{ours:.6g}"), theirs, rel_tol=digits, abs_tol=1e-300)


def families(entries: Iterable[Entry]) -> dict[tuple[str, bool], dict[tuple[str, str], Entry]]:
    """(study, is it this project's own claim?) -> (claim, part) -> the part, of all that can be judged."""
    found: dict[tuple[str, bool], dict[tuple[str, str], Entry]] = {}
    for entry in entries:
        if entry["verdict"] not in (NOT_RUN, NOT_TESTABLE):
            family = found.setdefault((entry["study"], "-own-" in entry["id"]), {})
            for part in entry["parts"] or [{**entry, "name": ""}]:
                if part["verdict"] != NOT_TESTABLE:
                    family[entry["id"], part["name"]] = part
    return found


def holm_differences(parts: dict[tuple[str, str], Entry]) -> list[str]:
    """Parts of a family whose verdict stands where Holm's correction takes it back, or the other way round.

    A test that a verdict does not rest on counts with p = 1.
    """
    rests = {place: _rests_on(part) for place, part in parts.items()}
    p_values = {
        f"{place} {kind}": part[kind] if rests[place] == kind else 1.0
        for place, part in parts.items()
        for kind in TESTS
        if part[kind] is not None
    }
    kept = survives(p_values)
    wrong = []
    for place, part in parts.items():
        name, stands = f"{place} {rests[place]}", LOST not in part["text"]
        if name in p_values and kept[name] != stands:
            there = "kept" if stands else "lost"
            wrong.append(f"{' '.join(place)}: p = {p_values[name]:.3g} of {len(p_values)} tests, {there} there")
    return wrong


def _rests_on(part: Entry) -> str:
    """The test of a part's verdict before the correction: of one that was lost, that with the smaller p."""
    if LOST in part["text"]:
        return min((kind for kind in TESTS if part[kind] is not None), key=lambda kind: float(part[kind]))
    return RESTS_ON.get(part["verdict"], "")


def report(asked: Iterable[str] = ()) -> list[str]:
    """A line for each difference, or for a claim without one."""
    return [line for claim in list(asked) or CLAIMS if claim in judged() for line in _report(claim)]


def _report(claim: str) -> list[str]:
    data = stored(claim)
    if data is None:
        return [f"{claim}: no complete set"]
    return differences(claim, judged()[claim], data) or [f"{claim} ({', '.join(derived(claim, data))}): alike"]
