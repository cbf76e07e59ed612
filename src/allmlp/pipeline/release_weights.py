"""Weights that no open job reads are released, so that a large scale needs a bounded disk.

`weights: released` in params.yaml asks for it; the scale `paper` has it unless `weights: kept` is there. Each job that
measures releases at its end, by what lies on the disk: a killed one leaves nothing for ever. What
Snakemake's `temp()` does ends with the call of Snakemake, and knows one file of a run.

A run's measurements stay, and its run.json and log.parquet. A later measure, or a new run that reads it, trains it
again.
"""

from collections.abc import Iterator
from pathlib import Path

from allmlp.plan.batches import Batch, is_unmeasured, make_batches
from allmlp.plan.portable import RunPlan
from allmlp.spec.run import Run

CHECKPOINTS = Path("results/checkpoints")
WEIGHTS = "*.safetensors"


def release(plan: RunPlan) -> list[str]:
    """Delete the weights of the plan's runs that nothing open reads. Returns the ids of these runs.

    Nothing goes where the plan keeps weights, and no run that DVC has a pointer to. Runs that share a batch are
    released together, because Snakemake wants all inputs of a job until it has ended.
    """
    if not plan.releases:
        return []
    by_id = {run.id: run for run in plan.runs}
    there = {path.parent.name for path in CHECKPOINTS.glob(f"*/{WEIGHTS}")} & by_id.keys()
    read: set[str] = set()
    for batch in make_batches(plan.runs).values() if there else ():
        of = set(_read(batch))
        if not there.isdisjoint(of) and any(map(is_unmeasured, batch.runs)):
            read |= of
    released = sorted(run for run in there - read if not Path(f"{by_id[run].folder}.dvc").is_file())
    for run in released:
        _delete(by_id[run])
    return released


def _read(batch: Batch) -> Iterator[str]:
    """The runs whose weights the batch's trainings and measures read, its own among them."""
    for run in batch.runs:
        yield run.id
        if run.parent:
            yield run.parent
        if not Path(run.checkpoint).is_file():
            yield from run.search


def _delete(run: Run) -> None:
    Path(run.checkpoint).unlink(missing_ok=True)  # first: it marks a complete folder
    for path in run.folder.glob(WEIGHTS):
        path.unlink(missing_ok=True)  # another job may release at the same time
    print(f"{run.id}: weights released", flush=True)
