"""Small wrong edits, one at a time, of the modules in modules.yaml: do the tests notice? `make mutants`.

python -m tests.mutants [GROUP ...]     only these groups; their rows of docs/mutants.md are written again

mutmut makes the edits. It has an environment of its own in work/mutants, with the packages of this one behind it.
Functions under a decorator other than staticmethod and classmethod, and what stands outside functions, are not edited.
An interrupted group goes on where it was; tests that have changed since count for the edits still to come.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.conftest import PROJECT
from tests.environments import behind

MUTMUT = "mutmut==3.8.1"
WORK = PROJECT / "work/mutants"
DONE = "done"  # a file in a group's folder: all its mutants are tried
KILLED = ("killed", "timeout", "segfault")
PLUGINS = (  # the last two collect garbage ten times after each call, which takes longer than most tests
    "tests.mutants.calm",
    "no:cacheprovider",
    "no:unraisableexception",
    "no:threadexception",
)
GROUPS: dict[str, dict[str, list[str]]] = yaml.safe_load(Path(__file__).with_name("modules.yaml").read_text())
PAGE = PROJECT / "docs/mutants.md"
HEAD = """# Mutants

`make mutants` edits the modules below wrongly in one place at a time (`mutmut`: another operator or number, a missing
argument, another text), runs the tests that reach the place, and writes this table. An edit is killed if a test fails.
`make mutants MODULE=loop` runs one group again. The survivors are listed with their diffs. Groups and their tests:
`tests/mutants/modules.yaml`.

| group | module | made | killed | survived | share killed |
| --- | --- | ---: | ---: | ---: | ---: |
"""


class Row(NamedTuple):
    """The mutants of one module."""

    group: str
    module: str
    made: int
    killed: int

    def line(self) -> str:
        """The row of the table."""
        share = f"{100 * self.killed // self.made} %" if self.made else ""
        return f"| {self.group} | {self.module} | {self.made} | {self.killed} | {self.made - self.killed} | {share} |\n"


def main() -> None:
    """Run the groups, print survivors and the table, write the page."""
    names = sys.argv[1:] or list(GROUPS)
    if unknown := set(names) - set(GROUPS):
        raise SystemExit(f"no group {', '.join(unknown)} in tests/mutants/modules.yaml: {', '.join(GROUPS)}")
    tool = behind(WORK / "environment", f"{MUTMUT}\n") / "mutmut"
    found = {name: _tried(tool, name) for name in names}
    rows = [row for name in names for row in found[name]]
    print(HEAD.rpartition("\n\n")[2] + "".join(row.line() for row in rows))
    _write(rows)


def _tried(tool: Path, name: str) -> list[Row]:
    """Make and try the mutants of one group. Prints the survivors with their diffs."""
    folder = _laid(name)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    clean["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # to look for plugins takes longer than a small test

    def call(*words: str, stdout: int | None = subprocess.PIPE) -> str:
        said = subprocess.run([tool, *words], cwd=folder, env=clean, check=True, text=True, stdout=stdout)
        return said.stdout or ""

    print(f"{name}:", flush=True)
    call("run", "--max-children", "1", stdout=None)
    (folder / DONE).touch()
    made, killed = Counter[str](), Counter[str]()
    for line in call("results", "--all", "true").splitlines():
        mutant, how = line.strip().split(": ")
        module = mutant.rpartition(".")[0].removesuffix(".__init__")
        made[module] += 1
        if how in KILLED:
            killed[module] += 1
        else:
            print(f"\n{call('show', mutant)}", flush=True)
    return [Row(name, module, made[module], killed[module]) for module in sorted(made)]


def _laid(name: str) -> Path:
    """A folder with the sources, the tests, and mutmut's settings for a group."""
    folder, group = WORK / name, GROUPS[name]
    if (folder / DONE).is_file():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("src", "tests"):
        if not (folder / part).is_symlink():
            (folder / part).symlink_to(PROJECT / part)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"src/allmlp/{module}" for module in group["modules"]],
        "pytest_add_cli_args_test_selection": [f"tests/{test}" for test in group["tests"]],
        "pytest_add_cli_args": [word for plugin in PLUGINS for word in ("-p", plugin)] + ["-m", "not slow"],
    }
    lines = [f"{key} = {value!r}" for key, value in settings.items()]
    project = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text("\n".join([project, "[tool.mutmut]", *lines, ""]), encoding="utf-8")
    return folder


def _write(rows: list[Row]) -> None:
    """Put the rows in the place of their groups' old ones, in the page."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else HEAD
    old = page.removeprefix(HEAD).splitlines(keepends=True)
    lines: list[str] = []
    for name in GROUPS:
        found = [row.line() for row in rows if row.group == name]
        kept = [line for line in old if line.startswith(f"| {name} |")]
        lines += found or kept or [f"| {name} | not run here | | | | |\n"]
    PAGE.write_text(HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
