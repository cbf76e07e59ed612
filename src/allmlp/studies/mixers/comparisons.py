"""Every model compared with the flat mixer of its own width, depth and padding, at three budgets: for a figure and a
table."""

import pandas as pd

from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import FLAT, TRAINING, settings_of
from allmlp.studies.rules import NotComparableError, NotPlannedError, of_part

AGAINST_FLAT = {unit: f"at equal {name}" for unit, name in budgets.UNITS.items()}


def differences(learning_curve: pd.DataFrame) -> pd.DataFrame:
    """One row per model and seed: setting, its labels, and its loss minus the flat mixer's at each budget (nats).

    NaN: the two are not comparable at that budget (budgets.py says when). Models of a size and padding without a flat
    mixer are left out. Raises NotPlannedError without a flat mixer.
    """
    rows = budgets.curves(of_part(learning_curve, TRAINING))
    rows = rows.assign(setting=settings_of(rows))
    found = []
    for _, of_model in rows[~rows["variant"].eq(FLAT)].groupby(budgets.MODEL, sort=False):
        first = of_model.iloc[0]
        flat = rows[rows["variant"].eq(FLAT) & rows["size"].eq(first["size"]) & rows["padding"].eq(first["padding"])]
        if len(flat):
            found.append(_row(of_model, flat))
    if not found:
        raise NotPlannedError("needs a flat mixer and another model, which are not planned")
    return pd.concat(found, ignore_index=True)


def _row(of_model: pd.DataFrame, flat: pd.DataFrame) -> pd.DataFrame:
    labels = ["setting", "model", "variant", "size", "padding"]
    read = {unit: _difference(of_model, flat, unit) for unit in AGAINST_FLAT}
    same = {name: of_model[name].iloc[0] for name in labels}
    return pd.DataFrame(read).rename_axis("seed").reset_index().assign(**same)


def _difference(of_model: pd.DataFrame, flat: pd.DataFrame, unit: str) -> pd.Series:
    try:
        amount = budgets.budget([of_model, flat], unit)
    except NotComparableError:
        return pd.Series(float("nan"), index=sorted(of_model["seed"].unique()))
    return budgets.paired(budgets.at(of_model, unit, amount), budgets.at(flat, unit, amount))
