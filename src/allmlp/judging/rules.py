"""Building blocks of the rules in claims.yaml besides `judge_better`: exact, below, several numbers, premises,
withheld, needed runs."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from allmlp.judging.evidence_summary import Grounds, Rule, apply_rule, join_verdicts
from allmlp.judging.multiplicity import merge_numbers, partial_conjunction
from allmlp.judging.statistics import BELOW, DECIDED, FEWEST_SEEDS, RESTS_ON, Finding, Values, Verdict, judge_better
from allmlp.spec.protocols import Evidence


class NotPlannedError(Exception):
    """The plan leaves out runs that a rule needs; the claim is then "not run"."""


class NotComparableError(NotPlannedError):
    """The planned runs are not comparable under a rule; the claim is then "not run"."""


def require_models(evidence: Evidence, measure: str, models: Iterable[str]) -> None:
    """Raises NotPlannedError if some of these models have no planned run with the measure."""
    planned = {evidence.content["runs"][run]["labels"].get("model") for run in evidence.planned_runs(measure)}
    if missing := [model for model in models if model not in planned]:
        raise NotPlannedError(f"needs runs of {', '.join(missing)}, which are not planned")


def judge_exact(holds: bool, value: float, unit: str, text: str, n: int = 1) -> Finding:
    """A finding that is counted or calculated, not sampled: reproduced if it `holds`, else contradicted."""
    return Finding("reproduced" if holds else "contradicted", value, value, value, n, unit, text)


def undecided_finding(text: str, n: int = 0, unit: str = "") -> Finding:
    """An undecided part without a number, because of the plan or a device. The text says why."""
    return Finding("undecided", math.nan, math.nan, math.nan, n, unit, text)


def judge_above(values: Values, limit: float, unit: str = "") -> Finding:
    """Is the mean over seeds above `limit`? `judge_better` for what has no natural zero, such as a share of 90 %.

    values: (n,), one per seed. Lower end of the 95 % t interval above: reproduced. Upper end below: contradicted.
    """
    return judge_better(values, limit, unit=unit, none=limit)


def judge_below(values: Values, limit: float, unit: str = "", none: float | None = None) -> Finding:
    """Is the mean over seeds below `limit`? The mirror image of `judge_above` or, with a value of no effect,
    of `judge_better`.

    values: (n,), one per seed. Upper end of the 95 % t interval below: reproduced. Lower end above `limit`, or `none`:
    contradicted; see `judge_better` for what lies between them.
    """
    zero = limit if none is None else max(none, limit)
    mirrored = judge_better([-float(value) for value in values], -limit, unit=unit, none=-zero)
    low, high = -mirrored.high, -mirrored.low
    text = f"mean {-mirrored.value:.3g} {unit}".rstrip()
    text += f", 95 % t interval {low:.3g} to {high:.3g}, n = {mirrored.n}, against a limit of {limit:g}"
    rests = {"": apply_rule(Rule("below", limit, zero), values)}
    return replace(mirrored, value=-mirrored.value, low=low, high=high, text=text, rests=rests)


def judge_all(findings: Mapping[str, Finding]) -> Finding:
    """One part with several numbers: all must hold, and any one of them can refute it.

    The finding is that of the weakest number (largest p), with a text about all. p_against: see `_p_against`. Raises
    ValueError without numbers.
    """
    if not findings:
        raise ValueError("a part needs at least one number")
    weakest = max(findings.values(), key=lambda finding: 1.0 if finding.p is None else finding.p)
    text = "; ".join(f"{name}: {finding.text}" for name, finding in findings.items())
    verdict, rests = join_findings(findings.values())
    unmet = dict.fromkeys(found.premise_not_met for found in findings.values() if found.premise_not_met)
    p_against, here = _p_against(verdict, list(findings.values())), merge_numbers(findings.values())
    finding = replace(weakest, verdict=verdict, text=text, rests=rests, p_against=p_against, here=here)
    return replace(finding, premise_not_met="; ".join(unmet) if verdict == "undecided" else "")


def _p_against(verdict: Verdict, found: list[Finding]) -> float | None:
    """p of the test behind "contradicted", for "any one number refutes", or behind "below margin". None if a number
    without a test decides.

    Below margin asserts something of each number, and that one of them is below the margin, whichever: the largest p,
    and that of the clearest one after Bonferroni's correction.
    """
    if verdict != BELOW:
        untested = any(one.verdict == "contradicted" and one.p_against is None for one in found)
        return (
            None if untested else partial_conjunction(1.0 if one.verdict == BELOW else one.p_against for one in found)
        )
    small = [one.p_against for one in found if one.verdict == BELOW]
    p_values = [*small, *(one.p for one in found if one.verdict == "reproduced")]
    tested = [p for p in p_values if p is not None]
    if len(tested) < len(p_values):
        return None
    return max(*tested, min(1.0, len(found) * min(p for p in small if p is not None)))


def judge_best(findings: Mapping[str, Finding], best: str, text: str) -> Finding:
    """One part decided by the `best` of several numbers, each judged at a level of 1 - 0.05 / their number.

    Contradicted where all refute it, below margin where all refute it or are below the margin. p is corrected for the
    choice (Bonferroni).
    """
    found, chosen = list(findings.values()), findings[best]
    verdict: Verdict = "reproduced" if chosen.verdict == "reproduced" else nowhere_verdict(found)
    p = None if chosen.p is None else min(1.0, chosen.p * len(found))
    p_against = partial_conjunction((finding.p_against for finding in found), len(found))
    return replace(chosen, verdict=verdict, text=text, p=p, p_against=p_against)


def nowhere_verdict(found: Collection[Finding]) -> Verdict:
    """Contradicted where all findings are; below margin where all are one of the two; else undecided."""
    verdicts = {finding.verdict for finding in found}
    if not verdicts <= {"contradicted", BELOW}:
        return "undecided"
    return BELOW if BELOW in verdicts else "contradicted"


def join_findings(
    findings: Iterable[Finding], *, tolerated: int = 0, refuting: int = 1
) -> tuple[Verdict, dict[str, Grounds]]:
    """The verdict of several numbers as one part, and its basis: see `evidence_summary.join_verdicts`."""
    found = list(findings)
    sign = {verdict: number for number, verdict in DECIDED.items()}
    verdict = DECIDED[int(join_verdicts([sign.get(finding.verdict, 0) for finding in found], tolerated, refuting))]
    rests = [finding.rests[""] for finding in found if "" in finding.rests]
    if len(rests) < len(found) or not rests:
        return verdict, {}
    of = tuple(basis for one in rests for basis in one.of)
    guards = tuple(dict.fromkeys(guard for one in rests for guard in one.guards))
    return verdict, {"": Grounds(of, tolerated, refuting, guards)}


def withhold_verdict(finding: Finding, verdict: Verdict, reason: str, *, when: bool) -> Finding:
    """The finding; undecided, for the `reason`, if its verdict is `verdict` and `when` holds.

    "below margin" is withheld with either: what an effect may still gain could take it over the margin, what it may
    lose could turn its direction.
    """
    if not when:
        return finding
    rests = {name: one.add_reason(f"not {verdict}: {reason}") for name, one in finding.rests.items()}
    finding = replace(finding, rests=rests)
    if finding.verdict not in (verdict, BELOW):
        return finding
    return replace(finding, verdict="undecided", text=f"{finding.text}; not {finding.verdict}: {reason}")


def premise(finding: Finding, unmet: str, *, holds: bool, of: Verdict | None = None) -> Finding:
    """The finding if the premise of its rule `holds`; else undecided, for what is `unmet`.

    A rule asks for what the claim takes for granted: that a model learnt, that a difference had room, a device. The
    claim's `premise` says it in words. of: the only verdict that needs the premise; the other one stands without it,
    but "below margin" needs it too. The tests that it prevents still count in their family, with p = 1: results must
    not choose how many tests there are.
    """
    if holds:
        return finding
    rests = {name: one.add_reason(f"premise not met: {unmet}") for name, one in finding.rests.items()}
    prevented = {RESTS_ON[of]} if of else set(RESTS_ON.values())
    untested: dict[str, Any] = {kind: 1.0 for kind in prevented if getattr(finding, kind) is not None}
    if of and finding.verdict in RESTS_ON and finding.verdict not in (of, BELOW):
        return replace(finding, rests=rests, **untested)
    text = "; ".join(filter(None, [f"premise not met: {unmet}", finding.text]))
    return replace(finding, rests=rests, **untested, verdict="undecided", text=text, premise_not_met=unmet)


def judge_machines(values: Mapping[str, float], rule: Callable[[Values], Finding]) -> Finding:
    """A rule on a speed. values: machine -> its number: the unit is the machine, whatever was repeated on it.

    The premise is that FEWEST_SEEDS machines were timed.
    """
    finding = rule(list(values.values()))
    if len(values) < FEWEST_SEEDS:  # known before any result, so no test that could have been wrong
        finding = replace(finding, p=None, p_against=None)
    listed = ", ".join(f"{value:.3g} on {machine}" for machine, value in values.items()) or "none"
    unmet = f"timed on {len(values)} machine{'s' * (len(values) != 1)}, {FEWEST_SEEDS} are needed: {listed}"
    return premise(finding, unmet, holds=len(values) >= FEWEST_SEEDS)


def mark_corrected(finding: Finding) -> Finding:
    """The finding, marked if it is contradicted: the paper's number is wrong, and the right one is calculated, so that
    no training can change it. An erratum gives both."""
    return replace(finding, corrected=finding.verdict == "contradicted")


def part_rows(rows: pd.DataFrame, *parts: str, models: Collection[str] = ()) -> pd.DataFrame:
    """The rows of some parts of the study. NotPlannedError if a part has none, or none of a model."""
    found = rows[rows["part"].isin(parts)] if "part" in rows else rows.iloc[:0]
    if missing := [model for model in models if model not in set(found.get("model", ()))]:
        raise NotPlannedError(f"needs runs of {' and '.join(missing)}, which are not planned")
    if found.empty:
        raise NotPlannedError(f"needs runs of {' and '.join(parts)}, which are not planned")
    return found


def corpus_rows(rows: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """The rows, which must all be of one corpus. NotPlannedError if some are of another."""
    if (rows["corpus"] != corpus).any():
        raise NotPlannedError(f"needs runs on {corpus}, which are not planned")
    return rows
