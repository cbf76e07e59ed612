"""Which modules the pages of the interface document: a page for each package, by the generator's autodoc."""

import ast
from collections import defaultdict
from pathlib import Path

import allmlp
from tests.pages.markdown import first

PACKAGE = Path(allmlp.__file__).parent
TOP = "allmlp"  # the page of the modules that are in no package of their own
LEFT_OUT = ("__main__", "relation_triton")  # a script; and a module that only machines with a GPU can import
STUDIES = "studies"  # its packages are a page each
HEAD = """# Interface

Every public function and class, from its docstring. A name as `x_BTD` carries its shape: B sequences of a batch, T
tokens, D features, V token types.

"""


def pages() -> dict[str, str]:
    """File -> content: the overview, and a page for each package."""
    grouped = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stem not in LEFT_OUT and path.stat().st_size:
            grouped[_page(path)].append(path)
    listed = "".join(f"{name} <interface/{name}>\n" for name in grouped)
    lines = "".join(f"- [{name}](interface/{name}.rst): {_about(name)}\n" for name in grouped)
    tree = f"```{{toctree}}\n:hidden:\n\n{listed}```\n"
    made = {f"interface/{name}.rst": _document(name, paths) for name, paths in grouped.items()}
    return {"interface.md": f"{HEAD}{lines}\n{tree}", **made}


def _page(path: Path) -> str:
    """The page of a module: its package below allmlp; of a study's, the study's own."""
    parts = path.relative_to(PACKAGE).parts[:-1]
    return ".".join((TOP, *parts[: 2 if parts[:1] == (STUDIES,) else 1]))


def _about(page: str) -> str:
    if page == TOP:
        return "plans, runs, measurements, and what all others share"
    source = PACKAGE.joinpath(*page.split(".")[1:], "__init__.py").read_text(encoding="utf-8")
    return first(ast.get_docstring(ast.parse(source))) or "see the modules"


def _document(page: str, paths: list[Path]) -> str:
    """reStructuredText: the modules of a page, with all that is public and has a docstring."""
    text = f"{page}\n{'=' * len(page)}\n\n"
    for path in paths:
        name = ".".join((TOP, *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        text += f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n\n"
    return text
