"""Networks like the paper's: they add every pair, with as many key frequencies (003-5, -6, -9 to -12).

The paper describes one network. Some of ours get a pair wrong, some have another number of key frequencies, so that
their errors, bounds and coefficients are not comparable. These claims are judged on the networks that are alike; the
result for all networks is reported beside.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding
from allmlp.studies.quadrature.verdicts.common import heavy

Parts = Callable[[pd.DataFrame, Evidence], Mapping[str, Finding]]


def seeds(evidence: Evidence) -> set[int]:
    """Seeds of the networks with accuracy 1 over all pairs and the paper's number of key frequencies.

    A key frequency is one with at least weight_share_1 of the output weight.
    """
    last = evidence.table("accuracy").sort_values("step").groupby("seed")["accuracy_1"].last()
    keys = heavy(evidence.table("error_table"), evidence.margin).groupby("seed").size()
    alike = (last == 1.0) & (keys.reindex(last.index, fill_value=0) == evidence.margin["keys_count"])
    return {int(seed) for seed in last.index[alike]}


def on_alike(evidence: Evidence, measure: str, parts: Parts) -> Finding:
    """The parts of a claim judged on the networks that are alike; the text of each also reports all networks."""
    rows = evidence.table(measure)
    chosen, of_all = rows[rows["seed"].isin(seeds(evidence))], parts(rows, evidence)
    n, of = chosen["seed"].nunique(), rows["seed"].nunique()
    found = {name: _beside(one, of_all[name], of) for name, one in parts(chosen, evidence).items()} if n else of_all
    judged = {name: _too_few(one, n, of, evidence.seeds) for name, one in found.items()}
    return whole(judged) if len(judged) > 1 else next(iter(judged.values()))


def _beside(alike: Finding, of_all: Finding, networks: int) -> Finding:
    """The finding on the networks that are alike, with that on all networks after it."""
    return replace(alike, text=f"{alike.text}; all {networks} networks: {of_all.verdict}, {of_all.text}")


def _too_few(found: Finding, n: int, of: int, needed: int) -> Finding:
    """Undecided where fewer networks are alike than the claim needs seeds."""
    if n >= needed:
        return found
    reason = f"{n} of {of} networks are like the paper's, {needed} are needed"
    return replace(found, verdict="undecided", n=n, p=None, p_against=None, text=f"not judged: {reason}; {found.text}")
