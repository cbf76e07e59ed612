"""The rooms of src/allmlp: a room uses those below it, and no imports run in a circle.

An import counts wherever it stands: at the top, in a function, or for types alone.
"""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import allmlp
from tests.conftest import PROJECT

PACKAGE = Path(allmlp.__file__).parent

# From the ground up, a floor each. Rooms of one floor do not use one another.
FLOORS = (
    *("common", "models", "data", "spec", "measurements", "plan training", "judging", "report", "studies"),
    *("pipeline", "cli"),
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms.split()}
DOORS = ("__init__", "__main__")  # of the house: they lead to any room, and no room leads to them


def name_of(file: Path) -> str:
    """training/loop.py -> training.loop; training/__init__.py -> training.__init__."""
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts)


MODULES = {name_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


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


def room(module: str) -> str:
    """training.loop -> training."""
    return module.split(".")[0]


def test_every_module_is_in_a_room() -> None:
    assert [module for module in MODULES if room(module) not in FLOOR_OF and module not in DOORS] == []


def test_arrows_lead_down() -> None:
    between = [(a, b) for a, b in ARROWS if a not in DOORS and room(a) != room(b)]
    assert [f"{a} -> {b}" for a, b in between if FLOOR_OF[room(a)] <= FLOOR_OF[room(b)]] == []


def test_no_circle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for a, b in ARROWS:
        graph[a].add(b)
    assert {*TopologicalSorter(graph).static_order()} == {*MODULES}  # CycleError names a circle


def picture() -> str:
    """Each room over those that it stands on: its arrows, without those that another path implies."""
    uses = {a: {room(b) for m, b in ARROWS if room(m) == a} - {a} for a in FLOOR_OF}

    def reach(start: str) -> set[str]:
        return uses[start].union(*(reach(one) for one in uses[start]))

    lines = [
        f"    {a} --> {b}"
        for a in reversed(FLOOR_OF)
        for b in sorted(uses[a], key=lambda one: (-FLOOR_OF[one], one))
        if not any(b in reach(other) for other in uses[a] - {b})
    ]
    return "\n".join(["```mermaid", "flowchart TB", *lines, "```"])


def test_the_documentation_has_the_picture() -> None:
    page = (PROJECT / "docs/development.md").read_text(encoding="utf-8")
    assert f"<!-- rooms -->\n{picture()}\n<!-- /rooms -->" in page, f"the page's picture:\n{picture()}"
    table = page.split("<!-- /rooms -->")[1].split("###")[0]
    assert [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")] == [*FLOOR_OF]
