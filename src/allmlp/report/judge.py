"""Claims: each row of each ledger judged at the largest scale whose planned runs are all there."""

import json
import math
from typing import Any

from allmlp import measuring, paths, studies
from allmlp.params import SCALES
from allmlp.plan import CLAIMS
from allmlp.report import evidence
from allmlp.report.evidence import Evidence
from allmlp.report.families import holm
from allmlp.report.statistics import Finding

NOT_TESTABLE = "not testable at this scale"


def _number(value: float) -> float | None:
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
        "p": None if finding.p is None else _number(finding.p),
        "parts": [{"name": part.name, "verdict": part.verdict, "text": part.text} for part in finding.parts],
    }


def _at(claim: dict[str, Any], found: Evidence) -> dict[str, Any]:
    """The claim judged at one scale."""
    study = found.study
    found.margin, found.paper = claim.get("margin") or {}, claim.get("paper") or {}
    found.seeds = claim["needs"]["seeds"]
    result = _finding(getattr(studies.module(study, "verdicts"), claim["test"])(found))
    enough_seeds = min(found.seeds_of(measure) for measure in claim["measures"]) >= found.seeds
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
        return {
            **entry,
            "verdict": "not run",
            "scale": None,
            "text": "no run of this project measures it yet",
        }
    complete = [found for found in scales.values() if found.complete(claim["measures"])]
    entry["at"] = {found.scale: _at(claim, found) for found in complete}
    if complete:
        return {**entry, **entry["at"][complete[-1].scale]}
    return {**entry, "verdict": "not run", "scale": None, "text": _progress(claim, scales)}


def _progress(claim: dict[str, Any], scales: dict[str, Evidence]) -> str:
    """`k of n runs at <scale>`, for the scale that lacks least."""
    counts = []
    for found in scales.values():
        planned = {run for measure in claim["measures"] for run in found.planned(measure)}
        done = {run for run in planned if all(run in found.measured(measure) for measure in claim["measures"])}
        counts.append((len(done), len(planned), found.scale))
    done_runs, of, scale = max(counts, key=lambda c: c[0] / max(1, c[1]), default=(0, 0, "any scale"))
    return f"{done_runs} of {of} runs at {scale}"


def _correct(entries: list[dict[str, Any]]) -> None:
    """Holm over all tested claims of a study: one whose p does not survive goes back from reproduced to undecided."""
    p_values = {entry["id"]: entry["p"] for entry in entries if entry.get("p") is not None}
    for claim, survives in holm(p_values).items():
        entry = next(entry for entry in entries if entry["id"] == claim)
        entry["holm"] = bool(survives)
        if not survives and entry["verdict"] == "reproduced":
            entry["verdict"] = "undecided"
            entry["text"] += "; does not survive Holm's correction within the study"


def judge() -> dict[str, Any]:
    """Judge every claim of every study, and write results/claims.json."""
    content = evidence.selected()
    entries: list[dict[str, Any]] = []
    for study in studies.STUDIES:
        scales = evidence.by_scale(study, content)
        of_study = [judge_claim(study, claim, scales) for claim in studies.ledger(study)]
        _correct(of_study)
        entries += of_study
    result = {"plan": content["plan"], "scale": content["scale"], "claims": entries}
    paths.write_whole(CLAIMS, json.dumps(result, indent=1) + "\n")
    return result
