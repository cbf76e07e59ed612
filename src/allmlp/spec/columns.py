"""The columns that a measure declares.

A measurement is a tidy table, one row per observation, with the unit at the end of each column's name
(`_1` dimensionless, `_nats`, `_rad`, `_s`, ...). A column is

    exact(...)     labels, steps, counts: any difference counts
    numeric(...)   numbers that may differ in their last digits between two machines
    timing(...)    seconds and rates: kept and shown, never compared
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Rows = Iterable[Any]  # a table, tuples or dictionaries; the first and last may have further columns


@dataclass(frozen=True)
class Column:
    """One column of a measurement: its meaning, and how much two machines may differ in it."""

    kind: Literal["exact", "numeric", "timing"]
    meaning: str
    rtol: float = 0.0
    atol: float = 0.0


def exact(meaning: str) -> Column:
    """A label, a step or a count."""
    return Column("exact", meaning)


def numeric(meaning: str, rtol: float = 1e-3, atol: float = 1e-6) -> Column:
    """A number that may differ by `atol + rtol * |committed|` on another machine."""
    return Column("numeric", meaning, rtol, atol)


def timing(meaning: str) -> Column:
    """Seconds or a rate: never compared."""
    return Column("timing", meaning)
