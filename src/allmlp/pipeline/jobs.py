"""A job: runs trained, measured, or both, one after the other or stacked in one process.

Trainings are on one leased device.
"""

from collections.abc import Sequence
from contextlib import nullcontext

from allmlp.common import deadline
from allmlp.common.processes import UNAVAILABLE
from allmlp.measurements import store
from allmlp.pipeline import manifests, timing
from allmlp.plan.batches import Batch
from allmlp.spec.run import Run
from allmlp.training import launch, subnormals
from allmlp.training.devices import lease
from allmlp.training.memory import keep_freed_blocks


def train_batch(batch: Batch, measure: bool = False) -> None:
    """Train what is open of a batch, and `measure` it too; then note for Snakemake what was made."""
    train_runs(list(batch.to_train), batch.to_measure if measure else ())
    if launch.is_leader():
        manifests.note_weights(batch)
        if measure:
            manifests.note_measurements(batch, early=True)


def measure_batch(batch: Batch) -> None:
    """Take the missing measures of a batch, and note for Snakemake what was made."""
    measure_runs(batch.to_measure)
    manifests.note_measurements(batch)


def train_runs(runs: list[Run], measured: Sequence[Run] = ()) -> None:
    """Train and publish runs, and take the missing measures of the `measured` ones.

    Work folders are removed once all is done, so that a failed job is repeated without training again.
    """
    runs = sorted(runs, key=lambda run: run.depth)  # parents first
    kind, count = "cuda" if any(run.device == "cuda" for run in runs) else "cpu", [run.processes for run in runs]
    keep_freed_blocks()
    devices = nullcontext() if launch.is_launched() or not runs else lease(kind, count=max(count))
    with devices, subnormals.flush_to_zero():
        # they import torch: only once the device is chosen
        from allmlp.training import environment, inputs, stack

        inputs.require_relatives(runs)
        if runs and launch.is_leader():
            print("; ".join(environment.provenance(kind).values()), flush=True)
        for members in stack.stacks(runs):
            deadline.leave_if_passed(members[0].id)
            with timing.record_seconds(f"train {' '.join(run.id for run in members)}"):
                launch.train(members)
    if not launch.is_leader():
        return
    if measured:
        measure_runs(measured)
    _forget(runs)


def measure_runs(runs: Sequence[Run]) -> None:
    """Take the missing measures of runs, each with the same bits as in a process of its own. Those whose library is not
    installed are skipped: status UNAVAILABLE.
    """
    import torch

    from allmlp.training import measuring
    from allmlp.training.published import TrainedRun

    keep_freed_blocks()
    torch.set_num_threads(1)
    torch.set_deterministic_debug_mode("default")  # a training before it asked for more
    lacking = []
    for run in runs:
        trained = TrainedRun(run)
        for name in store.missing_files(run):
            deadline.leave_if_passed(f"{run.id} {name}")
            try:
                with timing.record_seconds(f"measure {run.id} {name}"):
                    print(measuring.take(run, name, trained), flush=True)
            except ImportError as error:
                lacking.append(name)
                print(f"{run.id} {name}: cannot be taken on this machine ({error})", flush=True)
    _forget(runs)
    if lacking:
        raise SystemExit(UNAVAILABLE)


def _forget(runs: Sequence[Run]) -> None:
    """Remove the work folders. A job that was killed between training and measuring has left its own."""
    from allmlp.training import checkpoint

    for run in runs:
        checkpoint.forget(run)
