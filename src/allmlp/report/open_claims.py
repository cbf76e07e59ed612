"""What a claim without a verdict lacks, part by part: what its rule meets first on the way to a decision.

The order of `LACKS` is that way: runs must be there, then large enough, then meet the premise, and so on; only then do
seeds count.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from allmlp.judging import needs
from allmlp.judging.correction import LOST
from allmlp.judging.statistics import FEWEST_SEEDS, NOT_TESTABLE

LACKS = {  # kind -> what is lacking, and what helps
    "runs": ("runs", "Its runs are not planned, or not all measured."),
    "scale": ("a larger scale", "The rule asks for more than was run; the numbers here are shown, not judged."),
    "premise": ("its premise", "What the claim takes for granted did not come about in these runs."),
    "rate": (
        "a learning rate inside its search",
        "Of these models the best rate tried is the lowest or the highest: a wider grid helps.",
    ),
    "rule": ("another rule", "No number of seeds decides at this spread, or the rule fails on what is known."),
    "further": ("longer or larger runs", "The number is a bound: of runs that had not arrived, or of the sizes tried."),
    "seeds": (
        "more seeds",
        "With so many the planned test decides in 80 % of cases, be the claim true or not, after Holm's correction.",
    ),
    "margin": ("a number off the margin", "Seeds would do if the effect were as claimed; it lies near the margin."),
}
PREMISE, TRIED, BOUND = "premise not met: ", "the rule ", "not "  # how guards begin
EDGE = "the learning rate is at an edge of its search, or not known "
OPEN = ("undecided", NOT_TESTABLE, "not run")


class Lack(NamedTuple):
    """What a part lacks: one of the kinds of `LACKS`, and in words how much or why. `part`: empty for a whole claim."""

    part: str
    kind: str
    words: str


def lacks(claim: Mapping[str, Any], entry: Mapping[str, Any], power: Iterable[Mapping[str, Any]] = ()) -> list[Lack]:
    """One for each part without a verdict.

    claim: a row of claims.yaml; entry: its entry in claims.json; power: its rows in power.json.
    """
    if not entry["scale"]:
        return [Lack("", "runs", missing_runs(claim, entry)[1])]
    if entry["verdict"] == NOT_TESTABLE:
        return [_withheld(claim, "", power)]
    parts = entry["parts"] or [{**entry, "name": ""}]
    return [_of_part(claim, entry, part, power) for part in parts if part["verdict"] in OPEN]


def missing_runs(claim: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[bool, str]:
    """Of a claim without a judged run: does the scale that it asks for plan its runs, and what is lacking there?"""
    scale = claim["needs"]["scale"]
    for said in entry["text"].split("; "):
        if said.endswith(f" at {scale}"):
            return "planned at" not in said, said
    return True, f"not all of the runs that scale {scale} plans for it are measured"


def rows(studies: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[Mapping[str, Any], Lack]]]:
    """kind -> claims of these studies of the page without a verdict, each with what a part of it lacks."""
    found: dict[str, list[tuple[Mapping[str, Any], Lack]]] = {kind: [] for kind in LACKS}
    for study in studies:
        for row in (*study["claims"], *study["own"]):
            if row["verdict"]["verdict"] in OPEN and not row.get("same_as"):
                for lack in row["lacks"]:
                    found[lack.kind].append((row, lack))
    return {kind: of for kind, of in found.items() if of}


def _of_part(
    claim: Mapping[str, Any], entry: Mapping[str, Any], part: Mapping[str, Any], power: Iterable[Mapping[str, Any]]
) -> Lack:
    name = part["name"]
    if part["verdict"] == NOT_TESTABLE:
        return _withheld(claim, name, power)
    if part["text"].startswith("not judged"):
        return Lack(name, "runs", part["text"].split(";")[0])
    for guard in (entry.get("rests") or {}).get(name, {}).get("guards", ()):
        for kind, begin in (("premise", PREMISE), ("rate", EDGE), ("rule", TRIED), ("further", BOUND)):
            if guard.startswith(begin):
                return Lack(name, kind, guard.removeprefix(PREMISE).removeprefix(EDGE))
    if LOST in part["text"]:
        return Lack(name, "seeds", LOST.removeprefix("; "))
    return _by_power(entry, name, power)


def _withheld(claim: Mapping[str, Any], name: str, power: Iterable[Mapping[str, Any]]) -> Lack:
    asked = needs.asked_of(claim, name)
    for row in _power_at(power, name, asked["scale"]):
        if row.get("never"):
            return Lack(name, "rule", f"{row['needs']}, at {asked['scale']} too")
    seeds = f"{asked['seeds']} seed{'s' * (asked['seeds'] != 1)}"
    return Lack(name, "scale", f"needs scale {asked['scale']} or larger and {seeds}")


def _by_power(entry: Mapping[str, Any], name: str, power: Iterable[Mapping[str, Any]]) -> Lack:
    for row in _power_at(power, name, entry["scale"]):
        if row.get("never"):
            return Lack(name, "rule", row["needs"])
        if row["needs"]:
            return Lack(name, "seeds", f"needs {row['enough']} seeds" if row.get("enough") else row["needs"])
    if (entry["n"] or 0) < FEWEST_SEEDS and not entry["parts"]:
        return Lack(name, "seeds", f"needs {FEWEST_SEEDS} seeds")
    return Lack(name, "margin", "the interval contains the margin")


def _power_at(power: Iterable[Mapping[str, Any]], name: str, scale: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a part at a scale: a row stands for several of equally many seeds."""
    return (row for row in power if row["part"] == name and scale in row["scale"].split(", "))
