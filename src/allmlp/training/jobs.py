"""A job: runs trained one after the other in one process, on one leased device."""

from allmlp.run import Run
from allmlp.training.devices import lease
from allmlp.training.memory import keep_freed_blocks


def train_runs(runs: list[Run]) -> None:
    """Train and publish runs. Work folders go once all are published: a job that fails is repeated cheaply."""
    runs = sorted(runs, key=lambda run: run.depth)  # parents first
    kind = "cuda" if any(run.device == "cuda" for run in runs) else "cpu"
    keep_freed_blocks()
    with lease(kind):
        from allmlp.training import checkpoint, environment, relatives  # import torch: only once the device is chosen

        relatives.require_relatives(runs)
        print("; ".join(environment.provenance(kind).values()), flush=True)
        for run in runs:
            checkpoint.produce(run)
        for run in runs:
            checkpoint.forget(run)
