"""Each row of each ledger of claims, judged at the complete scale of the largest budget that has what the claim needs.

A scale is complete if all its planned runs are measured. If no complete scale has the size and the seeds that the claim
needs, the largest one gives an indication and no verdict.
"""

import math
from copy import deepcopy
from functools import partial
from typing import Any

from allmlp.common.errors import UserError
from allmlp.common.workers import Work
from allmlp.judging import (
    claims_json,
    compared_runs,
    evidence,
    needs,
    origins,
    rates,
    reach,
    rule_digests,
    rule_trials,
    selection,
    training_levels,
)
from allmlp.judging.complete_runs import Unit
from allmlp.judging.correction import NOT_RUN, correct
from allmlp.judging.evidence import Evidence
from allmlp.judging.rules import NotPlannedError
from allmlp.judging.statistics import NOT_TESTABLE, Finding, Part
from allmlp.judging.unsuited import UnsuitedError, named
from allmlp.spec import catalogue


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "verdict": finding.verdict,
        "value": _number(finding.value),
        "low": _number(finding.low),
        "high": _number(finding.high),
        "n": finding.n,
        "unit": finding.unit,
        "text": finding.text,
        "p": _number(finding.p),
        "p_against": _number(finding.p_against),
        "parts": [_part(part) for part in finding.parts],
        "rests": {name: rests.to_dict() for name, rests in finding.rests.items()},
        **_marks(finding),
        "here": {key: _number(value) for key, value in finding.here.items()},
    }


def _part(part: Part) -> dict[str, Any]:
    p_values = {"p": _number(part.p), "p_against": _number(part.p_against)}
    return {"name": part.name, "verdict": part.verdict, "text": part.text, **p_values, **_marks(part)}


def _marks(found: Finding | Part) -> dict[str, Any]:
    """`premise_not_met` and `corrected`, where they are set."""
    marks = {"premise_not_met": found.premise_not_met, "corrected": found.corrected}
    return {name: mark for name, mark in marks.items() if mark}


def _judge_at_scale(claim: dict[str, Any], found: Evidence) -> dict[str, Any]:
    """The claim judged at one scale."""
    found.margin, found.paper = claim.get("margin") or {}, claim.get("paper") or {}
    found.seeds = claim["needs"]["seeds"]
    finding = _find(claim, found)
    _refuse_unnamed_premise(claim, finding)
    result = _finding(finding)
    of_training = [measure for measure in claim["measures"] if found.depends_on_training(measure)]
    seeds = min(map(found.seed_count, of_training or claim["measures"]))
    result = needs.withhold(result, claim, found.scale, seeds)
    result = rule_trials.withhold(rates.withhold(result, claim, found), claim)
    runs = sorted({run for measure in claim["measures"] for run in found.measured_runs(measure)})
    older = any(one.older for measure in claim["measures"] for one in found.measurements_by_run(measure).values())
    younger = found.content.get("younger", {}).get(claim["id"])
    said = {"scale": found.scale, "runs": runs, "rule_changed_since": younger, "older_recipe": older}
    said |= {"operations": _number(found.operations(claim["measures"]))}
    said |= origins.claim_origins(found.content, runs)
    judged = {needs.letter(part["name"]) for part in result["parts"] if part["verdict"] != NOT_TESTABLE} or {""}
    trainings = compared_runs.compared_trainings(claim, found, judged)
    levelled = training_levels.measure_levels(found, trainings)
    said |= {
        "corpora": found.corpora_of(trainings or runs),
        "levelled": levelled,
        "budgets": compared_runs.budgets(claim, found),
        "reach": reach.claim_reach(found, claim, trainings, levelled),
    }
    return {**result, **said, **evidence.extension(found)}


def _find(claim: dict[str, Any], found: Evidence) -> Finding:
    """What the claim's test finds. UserError, with the claim and the line, for a test that fails; of a user's own
    measurements the claim is then not judged.
    """
    try:
        with named(f"{claim['id']}: its test {claim['test']} failed on {found.scale}", NotPlannedError):
            return catalogue.verdict(found.study, claim["test"])(found)
    except UnsuitedError as error:
        if found.own:
            raise NotPlannedError(f"cannot be judged from these measurements: {error},") from None
        raise UserError(f"{error}. Mend it, and `allmlp judge` again.") from error


def _refuse_unnamed_premise(claim: dict[str, Any], finding: Finding) -> None:
    """UserError if a finding rests on a premise that the claim does not name."""
    of_parts = (part.premise_not_met for part in finding.parts)
    unmet = next(filter(None, (finding.premise_not_met, *of_parts)), "")
    if unmet and not claim.get("premise"):
        raise UserError(f"claims.yaml, {claim['id']}: its test has a premise ({unmet}). Name it: `premise: ...`.")


def judge_claim(study: str, claim: dict[str, Any], scales: dict[str, Evidence]) -> dict[str, Any]:
    """One entry of claims.json, before the correction for many claims."""
    entry = {
        "id": claim["id"],
        "study": study,
        "claim": claim["claim"],
        "rule": rule_digests.rule(study, claim),
        "blind": claim.get("blind", True),
        "at": {},
    }
    if claim["test"] is None:
        return {**entry, "verdict": NOT_RUN, "scale": None, "text": "no run of this project measures it yet"}
    said, missing = [], {}
    for found in scales.values():
        of_parts, of_claim = found.select_parts(claim.get("runs", ())), found.claim_set(claim)
        if of_parts is None and found.content["runs"]:
            said.append(f"needs runs of {' and '.join(claim['runs'])}, which are not all planned at {found.scale}")
            continue
        if of_claim is None:
            missing[found.scale] = of_parts or found
            continue
        try:
            entry["at"][found.scale] = _judge_at_scale(claim, of_claim)
        except NotPlannedError as error:
            said.append(f"{error} at {found.scale}")
    if not entry["at"]:
        text = "; ".join([*said, _progress(claim, missing)] if missing or not said else said)
        return {**entry, "verdict": NOT_RUN, "scale": None, "text": text}
    return {**entry, **entry["at"][_deciding_scale(entry["at"])]}


def _deciding_scale(at: dict[str, dict[str, Any]]) -> str:
    """Among the scales that leave the fewest parts untested, the one whose trainings have the largest budget. A scale's
    name says nothing of that: one may plan more seeds, or wider models, for fewer steps. Of equal budgets the last."""
    meeting = {scale: result for scale, result in at.items() if result["verdict"] != NOT_TESTABLE}
    return min(reversed(meeting or at), key=lambda scale: (needs.untested_count(at[scale]), -at[scale]["operations"]))


def _progress(claim: dict[str, Any], scales: dict[str, Evidence]) -> str:
    """`k of n runs at <scale>`, for the scale that lacks the fewest runs."""
    counts = []
    for found in scales.values():
        planned = {run for measure in claim["measures"] for run in found.planned_runs(measure)}
        lacking = {
            run
            for measure in claim["measures"]
            for run in set(found.planned_runs(measure)) - set(found.measured_runs(measure))
        }
        counts.append((len(planned - lacking), len(planned), found.scale))
    done_runs, of, scale = max(counts, key=lambda c: c[0] / max(1, c[1]), default=(0, 0, "any scale"))
    dropped = [text for found in scales.values() if (text := _dropped_runs_text(claim, found))]
    return "; ".join([f"{done_runs} of {of} runs at {scale}", *dropped])


def _dropped_runs_text(claim: dict[str, Any], found: Evidence) -> str:
    """Why the last complete set does not count: the runs that the plan has dropped; empty if it has all."""
    gone: list[str] = found.content.get("dropped", {}).get(Unit.from_claim(claim).key, [])
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    return f"the set judged at {found.scale} no longer counts: the plan has dropped {gone[0]}{more}" if gone else ""


def _judge_overlay(entries: list[dict[str, Any]], study: str, name: str, found: Evidence) -> None:
    """Judge the same claims on a recorded overlay, with its own correction, into `elsewhere` of each entry."""
    there = _judge_claims(study, {found.scale: found})
    for entry, other in zip(entries, there, strict=True):
        if other["verdict"] != NOT_RUN:
            kept = ("verdict", "scale", "text", "parts", "n", "rule_changed_since", "older_recipe", "extension")
            marks = ("levelled", "reach", "premise_not_met", "corrected")
            said = {key: other[key] for key in (*kept, *marks) if key in other}
            entry.setdefault("elsewhere", {})[name] = {**said, "indication": other.get("indication")}


def _judge_claims(study: str, scales: dict[str, Evidence]) -> list[dict[str, Any]]:
    """The entries of a study's claims, corrected together. One number is tested once: a claim that is the `same_as`
    another one gets its entry."""
    ledger = catalogue.ledger(study)
    found = {row["id"]: judge_claim(study, row, scales) for row in ledger if not row.get("same_as")}
    correct(list(found.values()))
    return [
        {**deepcopy(found[row["same_as"]]), **{key: row[key] for key in ("id", "claim", "same_as")}}
        if row.get("same_as")
        else found[row["id"]]
        for row in ledger
    ]


def judge_study(study: str, content: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The entries of a study's claims. `content`: the selection that is judged, else the one that is here."""
    content = content or selection.read()
    entries = _judge_claims(study, evidence.evidence_by_scale(study, content))
    for name, found in evidence.evidence_by_overlay(study, content).items():
        _judge_overlay(entries, study, name, found)
    return entries


def _write(entries: list[list[dict[str, Any]]]) -> dict[str, Any]:
    content = selection.read()
    result = {"plan": content["plan"], "scale": content["scale"], "claims": [entry for of in entries for entry in of]}
    claims_json.write(result)
    return result


def work() -> Work:
    """Judge every claim of every study, then write results/claims.json."""
    return Work([partial(judge_study, study) for study in catalogue.STUDIES], _write)
