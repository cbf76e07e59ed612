"""Everything that the generator reads, in one folder: README, docs/, and what is made from the code."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.conftest import PROJECT
from tests.pages import columns, commands, errata, errors, files, interface, parameters, rules

NAVIGATION: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_name("navigation.yaml").read_text(encoding="utf-8")
)
MADE: dict[str, Callable[[], str]] = {
    "made/commands": commands.page,
    "made/parameters": parameters.page,
    "made/rules": rules.page,
    "made/files": files.page,
    "made/columns": columns.page,
    "made/errata": errata.page,
    "made/errors": errors.page,
}
INTERFACE = "made/interface"  # several files
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!https?:)[^)#]+)(#[^)]*)?\)")  # image?, text, file, anchor


def write(folder: Path, pages: Path) -> None:
    """Write the sources into an empty folder. `pages`: where the finished ones will lie."""
    shutil.copytree(PROJECT / "docs", folder)
    (folder / "index.md").write_text(_front(folder, pages), encoding="utf-8")
    made = {f"{name}.md": page() for name, page in MADE.items()}
    made |= {f"{Path(INTERFACE).parent}/{name}": text for name, text in interface.pages().items()}
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _front(folder: Path, pages: Path) -> str:
    """README with its links as they are from the first page, and the navigation."""

    def linked(found: re.Match[str]) -> str:
        image, text, file, anchor = found.groups("")
        if image:
            shutil.copy2(PROJECT / file, folder)
            return f"![{text}]({Path(file).name})"
        if file.startswith("docs/"):
            shown = "" if text == file else text  # without a text the generator shows the page's title
            return f"[{shown}]({file.removeprefix('docs/')}{anchor})"
        return f'<a href="{os.path.relpath(PROJECT / file, pages)}">{text}</a>'  # a file of the clone

    text = LINK.sub(linked, (PROJECT / "README.md").read_text(encoding="utf-8"))
    trees = (
        f"```{{toctree}}\n:hidden:\n:caption: {part}\n\n{chr(10).join(names)}\n```\n"
        for part, names in NAVIGATION.items()
    )
    return "\n".join([text, *trees])
