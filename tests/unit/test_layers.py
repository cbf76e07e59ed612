"""The imports of src/allmlp lead downwards: a floor uses those below it, and no imports run in a circle.

An import counts wherever it stands: at the top, in a function, or for types alone.
"""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import allmlp

PACKAGE = Path(allmlp.__file__).parent

# From the ground up. A name stands for a module or a whole package, unless a module of it is named on another floor.
# Names on one floor do not import one another.
FLOORS = [
    "errors columns primes processors orphans aligning scheduling busy searches",
    "whole yamlfile stale artifacts bounded git",
    "paths",
    "strict device_types",
    "ledgers labels",
    "recipes locks studies.__init__",
    "reached origins tokenizers models layered",
    "tokens sampling",
    "images studies.settings",
    "corpora tasks",
    "run params measured",
    "store",
    "outcomes",
    "context batches priorities uncommitted references",
    "plan protocols resolved",
    "training audit own tokenizing releasing",
    "generating known measuring in_turn report.deciding report.names",
    "report.statistics report.style report.exhibits report.powers",
    "costs report.multiplicity report.plots report.diagrams",
    "studies",
    "outlook rules keeping jobs",
    "report.ages launching budgeting pipeline",
    "compacting workflow",
    "report",
    "notebook",
    "__init__ advancing bundles reproducing overview showing differing checking doctor gpu_check here trying",
    "exporting",
    "states",
    "bare cli",
    "__main__",
]


def name_of(file: Path) -> str:
    """training/loop.py -> training.loop; training/__init__.py -> training.__init__."""
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts)


MODULES = {name_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names.split()}


def module_of(dotted: str) -> str | None:
    """The module of this package that a dotted name is or lies in, None for another package's."""
    if dotted.split(".")[0] != "allmlp":
        return None
    parts = dotted.split(".")[1:]
    while parts:
        for name in (".".join(parts), ".".join([*parts, "__init__"])):
            if name in MODULES:
                return name
        parts.pop()
    return "__init__"


def imports(module: str) -> Iterator[str]:
    """The modules of this package that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: imports of this package are absolute"
            dotted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (found for found in map(module_of, dotted) if found and found not in (module, "__init__"))


ARROWS = sorted({(module, target) for module in MODULES for target in imports(module)})


def unit(module: str) -> str:
    """The name in FLOORS that a module belongs to: the longest."""
    parts = module.split(".")
    names = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((name for name in names if name in FLOOR_OF), f"{module} has no floor")


def test_every_module_has_a_floor():
    assert [module for module in MODULES if unit(module) not in FLOOR_OF] == []


def test_arrows_lead_down():
    between = [(a, b) for a, b in ARROWS if unit(a) != unit(b)]
    assert [f"{a} -> {b}" for a, b in between if FLOOR_OF[unit(a)] <= FLOOR_OF[unit(b)]] == []


def test_no_circle():
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for a, b in ARROWS:
        graph[a].add(b)
    assert {*TopologicalSorter(graph).static_order()} == {*MODULES}  # CycleError names a circle
