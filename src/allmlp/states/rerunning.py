"""`allmlp verify --rerun STUDY`: are a study's committed measurements those that its code and parameters give?

Its runs are trained and measured again apart, and no file of the project changes. Where a run was committed from the
same CPU type, each measurement must have the same values, bit by bit; elsewhere those of the columns' tolerances.
"""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from allmlp import measured, references, store
from allmlp.errors import UserError
from allmlp.locks import hold
from allmlp.plan import Plan
from allmlp.references import Reference
from allmlp.reproducing import counted, made_again

APART = Path("work/rerun")
COST = "cost"  # the measure that says on which hardware a run was trained


def rerun(plan: Plan, cores: int) -> int:
    """Print what is not as committed, and a summary. Returns 1 if anything is, else 0."""
    if all(store.unstored(run) == run.measurements for run in plan.runs):
        raise UserError(f"{plan.study} at scale {plan.scale}: nothing is committed to compare with. Choose a --scale.")
    apart = plan.root / APART
    with hold(plan.root / "work/rerun.lock", "allmlp verify --rerun"):
        reference = references.chosen(plan.root, apart, None)
        comparison = made_again(plan, apart, cores, reference)
        here = _hardware(comparison, apart, reference)
        reference.forget()
        shutil.rmtree(apart)
    wrong = list(filter(None, (_wrong(row, here) for row in comparison.itertuples())))
    print("\n".join([*wrong, f"{plan.study}, {len(plan.runs)} runs again: measurements {counted(comparison)}"]))
    return int(bool(wrong))


def _hardware(comparison: pd.DataFrame, apart: Path, reference: Reference) -> dict[str, str]:
    """run -> the hardware that it was trained on both times; without runs of two kinds of hardware."""
    found = {}
    for row in comparison[comparison.measure == COST].itertuples():
        stored = reference.stored(str(row.study), COST)
        for key in (key for key in stored.places if key[0] == row.run):
            fresh, then = measured.read(apart / str(row.file))[1], stored.rows(key)
            if (hardware := fresh["hardware"][0].as_py()) == then["hardware"][0].as_py():
                found[str(row.run)] = hardware
    return found


def _wrong(row: Any, here: dict[str, str]) -> str:
    """What is wrong with a measurement; empty if nothing is."""
    hardware = here.get(row.run)
    if row.outcome == "different":
        return f"{row.run} {row.measure}: {row.detail}"
    if row.outcome == "within tolerance" and hardware:
        return f"{row.run} {row.measure}: other bits on the same CPU type ({hardware}): {row.detail}"
    return ""
