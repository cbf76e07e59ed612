"""A study's verdicts corrected for its many tests.

>>> holm({"002-1": 0.01, "002-2": 0.04, "002-3": 0.03})
{'002-1': True, '002-2': False, '002-3': False}
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from allmlp.judging import needs
from allmlp.judging.statistics import NOT_TESTABLE, RESTS_ON
from allmlp.spec import catalogue

NOT_RUN = "not run"
LEVEL = 0.05  # of a family: the chance of any false verdict
LOST = "; does not survive Holm's correction within the study"  # of the paper's claims, or of this project's own
Name = TypeVar("Name")


def correct(entries: list[dict[str, Any]]) -> None:
    """Holm's correction in two families of a study: the paper's claims, and this project's own, which must not make
    the paper's harder to reproduce. A scale that does not decide a claim has families of its own.
    """
    for own in (False, True):
        family = [entry for entry in entries if catalogue.is_project_claim(entry["id"]) == own]
        for scale in {scale for entry in family for scale in entry["at"]}:
            _correct_scale(family, scale)
        _correct_family(family)


def _correct_scale(entries: list[dict[str, Any]], scale: str) -> None:
    """The correction over all claims judged at a scale, of the verdicts there that decide nothing."""
    there = [{"id": entry["id"], **entry["at"][scale]} for entry in entries if scale in entry["at"]]
    survives = holm({test: p for one in there for test, p in _test_p_values(one).items()})
    for entry in entries:
        if scale in entry["at"] and scale != entry["scale"]:
            at = entry["at"][scale]
            tested = _test_p_values({"id": entry["id"], **at})
            at.update(_drop_tests(at, {test[1:] for test in tested if not survives[test]}))


def _correct_family(entries: list[dict[str, Any]]) -> None:
    """Holm's correction over both tests of every part. A verdict that does not survive becomes undecided."""
    survives = holm({test: p for entry in entries for test, p in _test_p_values(entry).items()})
    for entry in entries:
        tested = _test_p_values(entry)
        changed = _drop_tests(
            entry, {(part, kind) for _, part, kind in tested if not survives[entry["id"], part, kind]}
        )
        if tested:
            entry["holm"] = not changed
        for result in (entry, entry["at"].get(entry["scale"], {})):
            result.update(changed)


def _drop_tests(entry: dict[str, Any], lost: set[tuple[str, str]]) -> dict[str, Any]:
    """The changed fields of a claim's entry once these tests (part, kind) are `lost`; empty if nothing changes."""

    def loses(verdict: str, part: str) -> bool:
        return (part, RESTS_ON.get(verdict, "")) in lost

    if not entry.get("parts"):
        taken_back = {"verdict": "undecided", "text": entry["text"] + LOST}
        return taken_back if loses(entry["verdict"], "") else {}
    kept = [
        {**part, "verdict": "undecided", "text": part["text"] + LOST} if loses(part["verdict"], part["name"]) else part
        for part in entry["parts"]
    ]
    return {} if kept == entry["parts"] else needs.replace_parts(kept)


def _test_p_values(entry: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """(claim, part, kind) -> p, of each test of a claim judged at its needs; a claim without parts is one part.

    The number of tests may not depend on the results. A part that the plan or its nature leaves without a test (not
    run, not testable at this scale, counted) could never be wrong by chance, and has no p here. A part whose test the
    results prevented could have been, and counts with p = 1, as does a test that the verdict does not rest on: a rule
    may have withheld the verdict, and then its p is not a valid p value either.
    """
    if entry["verdict"] in (NOT_RUN, NOT_TESTABLE):
        return {}
    parts = [part for part in entry["parts"] if part["verdict"] != NOT_TESTABLE]
    return {
        (entry["id"], part["name"], kind): part[kind] if RESTS_ON.get(part["verdict"]) == kind else 1.0
        for part in (parts if entry["parts"] else [{**entry, "name": ""}])
        for kind in ("p", "p_against")
        if part[kind] is not None
    }


def family_p_values(entries: Iterable[dict[str, Any]], claim: str) -> dict[tuple[str, str, str], float]:
    """(claim, part, kind) -> p, of all tests that are corrected together with those of a claim.

    entries: a study's, of claims.json.
    """
    own = catalogue.is_project_claim(claim)
    together = [one for one in entries if catalogue.is_project_claim(one["id"]) == own and "same_as" not in one]
    return {test: p for entry in together for test, p in _test_p_values(entry).items()}


def threshold(others: Iterable[float], level: float = LEVEL) -> float:
    """The largest p with which one more test would survive Holm's correction beside these p values.

    >>> threshold([1.0] * 9), threshold([0.001] * 8 + [1.0])
    (0.005, 0.025)
    """
    beside = sorted(others)
    tests = len(beside) + 1
    rejected = next((rank for rank, p in enumerate(beside) if p > level / (tests - rank)), len(beside))
    return level / (tests - rejected)


def adjust_p_values(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Adjusted p values of a family, in the given order (Holm 1979).

    With p in ascending order: adjusted_i = max over j <= i of min(1, (m - j + 1) p_j). Raises ValueError for a p
    outside 0 to 1, NaN included.
    """
    for name, p in p_values.items():
        if not 0 <= p <= 1:
            raise ValueError(f"{name}: {p} is not a p value")
    adjusted: dict[Name, float] = {}
    floor = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}


def holm(p_values: Mapping[Name, float], level: float = LEVEL) -> dict[Name, bool]:
    """Which hypotheses of a family may be rejected so that the chance of any false one is at most `level`.

    A study's family holds both p values of every part, because each may become "reproduced" or "contradicted". A
    verdict whose null hypothesis is not rejected here becomes undecided, whatever its own interval says.
    """
    return {name: p <= level for name, p in adjust_p_values(p_values).items()}
