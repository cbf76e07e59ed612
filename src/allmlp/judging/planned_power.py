"""`allmlp power`: a row for each part of a claim that is judged by seeds, at each scale that plans it
(`judging.power`)."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.common.terminal import align_columns
from allmlp.judging import claims_json, correction, selection
from allmlp.judging.evidence_summary import Grounds
from allmlp.judging.power import (
    ENOUGH,
    MOST,
    TOO_LITTLE,
    Thresholds,
    advice,
    assumed_effects,
    chance,
    futility_reason,
)
from allmlp.judging.statistics import NOT_TESTABLE
from allmlp.plan.merge import SCALES
from allmlp.spec import catalogue

POWER = Path("results/power.json")


def planned_seeds(seeds: Mapping[str, Mapping[str, Any]], measures: Iterable[str], at: str, of: str, n: int) -> int:
    """How many seeds a part will have at the scale `at` if it had n at the scale `of`: the fewest of its measures'.

    seeds: scale -> measure -> part of the study -> seeds. It takes the seeds of the parts of the study that had n. If
    none had n, for example because a condition leaves some out, it takes the same share of the largest part.
    """
    found = []
    for measure in measures:
        then, now = seeds[of].get(measure, {}), seeds[at].get(measure, {})
        if not then or not now:
            continue
        same = [now[part] for part in then if then[part] == n and part in now]
        found.append(min(same) if same else n * max(now.values()) // max(then.values()))
    return n if at == of or not found else min(found)


def claim_rows(
    claim: Mapping[str, Any],
    entry: Mapping[str, Any],
    seeds: Mapping[str, Any],
    family: Mapping[tuple[str, str, str], float],
) -> Iterator[dict[str, Any]]:
    """A row for each part that is judged by seeds and each scale that plans it, from the scale of the known spread
    upwards. family: the p values that are corrected together with the claim's (`correction.family_p_values`)."""
    sources = {part: scale for scale, found in entry["at"].items() for part in found.get("rests", {})}
    for part, source in sources.items():
        rests = Grounds.read(entry["at"][source]["rests"][part])
        claimed = _claimed_effect(claim, part)
        largest = _thresholds(entry["at"][source], claim["id"], part, family)
        spread = max(basis.spread for basis in rests.of)
        for scale in SCALES[SCALES.index(source) :]:
            if not all(measure in seeds.get(scale, {}) for measure in claim["measures"]):
                continue
            n = planned_seeds(seeds, claim["measures"], scale, source, rests.of[0].n)
            row = {"claim": claim["id"], "part": part, "scale": scale, "n": n, "from": source, "from_n": rests.of[0].n}
            yield {**row, **_chances(rests, min(n, MOST), claimed, spread, largest)}


def _thresholds(
    at: Mapping[str, Any], claim: str, part: str, family: Mapping[tuple[str, str, str], float]
) -> Thresholds:
    """What Holm's correction asks of both tests of a part, beside the others of its family."""
    found = next((one for one in at.get("parts", ()) if one["name"] == part), at)

    def largest(kind: str) -> float | None:
        others = (p for test, p in family.items() if test != (claim, part, kind))
        return None if found.get(kind) is None else correction.threshold(others)

    return Thresholds(largest("p"), largest("p_against"))


def _chances(rests: Grounds, n: int, claimed: float | None, spread: float, largest: Thresholds) -> dict[str, Any]:
    guards = "; ".join(rests.guards)
    if unknown := _unknown_reason(rests):
        nothing = {"spread": None, "if_true": None, "if_not": None, "true": None, "not": None, "needs": unknown}
        return {**nothing, "enough": None, "never": False, "guards": guards}
    given: dict[str, Any] = {"claimed": claimed, "largest": largest}
    found = {true: chance(rests, n, true=true, **given) for true in (True, False)}
    needs = {true: advice(rests, true=true, **given) for true, at in found.items() if at < TOO_LITTLE}
    both = len(needs) == 2 and needs[True] == needs[False]
    said = {true: one.words for true, one in needs.items()}
    words = [said[True]] if both else [f"{'if true' if true else 'if not'} {of}" for true, of in said.items()]
    seeds = [one.seeds for one in needs.values()]
    assumed = assumed_effects(rests, claimed) or (None, None)
    return {
        "spread": float(f"{spread:.3g}"),
        "if_true": round(found[True], 2),
        "if_not": round(found[False], 2),
        "true": assumed[0],
        "not": assumed[1],
        "needs": "; ".join(words),
        "enough": max(filter(None, seeds)) if all(seeds) and seeds else None,
        "never": True in needs and needs[True].never,
        "guards": guards,
    }


def _unknown_reason(rests: Grounds) -> str:
    """Why no spread is known; empty if one is."""
    measured = [basis.spread for basis in rests.of if basis.rule.kind not in ("all", "few")]
    if not all(map(math.isfinite, measured)):
        return "no spread is known yet"
    return "no spread is known: every seed gave the same number" if measured and not any(measured) else ""


def _claimed_effect(claim: Mapping[str, Any], part: str) -> float | None:
    """The effect that the claim's entry gives for a part: by its letter, `all` for a claim without parts."""
    given = claim.get("effect") or {}
    return given.get(part[1:2] if part.startswith("(") else "all")


def rows(scale: str | None = None, claim: str | None = None) -> list[dict[str, Any]]:
    """All rows of the table, or those of one scale or claim, from claims.json and selected.json."""
    entries = {entry["id"]: entry for entry in claims_json.read()["claims"]}
    if claim and claim not in entries:
        raise UserError(f"--claim {claim}: no such claim. There are: {', '.join(entries)}.")
    content, found = selection.read()["studies"], []
    for study in catalogue.STUDIES:
        seeds = {name: at.get("seeds", {}) for name, at in content.get(study, {}).items()}
        of_study = [entry for entry in entries.values() if entry.get("study") == study]
        for row in catalogue.ledger(study):
            if claim in (None, row["id"]) and row["id"] in entries and not row.get("same_as"):
                family = correction.family_p_values(of_study, row["id"])
                found += list(claim_rows(row, entries[row["id"]], seeds, family))
    return [row for row in found if scale in (None, row["scale"])]


def hopeless_parts() -> dict[str, str]:
    """`claim, part` -> why no number of seeds can reproduce it, of each part that is judged, at its deciding scale."""
    found = {}
    for entry in claims_json.read()["claims"]:
        verdicts = {part["name"]: part["verdict"] for part in entry.get("parts", ())} or {"": entry["verdict"]}
        for part, values in entry.get("rests", {}).items():
            if NOT_TESTABLE not in (entry["verdict"], verdicts[part]) and (
                why := futility_reason(Grounds.read(values))
            ):
                found[", ".join(filter(None, [entry["id"], part]))] = why
    return found


def write() -> None:
    """Write results/power.json: claim -> rows, which the report shows. Scales with equally many seeds share a row."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    by_claim: dict[str, list[dict[str, Any]]] = {}
    for row in rows():
        same = (row["claim"], row["part"], row["n"])
        if same in found:
            found[same]["scale"] += f", {row['scale']}"
        else:
            found[same] = {key: value for key, value in row.items() if key != "claim"}
            by_claim.setdefault(row["claim"], []).append(found[same])
    paths.write_atomically(POWER, json.dumps(by_claim, indent=1) + "\n")


def show(scale: str | None, claim: str | None, format: str) -> None:
    """Print the rows as a table, or as JSON for machines; a line per study and scale if neither is chosen."""
    found = rows(scale, claim)
    if format == "json":
        print(json.dumps(found, indent=1))
    elif scale is None and claim is None:
        _show_counts(found)
    else:
        _show_rows(found, claim)


def counts(found: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, int, int, int]]:
    """Study, scale, parts, those that decide with a chance of at least ENOUGH if the claim is true, unknown ones."""
    study_of = {claim["id"]: study for study in catalogue.STUDIES for claim in catalogue.ledger(study)}
    by_place: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in found:
        by_place.setdefault((study_of[row["claim"]], row["scale"]), []).append(row)
    order = list(catalogue.STUDIES)
    places = sorted(by_place, key=lambda place: (order.index(place[0]), SCALES.index(place[1])))
    return [
        (
            *place,
            len(at := by_place[place]),
            sum(row["if_true"] is not None and row["if_true"] >= ENOUGH for row in at),
            sum(row["if_true"] is None for row in at),
        )
        for place in places
    ]


def _show_counts(found: Sequence[Mapping[str, Any]]) -> None:
    heads = ("study", "scale", "parts judged by seeds", f"chance of {ENOUGH:.0%} or more, if true", "unknown")
    lines = [heads, *(tuple(map(str, row)) for row in counts(found))]
    print("\n".join(align_columns(lines, left=2)))
    if never := len(hopeless_parts()):
        print(f"No number of seeds can reproduce {never} of these parts.")
    print("A row per part: `allmlp power --scale long`, or `allmlp power --claim 003-6`.")


def _show_rows(found: Sequence[Mapping[str, Any]], claim: str | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for head in ("claim", "part", "scale"):
        table.add_column(head, overflow="fold")
    for head in ("n", "spread", "if true", "if not"):
        table.add_column(head, justify="right")
    table.add_column("", overflow="fold")
    for row in found:
        spread = "-" if row["spread"] is None else f"{row['spread']:.3g} ({row['from']}, {row['from_n']})"
        guards = escape(row["guards"]) if claim else ""
        words = "; ".join(filter(None, [row["needs"] and f"[red]{row['needs']}[/red]", guards]))
        chances = ("-" if row[key] is None else f"{row[key]:.0%}" for key in ("if_true", "if_not"))
        table.add_row(row["claim"], row["part"], row["scale"], str(row["n"]), spread, *chances, words)
    Console(width=None if Console().is_terminal else 200).print(table)
    short = sum(bool(row["needs"]) for row in found)
    for part, why in hopeless_parts().items():
        print(f"{part}: no number of seeds can reproduce it: {why}")
    print(
        f"{len(found)} rows, {short} of which would not decide. Spread: largest of the part's numbers (scale, seeds)."
    )
