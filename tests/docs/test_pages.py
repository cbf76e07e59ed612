"""The pages of `make docs`: each has its place, links lead somewhere, and they ask no other host for anything."""

import doctest
import importlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import typer

from allmlp import models
from allmlp.cli import extend, main
from allmlp.common import formats
from allmlp.common.errors import UserError
from allmlp.plan import params
from allmlp.plan.params import Params
from allmlp.spec import catalogue
from allmlp.studies.crossover.fits import TASKS
from tests.conftest import PROJECT
from tests.pages import __main__ as making
from tests.pages import columns, commands, errata, errors, files, interface, parameters, sources
from tests.workflow.visiting import SCREEN, Visit, started

DOCS = sorted((PROJECT / "docs").glob("*.md"))
PAGES = {"README.md": PROJECT / "README.md", **{path.name: path for path in DOCS}}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]*)\"|<link\b[^>]*\bhref=\"([^\"]*)\"")
OF_STYLES = re.compile(r"url\(\s*['\"]?([^)'\"]*)|@import\s+['\"]([^'\"]*)")
ELSEWHERE = re.compile(r"(?:https?:)?//")
LOOKED_FOR = {
    "quadrature": "made/columns.html",
    "slurm": "cluster.html",
    **dict.fromkeys(("licence", "changelog", "cite", "Windows", "how long", "cost"), "machines.html"),
}


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(text: str) -> set[str]:
    """Those of the headings, as GitHub and the generator make them."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


def test_every_page_has_one_place_in_the_navigation() -> None:
    listed = [name for names in sources.NAVIGATION.values() for name in names]
    assert sorted(listed) == sorted([*(path.stem for path in DOCS), *sources.MADE, sources.INTERFACE])


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for link in LINK.findall(without_code(PAGES[name].read_text(encoding="utf-8"))):
        file, _, anchor = link.partition("#")
        target = PAGES[name].parent / file if file else PAGES[name]
        assert ELSEWHERE.match(link) or target.is_file(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_links_within_the_reference_lead_somewhere() -> None:
    page = parameters.page()
    asked = set(re.findall(r"\]\(#([^)]+)\)", page))
    assert asked
    assert asked <= set(re.findall(r"^\(([\w-]+)\)=$", page, re.MULTILINE))


def test_the_reference_has_every_command_and_option() -> None:
    page = commands.page()
    assert set(re.findall(r"^### allmlp (\S+)$", page, re.MULTILINE)) == {
        command.name for command in main.app.registered_commands
    }
    assert re.search(r"^\| `--minutes` \| number from 0.01 \| 5 \| Of all trainings", page, re.MULTILINE)
    assert re.search(r"^\| `RUN` \| text \| required \| A run's id", page, re.MULTILINE)


def test_every_argument_and_option_is_described() -> None:
    known = typer.main.get_command(main.app).commands  # type: ignore[attr-defined]
    assert [
        f"{name} {of.name}" for name, command in known.items() for of in command.params if not getattr(of, "help", None)
    ] == []


def test_the_help_of_try_names_the_tasks_that_there_are() -> None:
    scales = (setting for (study, _), setting in params.read().settings.items() if study == "crossover")
    tasks = {task for setting in scales for task in setting.budgets}
    can = {task for task in tasks if TASKS[task].reads == "tokens" and "all" in TASKS[task].predicts}
    assert {word for word in re.findall(r"[a-z-]+", extend.TRIED) if word in TASKS} == can


def test_the_reference_has_every_parameter(published: Path) -> None:
    page = parameters.page()
    for study in filter(catalogue.has_runs, catalogue.STUDIES):
        for key in catalogue.module(study, "runs").Settings.model_fields:
            assert f"| `{key}` |" in page, f"{study}: {key}"
    assert all(f"| `{name}` |" in page for name in models.REGISTRY)
    assert str(Params.__doc__).splitlines()[0] in page


def test_the_reference_has_every_form_measure_and_erratum() -> None:
    assert files.KINDS.keys() == formats.FORMATS.keys()
    known = {command.name for command in main.app.registered_commands}
    assert {maker.split()[1] for about in files.KINDS.values() for maker in about["by"].split(", ")} <= known
    assert "work/runs/RUN/" in files.page()
    measures, changed = columns.page(), errata.page()
    for study in catalogue.STUDIES:
        for name in catalogue.measures(study):
            assert all(f"| `{column}` |" in measures for column in catalogue.measure(study, name).columns)
        assert all(f"### {row['id']}\n" in changed for row in catalogue.ledger(study, "errata"))


def test_an_error_that_the_code_gives_is_on_the_page_of_errors() -> None:
    page = errors.page()
    assert page.count("\n- ") > 300
    with pytest.raises(UserError) as raised:
        catalogue.measure_source("copying", "no_such_measure")
    assert "- no measure … of …. There are: ….\n" in page
    assert str(raised.value).startswith("no measure 'no_such_measure' of copying. There are: ")


def test_the_interface_has_every_module_once() -> None:
    named = re.findall(r"automodule:: (\S+)", "\n".join(interface.pages().values()))
    assert len(named) == len(set(named)) > 200
    assert {"allmlp.models", "allmlp.training.loop", "allmlp.studies.mixers.measures.retrieval"} <= set(named)


@pytest.mark.parametrize("module", ["described", "docstrings", "errors", "markdown"])
def test_examples_of_the_tools(module: str) -> None:
    tried = doctest.testmod(importlib.import_module(f"tests.pages.{module}"))
    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_project_does_not_depend_on_the_generator() -> None:
    asked = (Path(making.HERE) / "requirements.txt").read_text(encoding="utf-8")
    names = {line.partition("==")[0].lower() for line in asked.splitlines()}
    locked = (PROJECT / "requirements.lock").read_text(encoding="utf-8")
    assert names.isdisjoint(line.partition("==")[0].lower() for line in locked.splitlines())
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in asked.splitlines())


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished pages."""
    try:
        programs = making.environment()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the packages of tests/pages/requirements.txt cannot be had: {error}")
    folder = tmp_path_factory.mktemp("pages")
    making.build(programs, folder / "source", folder / "made")  # a warning ends it
    return folder / "made"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from started()


@pytest.mark.slow
def test_the_pages_are_made_and_need_no_network(pages: Path) -> None:
    made = {path.relative_to(pages).with_suffix("").as_posix() for path in pages.rglob("*.html")}
    assert made >= {"index", "search", *(name for names in sources.NAVIGATION.values() for name in names)}
    for path in pages.rglob("*.html"):
        assert not [one for one in loaded(LOADED, path) if ELSEWHERE.match(one)], path
    for path in pages.rglob("*.css"):
        assert not [one for one in loaded(OF_STYLES, path) if ELSEWHERE.match(one)], path
    texts = (pages / "_static/texts.js").read_text(encoding="utf-8").removeprefix("const TEXTS = ").removesuffix(";\n")
    assert json.loads(texts).keys() >= {name for names in sources.NAVIGATION.values() for name in names}
    assert "texts.js" not in (pages / "index.html").read_text(encoding="utf-8"), "a megabyte for the search alone"
    index = (pages / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")
    assert "tournament_search" in index, "a measure, which the reference alone has"


@pytest.mark.slow
def test_what_users_look_for_finds_its_page(browser: Any, pages: Path) -> None:
    for words, page in LOOKED_FOR.items():
        page_of_results = Visit(browser, pages / "search.html", f"?q={quote(words)}").page
        page_of_results.wait_for_selector("#search-results li a")
        links = page_of_results.query_selector_all("#search-results li a")
        assert page in [link.get_attribute("href") for link in links[:3]], words
        page_of_results.wait_for_selector("#search-results li p.context")
        assert words.split()[0].lower() in page_of_results.inner_text("#search-results").lower(), "with what it says"


@pytest.mark.slow
def test_the_pages_have_no_finding_of_axe(browser: Any, pages: Path) -> None:
    for path in sorted(pages.rglob("*.html")):
        visit = Visit(browser, path, viewport={"width": 1280, "height": SCREEN})
        assert [(one["id"], one["nodes"][0]["html"]) for one in visit.violations()] == [], path
        visit.context.close()


def loaded(places: re.Pattern[str], path: Path) -> list[str]:
    """What a page or a style asks for when it is shown."""
    found = places.findall(path.read_text(encoding="utf-8"))
    return [one for of in found for one in of if one]
