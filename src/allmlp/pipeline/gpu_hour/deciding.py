"""The last stage: open runs of the bundle, or of the plan, that decide most claims, several on a card at a time."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from allmlp.common import cores, paths, processes
from allmlp.common.locks import hold
from allmlp.measurements import store
from allmlp.pipeline import sequential
from allmlp.pipeline.advancing import APART
from allmlp.pipeline.bundles.packing import first_runs, pack_finished
from allmlp.pipeline.bundles.unpacking import unpack
from allmlp.pipeline.gpu_hour.stages import BUNDLE, DECIDED, wrong_architectures
from allmlp.plan import status
from allmlp.plan.portable import ResolvedPlan, read_bundle_plan
from allmlp.spec.run import Run
from allmlp.training.gpu_slots import SHARED, places
from allmlp.training.gpus import machine

ON_A_CARD = "4"  # runs, unless ALLMLP_RUNS_PER_GPU says another number
RESERVE_S = 60.0  # of the time, at most a fifth: states are saved, measures end, the bundle is packed
ANY = 1e18  # bytes of tokens that are here already


def decide(out: Path, device: str, scale: str, minutes: float, max_mb: float, bundle: Path | None) -> int:
    """Train and measure until the time is over, then pack what was made. Returns 1 if a job failed."""
    os.environ.setdefault(SHARED, ON_A_CARD)
    until = time.time() + 60 * minutes - min(RESERVE_S, 12 * minutes)
    processes.end_cleanly()
    with hold(Path("work/advance.lock"), "make gpu-hour"):
        processes.stop(APART.resolve())
        APART.mkdir(parents=True, exist_ok=True)
        if bundle:
            unpack(bundle)
        resolved, left_out = without_wrong(_plan(device, scale, bundle is not None), wrong_architectures(out))
        asked = len(resolved.open_runs())
        at_once = places() * max(1, len(machine())) if device == "cuda" else cores.count()
        failed = sequential.work(resolved, APART.resolve(), until, min(at_once, cores.count()))
        for log in failed:
            print(f"failed: {log}")
        store.add_measurements(resolved.runs)
        status.show(resolved)
        left = len(resolved.open_runs())
        pack_finished(resolved, out / BUNDLE, max_mb)
    found = {"asked": asked, "done": asked - left, "failed": len(failed), "left_out": left_out, "complete": not left}
    paths.write_atomically(out / DECIDED, json.dumps(found, indent=1) + "\n")
    return 1 if failed else 0


def without_wrong(resolved: ResolvedPlan, wrong: Mapping[str, set[str]]) -> tuple[ResolvedPlan, int]:
    """The plan without the runs that this device would compute wrongly, and those that need one; and their number."""

    def is_wrong(run: Run) -> bool:
        of = wrong.get(run.architecture, set())
        return "plain" in of or ("compiled" in of and run.compile) or ("stacked" in of and run.stacked > 1)

    bad, before = {run.id for run in resolved.known if is_wrong(run)}, -1
    while len(bad) > before:
        before = len(bad)
        bad |= {run.id for run in resolved.known if bad & {*run.needs}}
    order = [run for run in resolved.order if run not in bad]
    return replace(resolved, order=order), len(resolved.order) - len(order)


def _plan(device: str, scale: str, from_bundle: bool) -> ResolvedPlan:
    """The runs that a bundle brought; without one, the scale's open runs whose tokens are here."""
    if not from_bundle and has_all_commands():
        from allmlp.plan.plan import load_plan

        plan = status.resolve(load_plan(changes={"scale": scale, "device": device}))
        return first_runs(plan, float("inf"), ANY)[0]
    found = read_bundle_plan()
    return replace(found, arguments=f"--scale {found.scale} --device {device}") if has_all_commands() else found


def has_all_commands() -> bool:
    """Are parameters read here, and do commands take a scale?"""
    try:
        import pydantic
        import typer
    except ImportError:
        return False
    return bool(pydantic and typer)
