"""What docs/tutorial.md says of a figure's colour holds; tests/unit/test_trying.py tries its mixer."""

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import PROJECT, call

PAGE = (PROJECT / "docs/tutorial.md").read_text(encoding="utf-8")


def test_the_line_to_change_stands_in_the_file_that_is_named() -> None:
    (old, new), (file,) = re.search(r"^-(.*)\n\+(.*)$", PAGE, re.MULTILINE).groups(), re.findall(r"`(src/\S+)`", PAGE)  # type: ignore[union-attr]
    text = (PROJECT / file).read_text(encoding="utf-8")
    assert text.count(f"{old}\n") == 1
    assert new not in text


@pytest.mark.usefixtures("committed_results")
def test_the_drawings_listed_are_those_with_the_old_colour() -> None:
    (colour,) = re.findall(r"^-.*\"(#\w+)\"", PAGE, re.MULTILINE)
    figures = sorted((PROJECT / "results/figures").glob("*/*.svg"))
    drawn = [path for path in figures if colour in path.read_text(encoding="utf-8")]
    assert re.findall(r"^ M (\S+\.svg)$", PAGE, re.MULTILINE) == [str(path.relative_to(PROJECT)) for path in drawn]


@pytest.mark.usefixtures("committed_results")
def test_the_way_back_undoes_the_change(tmp_path: Path) -> None:
    call(tmp_path, "git", "clone", "--quiet", "--depth", "1", f"file://{PROJECT}", "copy")
    copy = tmp_path / "copy"
    (file,) = re.findall(r"`(src/\S+)`", PAGE)
    changed = [copy / file, copy / "results/report.html", copy / "results/stages.json", copy / "dvc.lock"]
    for path in changed:
        path.write_text("changed\n")
    (command,) = re.findall(r"^git checkout .*$", PAGE, re.MULTILINE)
    call(copy, *shlex.split(command))
    assert not call(copy, "git", "status", "--short").stdout
