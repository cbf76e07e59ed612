"""The course of an answer over budget: the verdict of a claim at each scale, and the parts whose verdict flips."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from allmlp.judging.needs import letter
from allmlp.judging.statistics import NOT_TESTABLE, RESTS_ON

DECIDED = tuple(RESTS_ON)


def course(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was judged at each scale, the smallest budget first; empty for a claim of one scale."""
    at = sorted(entry["at"].values(), key=lambda found: found.get("operations") or 0.0)
    return at if len(at) > 1 else []


def flips(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts ("" for a claim without any) with different verdicts at different budgets: scale -> verdict.

    Where a scale cannot test a part, its numbers give an indication and no verdict, and do not count.
    """
    found: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for at in course(entry):
        if at["verdict"] != NOT_TESTABLE and at.get("operations"):
            for part in at["parts"] or [{"name": "", "verdict": at["verdict"]}]:
                key = letter(part["name"]) or part["name"]
                names[key] = part["name"]
                if part["verdict"] in DECIDED:
                    found.setdefault(key, {})[at["scale"]] = part["verdict"]
    for key, verdicts in found.items():
        if len(set(verdicts.values())) > 1:
            yield {"id": entry["id"], "part": names[key], "verdicts": verdicts}


def all_flips(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The flips of all claims, in order."""
    return [flip for entry in entries for flip in flips(entry)]
