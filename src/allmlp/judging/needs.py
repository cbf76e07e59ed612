"""Which parts of a claim a scale can decide: `needs` of claims.yaml, for the claim and for parts that differ.

needs: {scale: workstation, seeds: 5, parts: {b: {scale: paper}}}: the part "(b) ..." needs the paper's scale, and 5
seeds as the claim does.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from allmlp.common.errors import UserError
from allmlp.judging.multiplicity import combine_testable, is_all_corrected, list_verdicts
from allmlp.judging.statistics import NOT_TESTABLE, Part
from allmlp.plan.merge import SCALES

LETTER = re.compile(r"\((\w)\)")


def letter(name: str) -> str:
    """`b` of the part "(b) ..."; empty for a name without a letter."""
    found = LETTER.match(name)
    return found.group(1) if found else ""


def refuse_unknown(claim: dict[str, Any], known: Iterable[str]) -> None:
    """UserError where `needs` names parts that are not among the `known` letters."""
    listed_letters = sorted(set(known) - {""})
    if unknown := sorted(set(claim["needs"].get("parts") or {}) - set(listed_letters)):
        raise UserError(
            f"claims.yaml, {claim['id']}, needs.parts: there is no part {', '.join(f'({one})' for one in unknown)}. "
            f"Its parts are {', '.join(f'({one})' for one in listed_letters) or 'none'}."
        )


def asked_of(claim: Mapping[str, Any], part: str) -> dict[str, Any]:
    """`scale` and `seeds` that a part needs, given by its name ("" for a claim without parts)."""
    own = claim["needs"]
    return {**own, **((own.get("parts") or {}).get(letter(part)) or {})}


def is_met(claim: dict[str, Any], part: str, scale: str, seeds: int) -> bool:
    """Are a scale and this many seeds enough for a part, given by its name ("" for a claim without parts)?"""
    asked = asked_of(claim, part)
    return SCALES.index(scale) >= SCALES.index(asked["scale"]) and seeds >= asked["seeds"]


def withhold(result: dict[str, Any], claim: dict[str, Any], scale: str, seeds: int) -> dict[str, Any]:
    """A claim's entry with an `indication` in place of a verdict for each part that this scale cannot test.

    If it can test none, the parts keep their findings and the whole claim is an indication.
    """
    parts = [Part(**part) for part in result["parts"]]
    refuse_unknown(claim, (letter(part.name) for part in parts))
    testable = {part.name for part in parts if is_met(claim, part.name, scale, seeds)}
    if len(testable) == len(parts) and (parts or is_met(claim, "", scale, seeds)):
        return result
    if not testable:
        return {**result, "indication": result["verdict"], "verdict": NOT_TESTABLE}
    kept = [
        part if part["name"] in testable else {**part, "indication": part["verdict"], "verdict": NOT_TESTABLE}
        for part in result["parts"]
    ]
    return {**result, **replace_parts(kept), "p": None}


class Change(NamedTuple):
    """What a check says of a part, or of a claim without parts.

    `text`: in place of the part's own, if given. `guard`: why the part may not decide; `withheld`: so it is undecided.
    """

    text: str = ""
    guard: str = ""
    withheld: bool = False


def apply_check(result: dict[str, Any], check: Callable[[dict[str, Any], str], Change]) -> dict[str, Any]:
    """A claim's entry after a `check` of each part and its name, or of the whole claim and "" where it has none."""
    rests = dict(result["rests"])

    def after(of: dict[str, Any], name: str) -> dict[str, Any]:
        change = check(of, name)
        text = change.text or of["text"]
        if change.guard and name in rests:
            rests[name] = {**rests[name], "guards": [*rests[name]["guards"], change.guard]}
        if not change.withheld:
            return {**of, "text": text}
        return {**of, "verdict": "undecided", "text": f"{text}; not {of['verdict']}: {change.guard}"}

    if not result["parts"]:
        return {**after(result, ""), "rests": rests}
    parts = [after(part, part["name"]) for part in result["parts"]]
    if [part["verdict"] for part in parts] == [part["verdict"] for part in result["parts"]]:
        return {**result, "parts": parts, "rests": rests}
    combined_again = replace_parts(parts)
    if result["verdict"] == NOT_TESTABLE:  # its parts keep their findings
        combined_again |= {"verdict": NOT_TESTABLE, "indication": combined_again["verdict"]}
    return {**result, **combined_again, "rests": rests}


def replace_parts(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The changed fields of a claim's entry with these parts."""
    of = [Part(**part) for part in parts]
    held, verdict = float(sum(part.verdict == "reproduced" for part in of)), combine_testable(of)
    corrected = verdict == "contradicted" and is_all_corrected(of)
    return {"verdict": verdict, "value": held, "text": list_verdicts(of), "parts": parts, "corrected": corrected}


def untested_count(result: dict[str, Any]) -> int:
    """How many parts of an entry have no verdict at its scale."""
    return sum(part["verdict"] == NOT_TESTABLE for part in result["parts"])
