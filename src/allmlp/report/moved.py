"""Which verdicts changed since the trainings of the scale `long` began, and why, as far as is known.

`verdicts_before_long.yaml` holds a `record` of every claim from before that scale existed.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from allmlp import paths

BEFORE = Path(__file__).with_name("verdicts_before_long.yaml")
HOLM = "does not survive Holm"  # in a verdict's text where the correction took it back

CHANGED = {
    "words": "its rule was written anew",
    "numbers": "another margin, or another number of the paper's",
    "needs": "it asks for other runs or measures",
}

Record = dict[str, Any]


def record(row: dict[str, Any], entry: dict[str, Any]) -> Record:
    """The fields of a claim's ledger `row` and `entry` of claims.json that can explain a changed verdict."""
    runs = entry.get("runs") or []
    said = [entry.get("text", ""), *(part["text"] for part in entry.get("parts") or [])]
    return {
        "verdict": entry["verdict"],
        "scale": entry["scale"],
        "seeds": len(set(re.findall(r"-seed(\d+)-", " ".join(runs)))),
        "runs": paths.digest(sorted(runs), 8),
        "words": paths.digest([row["statistic"], row["reproduced_if"], row["contradicted_if"]], 8),
        "numbers": paths.digest([row.get("margin"), row.get("paper")], 8),
        "needs": paths.digest([row["needs"], row["measures"]], 8),
        "taken_back": sum(HOLM in text for text in said if text),
    }


def before() -> dict[str, Record]:
    """claim -> its record before."""
    held = yaml.safe_load(BEFORE.read_text(encoding="utf-8"))
    return {claim: dict(zip(held["fields"], values, strict=True)) for claim, values in held["claims"].items()}


def why(then: Record, now: Record) -> list[str]:
    """All differences between two records, in words for the reader."""
    same = {key: then[key] == now[key] for key in now}
    found = []
    if not same["scale"]:
        found.append(f"judged at {now['scale'] or 'no scale'}, before at {then['scale'] or 'none'}")
    elif not same["runs"]:
        found.append("other runs of the same scale")
    if not same["seeds"] and now["seeds"] and then["seeds"]:
        found.append(f"{now['seeds']} seed{'s' * (now['seeds'] != 1)} instead of {then['seeds']}")
    found += [text for key, text in CHANGED.items() if not same[key]]
    if not same["taken_back"]:
        found.append(f"Holm's correction takes back {now['taken_back']} of its findings, before {then['taken_back']}")
    return found or ["same words, numbers and runs: the rule's code, or which finding Holm's correction takes back"]


def moved(ledger: list[dict[str, Any]], then: dict[str, Record]) -> dict[str, Any]:
    """The claims whose verdict or scale changed, in order, and the numbers of old and new claims.

    ledger: rows of claims.yaml, each with its entry of claims.json as "verdict".
    """
    rows, new = [], 0
    for row in ledger:
        now = record(row, row["verdict"])
        if row["id"] not in then:
            new += 1
            continue
        was = then[row["id"]]
        if (was["verdict"], was["scale"]) != (now["verdict"], now["scale"]):
            rows.append({"id": row["id"], "claim": row["claim"], "then": was, "now": now, "why": why(was, now)})
    return {"rows": rows, "of": len(ledger) - new, "new": new}
