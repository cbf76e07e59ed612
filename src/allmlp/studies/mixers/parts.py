"""Rows of a measurement that belong together: those of one model, of its widths and depths, of one comparison."""

import pandas as pd

from allmlp.judging.rules import NotPlannedError
from allmlp.report.names import display
from allmlp.studies.mixers.names import BASE
from allmlp.studies.shared.searched import chosen_rate


def model_rows(rows: pd.DataFrame, variant: str, size: str | None = BASE, padding: str = "right") -> pd.DataFrame:
    """The rows of one model at one size (null: all sizes) and padding. NotPlannedError, naming it, for none."""
    found = rows[rows["variant"].eq(variant) & rows["padding"].eq(padding)]
    if size is not None:
        found = found[found["size"].eq(size)]
    if found.empty:
        raise NotPlannedError(f"needs {variant} of size {size or 'any'}, padded on the {padding}, which is not planned")
    return found


def base_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the size that all models share, padded on the right."""
    return rows[rows["size"].eq(BASE) & rows["padding"].eq("right")]


def widths(rows: pd.DataFrame, variant: str) -> dict[int, pd.DataFrame]:
    """width -> the rows of one model at the study's own depth, padded on the right; its smallest batch of several."""
    depth = rows.loc[rows["size"].eq(BASE), "n_blocks"]
    found = model_rows(rows, variant, size=None)
    found = found[found["n_blocks"].isin(depth)]
    found = found[found["batch_size"].eq(found.groupby("d_model")["batch_size"].transform("min"))]
    return {int(width): found[found["d_model"].eq(width)] for width in sorted(found["d_model"].unique())}


def deepest_rows(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """The rows of one model at its deepest size. NotPlannedError where it has the study's own depth only."""
    found = model_rows(rows, variant, size=None)
    found = found[found["n_blocks"].eq(found["n_blocks"].max()) & ~found["size"].eq(BASE)]
    if found.empty or found["n_blocks"].iloc[0] <= rows.loc[rows["size"].eq(BASE), "n_blocks"].max():
        raise NotPlannedError(f"needs a deeper {variant}, which is not planned")
    return found


def half_width_pair(rows: pd.DataFrame, wide: str, narrow: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of `wide` and of `narrow` at half its width, at the smallest width that both allow."""
    first, second = widths(rows, wide), widths(rows, narrow)
    for width in sorted(first):
        if 2 * (width // 2) == width and width // 2 in second:
            return first[width], second[width // 2]
    raise NotPlannedError(f"needs {narrow} of half the width of {wide}, which is not planned")


def setting_names(rows: pd.DataFrame) -> pd.Series:
    """The name of a model in a figure or a table: `flat mixer`, `flat mixer, 128 wide, 2 deep`, `flat mixer, left`."""
    of_size = rows["size"].str.extract(r"d(?P<width>\d+)-n(?P<depth>\d+)-b(?P<batch>\d+)")
    sizes = (", " + of_size["width"] + " wide, " + of_size["depth"] + " deep").fillna("")
    several = rows["size"].groupby([rows["variant"], sizes]).transform("nunique").gt(1)
    batches = (", batch " + of_size["batch"]).where(several, "").fillna("")
    return rows["variant"].map(display) + sizes + batches + rows["padding"].map({"left": ", left"}).fillna("")


SETTING = ["variant", "size", "padding", "windows"]


def search_rows(cost: pd.DataFrame) -> pd.DataFrame:
    """A row per setting and rate of the search in `cost`: windows, loss (mean over seeds, nan where one diverged),
    chosen (one of each setting, see `chosen_rate`), at_edge (the choice, or the best rate, is at an edge of the grid).
    """
    rows = cost.assign(rate=cost["learning_rate"].astype(float), windows=cost["text"].eq("windows"))
    choices = {key: chosen_rate(of) for key, of in rows.groupby(SETTING)}
    of_rate = rows.groupby([*SETTING, "rate"])
    loss = rows["validation_nats"].where(~rows["diverged"].astype(bool))
    rows = rows.assign(
        loss=loss.groupby([rows[key] for key in (*SETTING, "rate")]).transform(lambda of: of.mean(skipna=False)),
        validation_nats=of_rate["validation_nats"].transform("mean"),
        diverged=of_rate["diverged"].transform("any"),
    )
    rows = rows.drop_duplicates([*SETTING, "rate"]).sort_values([*SETTING, "rate"]).reset_index(drop=True)
    own = [choices[key] for key in rows[SETTING].itertuples(index=False, name=None)]
    chosen = rows["rate"].eq(pd.Series([choice.rate for choice in own]))
    return rows.assign(chosen=chosen, at_edge=chosen & pd.Series([choice.edge for choice in own]))
