"""Claims: each row of each ledger judged at the largest complete scale that has what the claim needs.

A scale is complete where all its planned runs are there. Where no complete scale has the size and the seeds that the
claim needs, the largest one gives an indication and no verdict.
"""

import json
import math
from dataclasses import replace
from typing import Any

from allmlp import measuring, paths, studies
from allmlp.params import SCALES
from allmlp.plan import CLAIMS
from allmlp.report import evidence
from allmlp.report.evidence import Evidence
from allmlp.report.multiplicity import combine, holm, listed
from allmlp.report.statistics import Finding, Part
from allmlp.studies.rules import NotPlannedError

NOT_RUN, NOT_TESTABLE = "not run", "not testable at this scale"
LOST = "; does not survive Holm's correction within the study"


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
        "parts": [{**vars(part), "p": _number(part.p)} for part in finding.parts],
    }


def _at(claim: dict[str, Any], found: Evidence) -> dict[str, Any]:
    """The claim judged at one scale."""
    study = found.study
    found.margin, found.paper = claim.get("margin") or {}, claim.get("paper") or {}
    found.seeds = claim["needs"]["seeds"]
    result = _finding(getattr(studies.module(study, "verdicts"), claim["test"])(found))
    of_training = [measure for measure in claim["measures"] if found.trained(measure)]
    enough_seeds = min(map(found.seeds_of, of_training or claim["measures"])) >= found.seeds
    if SCALES.index(found.scale) < SCALES.index(claim["needs"]["scale"]) or not enough_seeds:
        result["indication"], result["verdict"] = result["verdict"], NOT_TESTABLE
    runs = sorted({run for measure in claim["measures"] for run in found.measured(measure)})
    older = any(entry["older_recipe"] for measure in claim["measures"] for entry in found.files(measure).values())
    rule = measuring.rule(claim)
    stored = [rules.get(claim["id"]) for measure in claim["measures"] for rules in found.rules(measure)]
    return {
        **result,
        "scale": found.scale,
        "runs": runs,
        "rule_changed_since": any(s != rule for s in stored),
        "older_recipe": older,
    }


def judge_claim(study: str, claim: dict[str, Any], scales: dict[str, Evidence]) -> dict[str, Any]:
    """One entry of claims.json, before the correction for many claims."""
    entry = {
        "id": claim["id"],
        "study": study,
        "claim": claim["claim"],
        "rule": measuring.rule(claim),
        "at": {},
    }
    if claim["test"] is None:
        return {**entry, "verdict": NOT_RUN, "scale": None, "text": "no run of this project measures it yet"}
    said, missing = [], {}
    for found in scales.values():
        if not found.complete(claim["measures"]):
            missing[found.scale] = found
            continue
        try:
            entry["at"][found.scale] = _at(claim, found)
        except NotPlannedError as error:
            said.append(f"{error} at {found.scale}")
    if not entry["at"]:
        text = "; ".join([*said, _progress(claim, missing)] if missing or not said else said)
        return {**entry, "verdict": NOT_RUN, "scale": None, "text": text}
    meeting = [scale for scale, result in entry["at"].items() if result["verdict"] != NOT_TESTABLE]
    return {**entry, **entry["at"][(meeting or list(entry["at"]))[-1]]}


def _progress(claim: dict[str, Any], scales: dict[str, Evidence]) -> str:
    """`k of n runs at <scale>`, for the scale that lacks least."""
    counts = []
    for found in scales.values():
        planned = {run for measure in claim["measures"] for run in found.planned(measure)}
        done = {run for run in planned if all(run in found.measured(measure) for measure in claim["measures"])}
        counts.append((len(done), len(planned), found.scale))
    done_runs, of, scale = max(counts, key=lambda c: c[0] / max(1, c[1]), default=(0, 0, "any scale"))
    return f"{done_runs} of {of} runs at {scale}"


def _tested(entry: dict[str, Any]) -> dict[str, float]:
    """p of each part of a claim judged at its needs, by a name of its own; a claim without parts is one part."""
    if entry["verdict"] in (NOT_RUN, NOT_TESTABLE):
        return {}
    parts = entry["parts"] or [{"name": "", "p": entry["p"]}]
    return {f"{entry['id']} {part['name']}": part["p"] for part in parts if part["p"] is not None}


def _correct(entries: list[dict[str, Any]]) -> None:
    """Holm over all tested parts of a study: a reproduced one that does not survive becomes undecided."""
    survives = holm({name: p for entry in entries for name, p in _tested(entry).items()})
    for entry in entries:
        lost = {name for name in _tested(entry) if not survives[name]}
        if _tested(entry):
            entry["holm"] = not lost
        changed = _without(entry, lost)
        for result in (entry, entry["at"].get(entry["scale"], {})):
            result.update(changed)


def _without(entry: dict[str, Any], lost: set[str]) -> dict[str, Any]:
    """What becomes of a claim once its `lost` parts are no longer reproduced; empty where nothing changes."""
    if not entry.get("parts"):
        taken_back = lost and entry["verdict"] == "reproduced"
        return {"verdict": "undecided", "text": entry["text"] + LOST} if taken_back else {}
    parts = [Part(**part) for part in entry["parts"]]
    kept = [
        replace(part, verdict="undecided", text=part.text + LOST)
        if part.verdict == "reproduced" and f"{entry['id']} {part.name}" in lost
        else part
        for part in parts
    ]
    if kept == parts:
        return {}
    held = float(sum(part.verdict == "reproduced" for part in kept))
    return {"verdict": combine(kept), "value": held, "text": listed(kept), "parts": [vars(part) for part in kept]}


def _judge_overlay(entries: list[dict[str, Any]], study: str, name: str, found: Evidence) -> None:
    """The same claims on a recorded overlay, with a correction of its own: `elsewhere` of each entry."""
    there = [judge_claim(study, claim, {found.scale: found}) for claim in studies.ledger(study)]
    _correct(there)
    for entry, other in zip(entries, there, strict=True):
        if other["verdict"] != NOT_RUN:
            kept = ("verdict", "scale", "text", "parts", "n", "rule_changed_since", "older_recipe")
            said = {key: other[key] for key in kept}
            entry.setdefault("elsewhere", {})[name] = {**said, "indication": other.get("indication")}


def judge() -> dict[str, Any]:
    """Judge every claim of every study, and write results/claims.json."""
    content = evidence.selected()
    entries: list[dict[str, Any]] = []
    for study in studies.STUDIES:
        scales = evidence.by_scale(study, content)
        of_study = [judge_claim(study, claim, scales) for claim in studies.ledger(study)]
        _correct(of_study)
        for name, found in evidence.by_overlay(study, content).items():
            _judge_overlay(of_study, study, name, found)
        entries += of_study
    result = {"plan": content["plan"], "scale": content["scale"], "claims": entries}
    paths.write_whole(CLAIMS, json.dumps(result, indent=1) + "\n")
    return result
