"""Columns and pictures side by side on one figure, with the sizes below them."""

import textwrap
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from allmlp.report.diagrams.column import Column
from allmlp.report.diagrams.pen import FILLED, SMALL, SOFT, WIDE, Pen, width

MARGIN, BETWEEN, LINE = 8.0, 24.0, 11.0
NARROWEST = 300.0  # of a figure, so that the notes have room
SIDE = 13.0  # of a square


class Panel(Protocol):
    """Something with a size that can be drawn."""

    width: float
    height: float

    def draw(self, pen: Pen, left: float, top: float) -> None:
        """Draw it with its upper left corner there."""

    def description(self) -> str:
        """It in words."""


class Squares:
    """A matrix: a filled square where it is not zero, or its `values`. `down`, `across`: what rows and columns are."""

    def __init__(
        self,
        found: NDArray[np.bool_],
        title: str,
        values: NDArray[np.str_] | None = None,
        down: str = "output t ↓",
        across: str = "input s →",
    ) -> None:
        self.found, self.title, self.values, self.axes = found, title, values, f"{down}  {across}"
        self.side = SIDE if values is None else max(SIDE, 6 + max(width(v, SMALL) for v in values.ravel()))
        rows, columns = found.shape
        self.width = max(columns * self.side, *(width(line, SMALL) for line in [*title.split("\n"), self.axes]))
        self.height = LINE * (2 + title.count("\n")) + rows * self.side + 10

    def draw(self, pen: Pen, left: float, top: float) -> None:
        """Draw it with its upper left corner there."""
        for number, line in enumerate(self.title.split("\n")):
            pen.text(left, top + 6 + LINE * number, line, size=SMALL)
        top += LINE * (1 + self.title.count("\n")) + LINE
        pen.text(left, top - 5, self.axes, size=SMALL, color=SOFT)
        for t, row in enumerate(self.found):
            for s, there in enumerate(row):
                x, y = left + s * self.side, top + t * self.side
                value = "" if self.values is None else self.values[t, s]
                pen.box(x, y, self.side, self.side, FILLED if there and not value else "white", "#c8c8c8")
                if value:
                    pen.text(x + self.side / 2, y + self.side / 2, value, size=SMALL, across="center")

    def description(self) -> str:
        """Of each row, the squares that are filled."""
        rows = [f"{n}: {_spans(row)}" for n, row in enumerate(self.found, start=1)]
        return f"{' '.join(self.title.split())}, {self.axes}: {'; '.join(rows)}."


def _spans(row: NDArray[np.bool_]) -> str:
    """`1 to 3, 5`, the places of what is true."""
    places = [int(place) for place in np.flatnonzero(row) + 1]
    begins = [place for place in places if place - 1 not in places]
    ends = [place for place in places if place + 1 not in places]
    spans = [f"{a}" if a == b else f"{a} to {b}" for a, b in zip(begins, ends, strict=True)]
    return ", ".join(spans) or "none"


class Stack:
    """Panels one below the other."""

    def __init__(self, *panels: Panel) -> None:
        self.panels = panels
        self.width = max(panel.width for panel in panels)
        self.height = sum(panel.height for panel in panels) + LINE * (len(panels) - 1)

    def draw(self, pen: Pen, left: float, top: float) -> None:
        """Draw them from there down."""
        for panel in self.panels:
            panel.draw(pen, left, top)
            top += panel.height + LINE

    def description(self) -> str:
        """All of them in words."""
        return " ".join(panel.description() for panel in self.panels)


def board(*panels: Panel, notes: Sequence[str] = ()) -> Figure:
    """A figure of these panels, from left to right, with notes below."""
    pen, left = Pen(), MARGIN
    wide = max(NARROWEST, 2 * MARGIN + sum(panel.width for panel in panels) + BETWEEN * (len(panels) - 1))
    high = MARGIN + max(panel.height for panel in panels)
    for panel in panels:
        panel.draw(pen, left, MARGIN)
        left += panel.width + BETWEEN
    letters = int((wide - 2 * MARGIN) / (SMALL * WIDE * 0.9))
    for line in (line for note in notes for line in textwrap.wrap(note, letters)):
        pen.text(MARGIN, high + LINE / 2, line, size=SMALL, color=SOFT)
        high += LINE
    return pen.finish(wide, high + MARGIN, " ".join([*(panel.description() for panel in panels), *notes]))


def describe_sizes(*columns: Column) -> list[str]:
    """Below diagrams: what their letters are, and how many weights each model has at these sizes."""
    letters = {name: letter for column in columns for name, letter in column.subject.sizes.letters.items()}
    numbers = {name: f" ({letter.real:,})" if letter.real else "" for name, letter in letters.items()}
    said = [f"{name} {letter.word}{numbers[name]}" for name, letter in letters.items()]
    weights = [f"{column.title}: {_weights(column)}" for column in columns]
    return [", ".join(said) + ".", ("; ".join(weights) if len(columns) > 1 else _weights(columns[0])) + "."]


def _weights(column: Column) -> str:
    unused = column.subject.unused_parameters()
    rest = f", of which {' and '.join(unused)} take no part" if unused else ""
    return f"{sum(column.subject.weights.values()):,} weights{rest}"
