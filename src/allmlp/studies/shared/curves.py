"""The part of a training's log that a measurement keeps: thinned rows, and a row for the end."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from allmlp.data.corpora.stories.floor import entropy_per_token
from allmlp.measurements.thinning import kept_rows
from allmlp.spec.columns import exact, numeric
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.texts import token_folder

LOSSES = {  # columns of a measure that keeps `losses`
    "step": exact("training steps done"),
    "loss_nats": numeric("training loss of the step's batch per token, before its update", rtol=1e-2, atol=1e-3),
    "validation_nats": numeric("held-out loss per token; nan where it was not taken", rtol=5e-3, atol=1e-3),
}


def sample_log(log: pd.DataFrame, most: int, columns: dict[str, str], always: Collection[int] = ()) -> pd.DataFrame:
    """Columns step and `columns` (name in the log -> new name; nan if not in the log) of the rows that a curve keeps.

    Rows of the steps `always` are kept besides `kept_rows`.
    """
    keep = log["step"].isin(always).to_numpy(copy=True)
    keep[kept_rows(len(log), most)] = True
    return log.reindex(columns=["step", *columns])[keep].rename(columns=columns).reset_index(drop=True)


def append_end(rows: pd.DataFrame, trained: TrainedRun, **values: float | None) -> pd.DataFrame:
    """The rows and one for the end of training with only these values; None becomes nan."""
    end = {"step": trained.ending["steps_done"], **values}
    return pd.concat([rows, pd.DataFrame([end]).astype(dict.fromkeys(values, float))], ignore_index=True)


def sample_held_out(log: pd.DataFrame, most: int, held_out: str = "validation_nats") -> pd.DataFrame:
    """Columns step, loss_nats and the held-out loss, by its name, of a log: `sample_log` with every held-out loss."""
    always = log["step"][log["validation_loss"].notna()] if "validation_loss" in log else ()
    return sample_log(log, most, {"loss": "loss_nats", "validation_loss": held_out}, always)


def losses(trained: TrainedRun, most: int) -> pd.DataFrame:
    """Columns step, loss_nats, validation_nats, floor_nats (per token) of a run on text.

    The last row is the end, with a held-out loss only. floor_nats: entropy of the corpus, nan where unknown.
    """
    rows = append_end(sample_held_out(trained.log, most), trained, validation_nats=trained.ending["validation_loss"])
    floor = entropy_per_token(token_folder(trained)) if trained.run.tokens else None
    return rows.assign(floor_nats=np.nan if floor is None else floor)
