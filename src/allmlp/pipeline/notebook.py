"""For notebooks: a trained run, and the measurements behind the figures. Works in the project's folder.

import allmlp
trained = allmlp.load("mlp-d64-w512-stories-seed1-0a1b2c3d")
trained.model()(tokens), trained.log, trained.weights(step)
allmlp.table("language", "loss_curve")
allmlp.table("language", "loss_curve", params="my.yaml")   # of your own runs
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.common.paths import SELECTED
from allmlp.judging.evidence import evidence_by_overlay, evidence_by_scale
from allmlp.plan import results_folder
from allmlp.plan.plan import Plan, load_plan
from allmlp.spec import catalogue
from allmlp.training.published import TrainedRun, load_trained_run

Files = str | Path | Iterable[str | Path]  # laid over params.yaml and config/, as for --configfile


def load(run: str, params: Files = ()) -> TrainedRun:
    """The checkpoints of a trained run, by its id or the beginning or end of it. `params`: your own files.

    UserError if no run or several have such an id, and if its checkpoints are not here, with what fetches them.
    """
    _require_project_folder()
    return load_trained_run(_plan(params).find(run))


def table(study: str, measure: str, params: Files = ()) -> pd.DataFrame:
    """The selected rows of a measure, with the labels of their runs, `scale` and `recorded`, an overlay's name or "".

    A run that several scales share is there once, with the smallest of them. `params`: your own files, for the rows of
    the report in own/.

    UserError for a study or a measure that there is not.
    """
    _require_project_folder()
    place = results_folder.folder(_plan(params)) or Path()
    if not (place / SELECTED).is_file():
        raise UserError(f"{place / SELECTED}: is missing. `allmlp report` makes it, or Snakemake with the same files.")
    with contextlib.chdir(place):
        return _table(study, measure)


def _plan(params: Files) -> Plan:
    return load_plan([params] if isinstance(params, str | Path) else params)


def _table(study: str, measure: str) -> pd.DataFrame:
    if study not in catalogue.STUDIES:
        raise UserError(catalogue.unknown_study_message(study, list(catalogue.STUDIES)))
    found = [*evidence_by_scale(study).values(), *evidence_by_overlay(study).values()]
    if not (held := [of for of in found if of.measured_runs(measure)]):
        known = sorted({name for of in found for name in of.content["measurements"]})
        raise UserError(f"{study}: no measurements {measure!r}. There are: {', '.join(known)}.")
    tables, seen = [], set[str]()
    for of in held:
        rows = of.table(measure).assign(scale=of.scale, recorded=of.recorded)
        tables.append(rows[~rows.run.isin(seen)])
        seen |= {*rows.run}
    return pd.concat(tables, ignore_index=True)


def _require_project_folder() -> None:
    """UserError outside the project's folder: what a run has is read later, by paths from there."""
    if (home := paths.directory().resolve()) != Path.cwd().resolve():
        raise UserError(f"{Path.cwd()}: is not the folder of the results. First `os.chdir({str(home)!r})`.")
