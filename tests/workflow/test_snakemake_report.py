"""`snakemake --report`: every figure with its paper, title and caption in one page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from allmlp.spec import catalogue
from tests.conftest import PROJECT, call

FIGURES = [
    (index.parent.name, about)
    for index in sorted((PROJECT / "results/figures").glob("*/index.json"))
    for about in json.loads(index.read_text(encoding="utf-8")).values()
]


@pytest.mark.slow
@pytest.mark.usefixtures("committed_last_mile")
def test_every_figure_is_there_under_its_paper_with_title_and_caption(tmp_path: Path) -> None:
    said = call(PROJECT, "snakemake", "--report", str(tmp_path / "page.html"))
    assert "ERROR" not in said.stderr, "a caption is no reStructuredText"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    results, papers = (_read(page, name) for name in ("results", "categories"))
    found = [
        (paper, results[file]["labels"]["figure"])
        for paper, groups in papers.items()
        for files in groups.values()
        for file in files
    ]
    assert sorted(found) == sorted((catalogue.read_about(study)["paper"], _title(about)) for study, about in FIGURES)
    assert len(found) > 50
    assert all(of["caption"].count("<p>") >= 2 for of in results.values()), "its title, then its caption"
    assert not re.findall(r"""<(?:script|link)[^>]* (?:src|href)=["']https?:""", page), "it needs a network"


def _read(page: str, name: str) -> dict[str, Any]:
    """A variable of the page's script."""
    found: dict[str, Any] = json.JSONDecoder().raw_decode(
        page[page.index(f"    var {name} = {{") :].partition("= ")[2]
    )[0]
    return found


def _title(about: dict[str, str]) -> str:
    return about["title"] + (f" ({about['recorded']})" if about["recorded"] else "")


def test_results_that_are_behind_the_plan_are_not_reported(clone: Path, tmp_path: Path) -> None:
    refused = call(clone, "snakemake", "--report", str(tmp_path / "page.html"), ok=False)
    assert refused.returncode == 2
    assert (
        "error: results/ is not up to date with the plan. First the same call with `--cores all` in place"
        in refused.stderr
    )
    assert not (tmp_path / "page.html").exists()
