"""A job: runs trained, measured, or both, one after the other or stacked in one process.

Trainings are on one leased device.
"""

from contextlib import nullcontext

from allmlp import busy, store
from allmlp.run import Run
from allmlp.training import deadline, starting, subnormals
from allmlp.training.devices import lease
from allmlp.training.memory import keep_freed_blocks

UNAVAILABLE = 69  # sysexits.h: a library that a measure needs is not installed here


def train_runs(runs: list[Run], measure: bool = False) -> None:
    """Train and publish runs; `measure` them too.

    Work folders are removed once all is done, so that a failed job is repeated without training again.
    """
    runs = sorted(runs, key=lambda run: run.depth)  # parents first
    kind = "cuda" if any(run.device == "cuda" for run in runs) else "cpu"
    keep_freed_blocks()
    devices = nullcontext() if starting.started() else lease(kind, count=max(run.processes for run in runs))
    with devices, subnormals.flushed():
        # they import torch: only once the device is chosen
        from allmlp.training import environment, relatives, stack

        relatives.require_relatives(runs)
        if starting.leads():
            print("; ".join(environment.provenance(kind).values()), flush=True)
        for members in stack.stacks(runs):
            deadline.leave_if_passed(members[0].id)
            with busy.spent(f"train {' '.join(run.id for run in members)}"):
                starting.train(members)
    if not starting.leads():
        return
    if measure:
        measure_runs(runs)
    else:
        _forget(runs)


def measure_runs(runs: list[Run]) -> None:
    """Take the missing measures of runs, each with the same bits as in a process of its own. Those whose library is not
    installed are skipped: status UNAVAILABLE.
    """
    import torch

    from allmlp import measuring
    from allmlp.training.trained import Trained

    keep_freed_blocks()
    torch.set_num_threads(1)
    torch.set_deterministic_debug_mode("default")  # a training before it asked for more
    lacking = []
    for run in runs:
        trained = Trained(run)
        for name in store.lacking(run):
            deadline.leave_if_passed(f"{run.id} {name}")
            try:
                with busy.spent(f"measure {run.id} {name}"):
                    print(measuring.take(run, name, trained), flush=True)
            except ImportError as error:
                lacking.append(name)
                print(f"{run.id} {name}: cannot be taken on this machine ({error})", flush=True)
    _forget(runs)
    if lacking:
        raise SystemExit(UNAVAILABLE)


def _forget(runs: list[Run]) -> None:
    """Remove the work folders. A job that was killed between training and measuring has left its own."""
    from allmlp.training import checkpoint

    for run in runs:
        checkpoint.forget(run)
