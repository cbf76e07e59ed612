"""Which learning rate each search chose, and whether the grid may have ended too soon."""

import pandas as pd

SETTING = ["variant", "size", "padding", "windows"]


def searched(cost: pd.DataFrame) -> pd.DataFrame:
    """A row per setting and rate of the search in `cost`: windows, chosen (one of each setting), at_edge (of the grid).

    As the training itself chooses: the lowest held-out loss, averaged over the search's seeds; rates with a diverged
    run last, of equal ones the lower rate.
    """
    rows = cost.assign(rate=cost["learning_rate"].astype(float), windows=cost["text"].eq("windows"))
    of_rate = rows.groupby([*SETTING, "rate"])
    loss = rows["validation_nats"].where(~rows["diverged"].astype(bool))
    rows = rows.assign(
        loss=loss.groupby([rows[key] for key in (*SETTING, "rate")]).transform(lambda of: of.mean(skipna=False)),
        validation_nats=of_rate["validation_nats"].transform("mean"),
        diverged=of_rate["diverged"].transform("any"),
    )
    rows = rows.drop_duplicates([*SETTING, "rate"]).sort_values(["loss", "rate"], na_position="last")
    rows = rows.assign(chosen=~rows.duplicated(SETTING))
    grid = rows.groupby(SETTING)["rate"]
    edge = rows["rate"].eq(grid.transform("min")) | rows["rate"].eq(grid.transform("max"))
    return rows.assign(at_edge=rows["chosen"] & edge).sort_values([*SETTING, "rate"]).reset_index(drop=True)
