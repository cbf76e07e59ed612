"""Comparing a measurement with the committed one: what each column is decides what a difference is."""

import pandas as pd
import pytest

from allmlp.columns import exact, numeric, timing
from allmlp.measuring import compare

COLUMNS = {"step": exact(""), "loss": numeric("", rtol=1e-2), "seconds": timing("")}
BASE = pd.DataFrame({"step": [1, 2], "loss": [2.0, float("nan")], "seconds": [1.0, 2.0]})


def change(**columns: list) -> str:
    return compare(BASE.assign(**columns), BASE, COLUMNS).outcome


def test_outcomes() -> None:
    assert change() == "identical"
    assert change(seconds=[9.0, 9.0]) == "identical"
    assert change(loss=[2.01, float("nan")]) == "within tolerance"
    assert change(loss=[2.1, float("nan")]) == "different"
    assert change(loss=[2.0, 1.0]) == "different"
    assert change(step=[1, 3]) == "different"
    assert compare(BASE[:1], BASE, COLUMNS).outcome == "different"


def test_a_missing_number_is_different() -> None:
    row, gone = BASE[:1], BASE[:1].assign(loss=float("nan"))
    assert compare(gone, row, COLUMNS) == ("different", "loss is nan in row 0, committed 2")
    assert compare(row, gone, COLUMNS).outcome == "different"
    assert compare(gone, gone, COLUMNS).outcome == "identical"


def test_the_worst_column_is_named() -> None:
    assert compare(BASE.assign(loss=[3.0, float("nan")]), BASE, COLUMNS).detail == "loss is 3 in row 0, committed 2"


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_an_infinite_number_is_different(value: float) -> None:
    assert change(loss=[value, float("nan")]) == "different"
