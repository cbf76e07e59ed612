"""Files and functions that the documentation names are there."""

import re
from pathlib import Path

import pytest

from tests.conftest import PROJECT

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
FILE = re.compile(r"`([a-z_]+(?:/[a-z_]+)+\.(?:py|smk|yaml))`")
ANY = ("figures/diagrams.py", "tests/pages/navigation.yaml")  # of each study
FOLDERS = ("", "src/allmlp")
OF_FILES = re.compile(r"((?:`\w+`(?:, | and )?)+)\s*\(`([a-z_/]+\.py)`\)")  # `one` and `two` (`folder/file.py`)


def _found(name: str) -> list[Path]:
    return [path for folder in FOLDERS if (path := PROJECT / folder / name).is_file()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = {name for name in FILE.findall(text) if name not in ANY and "running_average" not in name}
    assert [name for name in sorted(named) if not _found(name)] == []


def test_functions_that_a_page_names_with_their_file_are_in_it() -> None:
    named = 0
    for page in PAGES:
        for functions, file in OF_FILES.findall(page.read_text(encoding="utf-8").replace("\n", " ")):
            (path,) = _found(file)
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r"`(\w+)`", functions):
                named += 1
                assert re.search(rf"^(def|class) {name}\b", text, re.MULTILINE), (
                    name,
                    file,
                )
    assert named > 6


EXTENSIONS = {"py", "yaml", "json", "lock", "md", "model", "txt"}
OUTSIDE = {"ast", "inspect", "np", "safetensors", "sys", "torch"}  # other packages
OUTSIDE |= {"dag", "resource_settings", "scheduler"}  # Snakemake's
OUTSIDE |= {"optimiser", "search"}  # keys of settings


def _words(path: Path) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", path.read_text(encoding="utf-8")))


def test_names_that_a_docstring_gives_with_their_module_are_in_it() -> None:
    """`module.name`, `package.module.name`: there is such a module, and the name occurs in it."""
    package = PROJECT / "src"
    modules: dict[str, set[str]] = {}  # by each end of its dotted name, such as judging.rules and rules
    for path in package.rglob("*.py"):
        parts = [part for part in path.relative_to(package).with_suffix("").parts if part != "__init__"]
        for start in range(len(parts)):
            modules.setdefault(".".join(parts[start:]), set()).update(_words(path))
    named = {
        (path, dotted)
        for path in package.rglob("*.py")
        for dotted in re.findall(r"`([a-z_]+(?:\.\w+)+)`", path.read_text(encoding="utf-8"))
        if dotted.split(".")[0] not in OUTSIDE and dotted.split(".")[-1] not in EXTENSIONS
    }
    assert len(named) > 40
    gone = [
        f"{path.relative_to(PROJECT)}: {dotted}"
        for path, dotted in sorted(named)
        if dotted not in modules and dotted.rpartition(".")[2] not in modules.get(dotted.rpartition(".")[0], set())
    ]
    assert gone == []
