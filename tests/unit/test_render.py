"""What the page shows of a table."""

import pandas as pd

from allmlp.report.render import LONGEST, brief


def rows_of(sources: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"source": sources, "value": [str(number) for number in range(len(sources))]})


def test_of_a_long_table_the_rows_of_single_seeds_wait_to_be_asked_for() -> None:
    seeds = [f"seed {number}" for number in range(LONGEST)]
    shown = brief(rows_of(["paper", *seeds, "mean over seeds"]))
    assert shown is not None
    assert shown["source"].tolist() == ["paper", "mean over seeds"]


def test_a_short_table_and_one_without_seeds_stay_whole() -> None:
    assert brief(rows_of(["paper", "seed 0", "mean over seeds"])) is None
    assert brief(rows_of(["paper"] * (LONGEST + 1)).rename(columns={"source": "item"})) is None
