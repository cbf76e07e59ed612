"""The part of a training's log that a measurement keeps: thinned rows, and a row for the end."""

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.corpora.stories.floor import entropy_per_token
from allmlp.protocols import Trained
from allmlp.studies.texts import tokens_of


def kept_rows(rows: int, most: int) -> NDArray[np.int64]:
    """Which of `rows` log rows a curve of at most `most` keeps: all if they fit, else a fixed choice.

    Half of them are evenly spaced and half evenly in their logarithm, so that the first steps of a long run stay
    visible. The first and the last row are always kept. Sorted, without repetition. Raises ValueError if `most` is
    below 4.
    """
    if most < 4:
        raise ValueError(f"a curve of at most {most} rows shows nothing: choose 4 or more")
    if rows <= most:
        return np.arange(rows)
    even = np.linspace(0, rows - 1, most // 2)
    logarithmic = np.geomspace(1, rows, most // 2) - 1
    return np.unique(np.round(np.concatenate([even, logarithmic])).astype(np.int64))


def of_log(log: pd.DataFrame, most: int, columns: dict[str, str], always: Collection[int] = ()) -> pd.DataFrame:
    """Columns step and `columns` (name in the log -> new name; nan if not in the log) of the rows that a curve keeps.

    Rows of the steps `always` are kept besides `kept_rows`.
    """
    keep = log["step"].isin(always).to_numpy(copy=True)
    keep[kept_rows(len(log), most)] = True
    return log.reindex(columns=["step", *columns])[keep].rename(columns=columns).reset_index(drop=True)


def with_end(rows: pd.DataFrame, trained: Trained, **values: float | None) -> pd.DataFrame:
    """The rows and one for the end of training with only these values; None becomes nan."""
    end = {"step": trained.ending["steps_done"], **values}
    return pd.concat([rows, pd.DataFrame([end]).astype(dict.fromkeys(values, float))], ignore_index=True)


def with_held_out(log: pd.DataFrame, most: int, held_out: str = "validation_nats") -> pd.DataFrame:
    """Columns step, loss_nats and the held-out loss, by its name, of a log: `of_log` with every held-out loss."""
    always = log["step"][log["validation_loss"].notna()] if "validation_loss" in log else ()
    return of_log(log, most, {"loss": "loss_nats", "validation_loss": held_out}, always)


def losses(trained: Trained, most: int) -> pd.DataFrame:
    """Columns step, loss_nats, validation_nats, floor_nats (per token) of a run on text.

    The last row is the end, with a held-out loss only. floor_nats: entropy of the corpus, nan where unknown.
    """
    rows = with_end(with_held_out(trained.log, most), trained, validation_nats=trained.ending["validation_loss"])
    floor = entropy_per_token(tokens_of(trained)) if trained.run.tokens else None
    return rows.assign(floor_nats=np.nan if floor is None else floor)
