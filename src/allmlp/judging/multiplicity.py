"""Several findings together: the parts of one claim. `correction` has the claims of one study."""

import math
from collections.abc import Iterable, Mapping
from typing import Protocol

from allmlp.judging.statistics import BELOW, CORRECTED, NOT_TESTABLE, Finding, NotTestable, Part, Verdict


class HasVerdict(Protocol):
    """Anything with a verdict: a finding, or a part of one."""

    @property
    def verdict(self) -> Verdict | NotTestable: ...


def combine(parts: Iterable[HasVerdict]) -> Verdict:
    """The verdict of a claim from those of its listed parts.

    All reproduced: reproduced. Some reproduced or partly, the others not: partly. None reproduced and one contradicted:
    contradicted, because the claim needs them all. All below margin: below margin. Else, or without parts: undecided.
    """
    verdicts = {part.verdict for part in parts}
    if verdicts == {"reproduced"}:
        return "reproduced"
    if verdicts == {BELOW}:
        return BELOW
    if verdicts & {"reproduced", "partly"}:
        return "partly"
    return "contradicted" if "contradicted" in verdicts else "undecided"


def combine_testable(parts: Iterable[HasVerdict]) -> Verdict | NotTestable:
    """`combine` of the parts that a scale can test; not testable if it can test none.

    A claim needs all its parts. If some cannot be tested and all others are reproduced, it is "partly".
    """
    of = list(parts)
    testable = [part for part in of if part.verdict != NOT_TESTABLE]
    if of and not testable:
        return NOT_TESTABLE
    verdict = combine(testable)
    return "partly" if verdict == "reproduced" and len(testable) < len(of) else verdict


def list_verdicts(parts: Iterable[Part]) -> str:
    """The verdict of each part in one line."""
    return "; ".join(f"{part.name}: {label(part)}" for part in parts) or "no part"


def label(part: Part) -> str:
    """A part's verdict in words: `undecided (premise not met: ...)`, `corrected`."""
    if part.verdict == "undecided" and part.premise_not_met:
        return f"{part.verdict} (premise not met: {part.premise_not_met})"
    return CORRECTED if part.verdict == "contradicted" and part.corrected else part.verdict


def is_all_corrected(parts: Iterable[Part]) -> bool:
    """Does a claim fail by corrected numbers alone? Some part is contradicted, and each of these is corrected."""
    against = [part.corrected for part in parts if part.verdict == "contradicted"]
    return bool(against) and all(against)


def require_all_parts(findings: Mapping[str, Finding]) -> Finding:
    """One finding for a claim that needs all of several named parts.

    value: how many parts are reproduced; no interval (NaN). n: the fewest seeds of a part. p: the largest of
    the parts' (valid for "all hold": intersection-union test, Berger 1982), None if a part has none.
    """
    parts = tuple(
        Part(name, found.verdict, found.text, found.p, None, found.p_against, found.premise_not_met, found.corrected)
        for name, found in findings.items()
    )
    held = sum(part.verdict == "reproduced" for part in parts)
    p_values = [finding.p for finding in findings.values() if finding.p is not None]
    verdict = combine(parts)
    return Finding(
        verdict=verdict,
        value=float(held),
        low=math.nan,
        high=math.nan,
        n=min((finding.n for finding in findings.values()), default=0),
        unit=f"of {len(parts)} parts",
        text=list_verdicts(parts),
        p=max(p_values) if p_values and len(p_values) == len(parts) else None,
        parts=parts,
        rests={name: found.rests[""] for name, found in findings.items() if "" in found.rests},
        corrected=verdict == "contradicted" and is_all_corrected(parts),
        here=merge_numbers(findings.values()),
    )


def merge_numbers(findings: Iterable[Finding]) -> dict[str, float]:
    """The numbers of several findings that stand beside those of the paper."""
    return {key: value for finding in findings for key, value in finding.here.items()}


def partial_conjunction(p_values: Iterable[float | None], needed: int = 1) -> float | None:
    """p of "fewer than `needed` of these hypotheses are false" (partial conjunction, Benjamini & Heller 2008).

    With the n p values in ascending order: min(1, (n - needed + 1) p_needed). This is Bonferroni's for needed = 1, the
    largest p for needed = n. None if fewer than `needed` have a p.
    """
    tested = sorted(p for p in p_values if p is not None)
    return min(1.0, (len(tested) - needed + 1) * tested[needed - 1]) if len(tested) >= needed else None
