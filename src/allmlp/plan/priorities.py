"""The order of open runs for `allmlp advance`: most claims decided per hour first.

Greedy: the next claim is the one with the fewest hours of open runs per claim that they decide (the same runs often
decide several). Its runs follow seed by seed, after their parents and searches. Runs that no claim needs come last.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allmlp.common import paths
from allmlp.spec.run import Run

ORDER = Path("work/order.json")
VARIABLE = "ALLMLP_ORDER"  # its file, for the Snakefile that `allmlp advance` starts


@dataclass(frozen=True)
class OpenRun:
    """The inputs of the order: hours left, the seed, and the open runs that must come before."""

    hours: float
    seed: int
    waits: tuple[str, ...] = ()


def order(runs: Mapping[str, OpenRun], claims: Mapping[str, frozenset[str]]) -> list[str]:
    """The ids of the open `runs`, in order.

    `claims`: claim -> the runs that decide it; those that are not open count as done. Equal runs or claims keep their
    order.
    """
    needed = {claim: add_dependencies(runs, of) for claim, of in claims.items()}
    found: dict[str, None] = {}
    left = [claim for claim, of in needed.items() if of]
    while left:
        best = min(left, key=lambda claim: _hours_per_claim(claim, left, needed, runs, found.keys()))
        _add(found, runs, needed[best])
        left = [claim for claim in left if not needed[claim] <= found.keys()]
    _add(found, runs, frozenset(runs))
    return list(found)


def add_dependencies(runs: Mapping[str, OpenRun], wanted: frozenset[str]) -> frozenset[str]:
    """These open runs, and the open runs that they wait for, directly or indirectly."""
    found: set[str] = set()
    waiting = [run for run in wanted if run in runs]
    while waiting:
        run = waiting.pop()
        if run not in found:
            found.add(run)
            waiting += [one for one in runs[run].waits if one in runs]
    return frozenset(found)


def _hours_per_claim(
    claim: str, left: list[str], needed: Mapping[str, frozenset[str]], runs: Mapping[str, OpenRun], done: Any
) -> float:
    there = needed[claim] | done
    decided = sum(needed[other] <= there for other in left)
    return sum(runs[run].hours for run in sorted(needed[claim] - done)) / decided


def _add(found: dict[str, None], runs: Mapping[str, OpenRun], wanted: frozenset[str]) -> None:
    """Append the wanted runs, seed by seed, each after the runs that it waits for."""

    def append(run: str) -> None:
        if run in runs and run not in found:
            for one in runs[run].waits:
                append(one)
            found[run] = None

    place = {run: number for number, run in enumerate(runs)}
    for run in sorted(wanted, key=lambda run: (runs[run].seed, place[run])):
        append(run)


def deciding_runs(
    ledger: list[dict[str, Any]], runs: list[Run], scales: tuple[str, ...], scale: str
) -> dict[str, frozenset[str]]:
    """claim -> the runs of a study that it needs, for the claims of the `ledger` that the scale can decide.

    These are all runs with one of the claim's measures, in the parts (a label) of its `runs:`, or in all. A scale can
    decide a claim if it meets the needs of the claim or of a part: scale, seeds, measures, runs.
    """
    found = {}
    for claim in ledger:
        parts = tuple(claim.get("runs") or ())
        among = [run for run in runs if not parts or run.labels.get("part") in parts]
        by_measure = [[run for run in among if measure in run.measures] for measure in claim["measures"]]
        own = claim["needs"]
        asked = [own, *({**own, **part} for part in (own.get("parts") or {}).values())]
        labels = {run.labels.get("part") for run in runs}
        trained = [of for of in by_measure if any(run.steps > 0 for run in of)]
        seeds = min((len({run.seed for run in of}) for of in trained or by_measure), default=0)
        if (
            claim["test"] is not None
            and not claim.get("same_as")  # it counts with the other claim
            and all(by_measure)
            and labels >= set(parts)
            and any(scales.index(one["scale"]) <= scales.index(scale) and seeds >= one["seeds"] for one in asked)
        ):
            found[claim["id"]] = frozenset(run.id for of in by_measure for run in of)
    return found


def write(found: list[str]) -> None:
    """Keep the order for a Snakefile with VARIABLE in its environment."""
    paths.write_atomically(ORDER, json.dumps(found) + "\n")


def read_order() -> list[str]:
    """The order of the `allmlp advance` that has started this process; empty if none has."""
    try:
        return list(json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8")))
    except (KeyError, OSError, ValueError):
        return []


class Priorities:
    """Snakemake's priorities of jobs, higher ones first, for runs in `order`; measures come before any training."""

    def __init__(self, order: Sequence[str]) -> None:
        self.places = {run: len(order) - place for place, run in enumerate(order)}
        self.highest = 2 * len(order) + 2  # of what others wait for

    def job_priority(self, runs: Iterable[Run], measuring: bool = False) -> int:
        """Of a job of these runs: that of the first one."""
        first = max((self.places.get(run.id, 0) for run in runs), default=0)
        return first + (len(self.places) + 1 if measuring else 0)
