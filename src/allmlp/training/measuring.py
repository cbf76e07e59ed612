"""From checkpoints to measurements: one tidy table per run and measure, and their comparison."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from allmlp.common import paths
from allmlp.measurements.measurement import Measurement, file_bytes
from allmlp.spec import catalogue, protocols
from allmlp.spec.columns import Column
from allmlp.spec.run import Run


def take(run: Run, measure: str, trained: protocols.TrainedRun | None = None) -> Path:
    """Take one measure of one run's checkpoints and write it. Returns the file."""
    from allmlp.training.published import TrainedRun  # imports PyTorch, which readers of measurements do not need

    make = catalogue.measure(run.study, measure)
    rows = make() if make.is_fact else make(trained or TrainedRun(run))
    if not len(rows):
        raise ValueError(f"{make}: returns no row, so there is no record that it was taken")
    rows = rows.assign(run=run.id, seed=run.seed)[["run", "seed", *rows.columns]]
    table = pa.Table.from_pandas(rows, preserve_index=False)
    about = Measurement(run.id, run.settings_digest, (*run.identity["recipes"], make.recipe))
    path = Path(run.measurements[measure])
    paths.write_atomically(path, file_bytes(about, table))
    return path


class Comparison(NamedTuple):
    """The comparison of a repeated measurement with the committed one."""

    outcome: str  # identical, within tolerance, different
    detail: str  # the column that is nearest to its tolerance or beyond it, where they differ


def compare(fresh: pd.DataFrame, committed: pd.DataFrame, columns: Mapping[str, Column]) -> Comparison:
    """Compare two measurements of one run, column by column, by the kind of each column."""
    if len(fresh) != len(committed):
        return Comparison("different", f"{len(fresh)} rows, committed {len(committed)}")
    outcome, detail, largest = "identical", "", -np.inf
    for name, column in columns.items():
        a, b = fresh[name].to_numpy(), committed[name].to_numpy()
        if column.kind == "timing" or pd.Series(a).equals(pd.Series(b)):
            continue
        if column.kind == "exact":
            return Comparison(
                "different", f"{name} differs in {int((pd.Series(a) != pd.Series(b)).sum())} of {len(a)} rows"
            )
        a, b = a.astype(float), b.astype(float)
        with np.errstate(invalid="ignore"):  # of infinities
            excess = np.abs(a - b) - (column.atol + column.rtol * np.abs(b))
        excess[(np.isnan(a) != np.isnan(b)) | ((np.isinf(a) | np.isinf(b)) & (a != b))] = np.inf
        if np.nanmax(excess) > 0:
            worst = int(np.nanargmax(excess))
            return Comparison("different", f"{name} is {a[worst]:.6g} in row {worst}, committed {b[worst]:.6g}")
        outcome = "within tolerance"
        if np.nanmax(excess) > largest:
            largest, detail = np.nanmax(excess), f"{name} by up to {np.nanmax(np.abs(a - b)):.2g}"
    return Comparison(outcome, detail)
