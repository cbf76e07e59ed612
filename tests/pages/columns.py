"""Every measure with the columns that it declares."""

import inspect

from allmlp.spec import catalogue
from allmlp.spec.columns import Column
from tests.pages.markdown import cell, code, paragraphs, plain, table

HEAD = """# Measures and their columns

A measurement is a table of one run. Besides the columns below it has `run` and `seed`, and in the store the fields of a
[measurement](files.md). The unit stands at the end of a column's name.

A column is *exact* (any difference between two machines counts), *numeric* (equal within `atol + rtol * |committed|`)
or *timing* (never compared).

"""


def page() -> str:
    """The measures of each study; those of every run come last."""
    own = {study: catalogue.measures(study) for study in catalogue.STUDIES}
    shared = "".join(_measure(next(iter(own)), name) for name in (*catalogue.SHARED, *catalogue.FROM_LONG))
    found = {study: "".join(_measure(study, name) for name in names) for study, names in own.items()}
    numbered = "".join(f"## {catalogue.STUDIES[study]} {study}\n\n{text}" for study, text in found.items() if text)
    return f"{HEAD}{numbered}## Of every study\n\n{shared}"


def _measure(study: str, name: str) -> str:
    measure = catalogue.measure(study, name)
    rows = [_row(*of) for of in measure.columns.items()]
    head = f"### {plain(name)}\n\n{paragraphs(inspect.getdoc(measure.make))}Recipe {measure.recipe}.\n\n"
    return head + table(["column", "kind", "atol", "rtol", "meaning"], rows) + "\n"


def _row(name: str, column: Column) -> list[str]:
    tolerance = [f"{one:g}" if column.kind == "numeric" else "" for one in (column.atol, column.rtol)]
    return [code(name), column.kind, *tolerance, cell(column.meaning)]
