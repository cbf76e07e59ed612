"""Measures as functions of a trained run.

    @measure(recipe=1, early_nats=numeric("mean loss over the first quarter of the steps"))
    def learning(trained: TrainedRun) -> Rows:
        \"\"\"The loss early in a run (005-1).\"\"\"
        yield (trained.log["loss"].head(trained.run.steps // 4).mean(),)

The name of the function names the measure. A function without a parameter is a fact: it reads no run.
`allmlp.common.recipes` reads the recipe from the source: it is a number, and comes first. A column whose name is
a word of Python's has a `_` at its end there: `class_`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from allmlp.spec.columns import Column, Rows


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure: `recipe` is raised when a change alters its results, `columns` has the meaning of each column."""

    make: Callable[..., Rows]
    recipe: int
    columns: Mapping[str, Column]

    @property
    def name(self) -> str:
        """Its name in the store and in claims."""
        return self.make.__name__

    @property
    def is_fact(self) -> bool:
        """Does it follow from code or formulae alone, and read no run?"""
        return not inspect.signature(self.make).parameters

    def __call__(self, *trained: Any) -> pd.DataFrame:
        """The rows of a run, or of a fact, with the declared columns. ValueError where one is lacking."""
        rows = self.make(*trained)
        if not isinstance(rows, pd.DataFrame):
            rows = list(rows)
            by_name = rows and isinstance(rows[0], Mapping)
            rows = pd.DataFrame(rows, columns=None if by_name else list(self.columns))
        if not set(self.columns) <= set(rows.columns):
            raise ValueError(f"{self}: returns {list(rows.columns)}, declares {list(self.columns)}")
        return rows[list(self.columns)]

    def __str__(self) -> str:
        """Its module and name, as `allmlp.common.recipes` writes them."""
        return f"{self.make.__module__}:{self.name}"


def measure(recipe: int, **columns: Column) -> Callable[[Callable[..., Rows]], Measure]:
    """Marks a function as a measure."""
    return lambda make: Measure(make, recipe, {name.removesuffix("_"): column for name, column in columns.items()})
