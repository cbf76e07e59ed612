"""results/claims.json: the verdict of every claim, with the runs that it rests on.

Claims share sets of runs, so each set is written once: `runs` of a verdict is the digest of a set, and `sets` has the
ids. `read` gives the lists back.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.common.paths import CLAIMS
from allmlp.judging.statistics import CORRECTED

WAY_OUT = f"Run `allmlp judge`, or `git checkout {CLAIMS}`."


def label(found: Mapping[str, Any]) -> str:
    """How the verdict of a claim or part is called: its name, or `corrected`."""
    return CORRECTED if found["verdict"] == "contradicted" and found.get("corrected") else found["verdict"]


def counts(entries: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Verdict -> how many claims have it. A claim that is the `same_as` another one counts with that one."""
    return Counter(label(entry) for entry in entries if not entry.get("same_as"))


def _verdicts(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every mapping of claims.json that may have runs: one per claim, and one per scale at which it was judged."""
    for entry in entries:
        yield entry
        yield from entry["at"].values()


def write(content: dict[str, Any]) -> None:
    """Write the file. content: `plan`, `scale` and `claims`, whose runs are lists."""
    claims: list[dict[str, Any]] = json.loads(json.dumps(content["claims"]))  # a copy, to change
    sets: dict[str, list[str]] = {}
    for verdict in _verdicts(claims):
        if "runs" in verdict:
            digest = paths.digest(verdict["runs"], 8)
            sets[digest] = verdict["runs"]
            verdict["runs"] = digest
    paths.write_atomically(CLAIMS, paths.json_lines({**content, "sets": dict(sorted(sets.items())), "claims": claims}))


def read() -> dict[str, Any]:
    """The content of the file, with lists of runs."""
    if not CLAIMS.is_file():
        raise UserError(f"{CLAIMS}: is missing. Run `allmlp judge`.")
    content: dict[str, Any] = formats.read("claims", CLAIMS, WAY_OUT)
    try:
        for verdict in _verdicts(content["claims"]):
            if "runs" in verdict:
                verdict["runs"] = content["sets"][verdict["runs"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{CLAIMS}: is damaged ({error!r}). {WAY_OUT}") from error
    return content
