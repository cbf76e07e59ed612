"""Which verdicts moved between two states of the project, and the facts that differ with them.

`allmlp diff STATE --write` writes results/moved.json, which the report shows.
"""

from pathlib import Path
from typing import Any, NamedTuple

from allmlp.judging.needs import letter
from allmlp.judging.rule_digests import SAID, WHERE_THERE

MOVED = Path("results/moved.json")


class State(NamedTuple):
    """The claims of a state: id -> row of claims.yaml, and id -> entry of claims.json, with runs as its file has them:
    one digest for a set."""

    rows: dict[str, dict[str, Any]]
    entries: dict[str, dict[str, Any]]


def moved_verdicts(before: State, after: State) -> dict[str, Any]:
    """The claims and parts whose verdict differs, in order; `of`: how many claims both have; `new`: only `after`."""
    both = [claim for claim in after.entries if claim in before.entries]
    rows = []
    for claim in both:
        then, now = before.entries[claim], after.entries[claim]
        old, new = _verdicts(then), _verdicts(now)
        about = {"id": claim, "claim": now["claim"]}
        reasons = list_reasons(then, now, before.rows.get(claim, {}), after.rows.get(claim, {}))
        rows += [
            {
                **about,
                "part": part,
                "then": _verdict_entry(then, was),
                "now": _verdict_entry(now, new[part]),
                "why": reasons,
            }
            for part, was in old.items()
            if new.get(part, was) != was
        ]
    return {"rows": rows, "of": len(both), "new": len(after.entries) - len(both)}


def _verdicts(entry: dict[str, Any]) -> dict[str, str]:
    """Part -> verdict; "" for the claim as a whole. A part is known by its letter, because its name may say a size."""
    parts = {letter(part["name"]) or part["name"]: part["verdict"] for part in entry.get("parts") or ()}
    return {"": entry["verdict"], **parts}


def _verdict_entry(entry: dict[str, Any], verdict: str) -> dict[str, Any]:
    return {"verdict": verdict, "scale": entry["scale"]}


def list_reasons(then: dict[str, Any], now: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """All facts about a claim that differ, in words. then, now: its entries; old, new: its rows of claims.yaml."""
    found = []
    if then["scale"] != now["scale"]:
        found.append(f"scale: judged at {now['scale'] or 'none'}, before at {then['scale'] or 'none'}")
    elif then.get("runs") != now.get("runs"):
        found.append("runs: others of the same scale")
    if now.get("n") and then.get("n") and now["n"] != then["n"]:
        found.append(f"seeds: {now['n']} instead of {then['n']}")
    if differing := [key.replace("_", " ") for key in (*SAID, *WHERE_THERE) if old.get(key) != new.get(key)]:
        found.append(f"rule: another {', '.join(differing)}")
    elif then["rule"] != now["rule"]:
        found.append("rule: the same words and numbers, other code")
    if then.get("holm") != now.get("holm"):
        takes = {True: "takes nothing back", False: "takes a verdict back", None: "has nothing to correct"}
        found.append(f"family: Holm's correction {takes[now.get('holm')]}, before it {takes[then.get('holm')]}")
    return found or ["family: the same rule and runs among other tests"]
