"""How tests make figures and tables: as the report does, of made-up measurements."""

import io
from collections.abc import Mapping
from typing import Any

import matplotlib
import pandas as pd

from allmlp.judging import evidence
from allmlp.report import style
from allmlp.spec import exhibits
from allmlp.spec.exhibits import Exhibit, Paper


def paper(study: str) -> Paper:
    """The numbers that the paper prints."""
    return evidence.printed_numbers(study)


def make_exhibit(exhibit: Exhibit, tables: Mapping[str, Any]) -> Any:
    """A figure or table of the exhibit's own parts of the measurements."""
    parts = [*exhibit.parts, *exhibit.also]
    given = {
        name: rows[rows["part"].isin(parts)] if parts and "part" in rows else rows
        for name, rows in tables.items()
        if name in exhibit.measures
    }
    with matplotlib.rc_context(style.rc()):
        return exhibit(**{name: rows.copy() for name, rows in given.items()}, paper=tables.get("paper", {}))


def svg(exhibit: Exhibit, tables: Mapping[str, Any]) -> bytes:
    """A figure as the bytes of an SVG."""
    buffer = io.BytesIO()
    figure = make_exhibit(exhibit, tables)
    with matplotlib.rc_context(style.rc()):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def figure(study: str, name: str) -> Exhibit:
    """A study's figure by its name."""
    return exhibits.study_exhibits(study, "figures")[name]


def table(study: str, name: str, tables: Mapping[str, Any]) -> pd.DataFrame:
    """A study's table, made of these measurements."""
    return make_exhibit(exhibits.study_exhibits(study, "tables")[name], tables)
