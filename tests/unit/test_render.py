"""What the page shows of a table, and the names of its figures."""

import re
from collections import Counter

import pandas as pd

from allmlp.report.render import LONGEST, brief
from tests.conftest import PROJECT


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


def test_every_name_of_the_page_is_there_once_and_every_figure_finds_its_own() -> None:
    page = (PROJECT / "results/report.html").read_text(encoding="utf-8")
    ids = Counter(re.findall(r'\sid="([^"]+)"', page))
    assert [name for name, count in ids.items() if count > 1] == []
    referred = set(re.findall(r'(?:\shref="#|url\(#)([^")]+)', page))
    assert len(referred) > 1000
    assert referred <= set(ids)
    classes = {name for found in re.findall(r'\sclass="(f[0-9a-f]{6}-\d+)"', page) for name in found.split()}
    assert classes <= set(re.findall(r"\.(f[0-9a-f]{6}-\d+)\{", page))
