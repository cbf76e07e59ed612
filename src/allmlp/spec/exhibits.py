"""Figures and tables as functions of measurements.

    @table("Weights", where="Appendix D", claims=["002-10"])
    def weights(parameter_counts: pd.DataFrame) -> pd.DataFrame:
        \"\"\"All weights of each model, embeddings among them.\"\"\"
        return parameter_counts[["model", "total"]]

Each parameter is named like a measure. It receives the rows of that measure, with the labels of their runs as columns.
A table is returned, or its rows are yielded as dictionaries. A parameter `paper` receives the numbers that the paper
prints for its claims. A figure that names no measure is a diagram of a model, see `allmlp.report.diagrams`: it needs no
run. The name of the function names the figure or table, and its docstring is the caption.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from allmlp.common.errors import UserError
from allmlp.spec import catalogue

Kind = Literal["figures", "tables"]
Paper = Mapping[str, Mapping[str, float]]  # claim -> key -> the number that the paper prints


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table of a study.

    `where`: its place in the paper, empty if it shows own claims only. `parts`: it needs the runs of these parts of the
    study (none: all runs). `also`: it takes the runs of these parts too if they are planned. `compares`: labels of runs
    of which it shows two values at least; scales with one are passed over, because there is nothing to compare.
    """

    kind: Kind
    make: Callable[..., Any]
    measures: tuple[str, ...]
    title: str
    caption: str
    where: str
    claims: Sequence[str]
    parts: Sequence[str]
    also: Sequence[str]
    compares: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Its name in the report's files."""
        return self.make.__name__

    @property
    def reads_paper(self) -> bool:
        """Does it show numbers that the paper prints?"""
        return "paper" in inspect.signature(self.make).parameters

    def description(self) -> dict[str, Any]:
        """What the report prints beside it."""
        return {"title": self.title, "caption": self.caption, "paper": self.where, "claims": self.claims}

    def __call__(self, **tables: Any) -> Any:
        """The figure or table made of `tables`, by the names of their measures. It ignores those it does not need."""
        made = self.make(**{name: tables[name] for name in inspect.signature(self.make).parameters})
        return pd.DataFrame(list(made)) if inspect.isgenerator(made) else made


class _Decorator:
    """Marks a function as a figure or a table."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __call__(
        self,
        title: str,
        *,
        where: str = "",
        claims: Sequence[str] = (),
        parts: Sequence[str] = (),
        also: Sequence[str] = (),
        compares: Sequence[str] = (),
        values: Mapping[str, object] | None = None,
    ) -> Callable[[Callable[..., Any]], Exhibit]:
        """`values`: for the names in braces in the docstring."""

        def marked(make: Callable[..., Any]) -> Exhibit:
            measures = tuple(name for name in inspect.signature(make).parameters if name != "paper")
            caption = " ".join((make.__doc__ or "").split()).format(**(values or {}))
            return Exhibit(self.kind, make, measures, title, caption, where, claims, parts, also, compares)

        return marked


figure, table = _Decorator("figures"), _Decorator("tables")


def study_exhibits(study: str, kind: Kind) -> dict[str, Exhibit]:
    """name -> each figure or table of a study. UserError where two have one name, and for an unknown measure."""
    found: dict[str, Exhibit] = {}
    for dotted, path in catalogue.files(study, kind).items():
        for exhibit in vars(importlib.import_module(dotted)).values():
            if isinstance(exhibit, Exhibit) and exhibit.kind == kind and exhibit.make.__module__ == dotted:
                if exhibit.name in found:
                    raise UserError(f"{path}: another of the {kind} of {study} is called {exhibit.name!r}. Rename one.")
                found[exhibit.name] = exhibit
                _refuse_unknown(study, exhibit, path)
    return dict(sorted(found.items()))


def _refuse_unknown(study: str, exhibit: Exhibit, path: Path) -> None:
    for name in exhibit.measures:
        try:
            catalogue.measure_source(study, name)
        except UserError as error:
            raise UserError(f"{path}, {exhibit.name}: its parameter names {error}") from None
