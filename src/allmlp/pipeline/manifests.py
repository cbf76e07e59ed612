"""What jobs make for Snakemake: a small file per batch, with the files that the job is about and their sha256.

    work/trained/<batch>.json     weights
    work/measured/<batch>.json    measurements
    work/taken/<batch>.json       the same, of a job that trained and measured: the job that measures moves it there

Snakemake deletes the outputs of a job that starts or fails. These it may delete; weights and measurements are none of
its files, and stay whole or not there.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from allmlp.common import formats, paths
from allmlp.measurements import store
from allmlp.plan.batches import Batch, is_unmeasured
from allmlp.spec.run import Run

REPORTED, TAKEN = Path("work/reported"), Path("work/taken")


def note_weights(batch: Batch) -> None:
    """Weights of a batch that are here."""
    there = [run for run in batch.runs if Path(run.checkpoint).is_file()]
    _write(batch.training_manifest, {run.checkpoint: _weights_digest(run) for run in there})


def note_measurements(batch: Batch, early: bool = False) -> None:
    """All measurements of a batch. `early`: by the job that trained it."""
    file = str(TAKEN / Path(batch.measuring_manifest).name) if early else batch.measuring_manifest
    _write(file, dict(sorted({of for run in batch.runs for of in _measure_digests(run)})))


def remove_stale(batches: Iterable[Batch]) -> None:
    """Remove what no longer holds: of batches whose weights or measurements are missing, and of an earlier report.

    Looked at now: another Snakemake may have made them since the plan was read.
    """
    for batch in batches:
        if not all(Path(run.checkpoint).is_file() for run in batch.to_train):
            Path(batch.training_manifest).unlink(missing_ok=True)
        if any(map(is_unmeasured, batch.to_measure)):
            Path(batch.measuring_manifest).unlink(missing_ok=True)
            (TAKEN / Path(batch.measuring_manifest).name).unlink(missing_ok=True)
    REPORTED.unlink(missing_ok=True)


def write_missing(batches: Iterable[Batch]) -> None:
    """Write those that hold and are missing, for calls that list files. `to_measure` of a batch must be as found."""
    for batch in batches:
        if batch.runs and not batch.to_measure:
            note_measurements(batch)
        if all(Path(run.checkpoint).is_file() for run in batch.runs):
            note_weights(batch)


def _weights_digest(run: Run) -> str:
    found: str = formats.read("checkpoint", run.folder / "manifest.json")[Path(run.checkpoint).name]
    return found


def _measure_digests(run: Run) -> Iterable[tuple[str, str]]:
    for measure, file in run.measurements.items():
        stored, key = store.read_measure(run.study, measure).places, run.keys[measure]
        if Path(file).is_file():
            yield file, paths.file_sha256(Path(file))
        elif key in stored:
            part = stored[key][1].part
            yield str(store.STORE / run.study / measure / part.name), part.stem


def _write(file: str, content: dict[str, str]) -> None:
    paths.write_atomically(Path(file), json.dumps(content, indent=1) + "\n")
