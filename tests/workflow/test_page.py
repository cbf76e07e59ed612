"""The report in a real browser: Debian's Chromium or Google's Chrome, driven by Playwright, with axe-core beside it.

Both come with `pip install playwright axe-playwright-python` and `apt install chromium`; without them these tests skip.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from allmlp.common import paths
from allmlp.report import render, save
from allmlp.report.inline import data
from tests.conftest import PROJECT
from tests.workflow.visiting import MOST_SCREENS, SCREEN, Visit

pytestmark = pytest.mark.slow
LARGEST = 8_000_000  # bytes
MOST_ELEMENTS = 60_000
HOSTILE = "<img src=x onerror=\"document.title='run'\">"
ENDS = "</desc></svg></script></style><script>document.title='run'</script>{{ 7 * 7 }} &lt;i> \x07\x1b[2J\u202e"


def test_one_request_no_complaint_and_few_screens(visit: Callable[..., Visit]) -> None:
    at = visit()
    assert [url for url in at.requests if not url.startswith("data:")] == [at.page.url]
    assert at.complaints == []
    assert visit(fragment="#height").lay_out_rows().of("document.documentElement.scrollHeight") <= MOST_SCREENS * SCREEN
    assert (PROJECT / "results/report.html").stat().st_size <= LARGEST


COUNT_PARSED = "window.parsed = 0; const parse = JSON.parse; JSON.parse = text => (parsed += text.length, parse(text))"


def test_at_first_only_what_is_in_sight_is_laid_out_and_no_folded_piece_is_built(browser: Any) -> None:
    """What a slow machine waits for: elements, sheets of styles (at each a browser looks at all elements), layout, data
    read.
    """
    at = Visit(browser, PROJECT / "results/report.html", before=COUNT_PARSED)
    assert at.of("document.querySelectorAll('*').length") < MOST_ELEMENTS
    assert at.of("document.styleSheets.length") == 2
    lists = "[...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).map(rule => rule.selectorText)"
    assert [selector for selector in at.of(lists) if selector == "*"] == ["*"]
    texts = (
        "[...document.querySelectorAll('.study p')].filter(one => one.checkVisibility({contentVisibilityAuto: true}))"
    )
    assert at.of(f"{texts}.length") == 0
    assert at.of("[...document.querySelectorAll('.explore .piece')].filter(one => one.hasChildNodes()).length") == 0
    assert 0 < at.of("parsed") <= at.of("document.getElementById('skills-data').textContent.length")
    at.page.keyboard.press("End")
    at.page.wait_for_function(f"{texts}.length > 0")
    at.context.close()


def test_text_out_of_sight_is_found(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#found")
    words = at.of("[...document.querySelectorAll('#triangular h3')].at(-1).textContent")
    assert at.of(f"window.find({json.dumps(words)})")
    assert at.of("document.querySelector('#triangular').contains(getSelection().anchorNode) || scrollY > 0")


@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_nothing_scrolls_sideways(visit: Callable[..., Visit], width: int) -> None:
    at = visit(width, fragment="#wide").lay_out_rows()
    assert at.of("document.documentElement.scrollWidth") <= width
    at.of("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert at.of("document.documentElement.scrollWidth") <= width
    at.of("document.querySelectorAll('details').forEach(one => one.open = false)")


def test_on_a_phone_a_picture_that_goes_on_fades_until_its_end_is_reached(visit: Callable[..., Visit]) -> None:
    picture = visit(390, fragment="#fades").page.locator("#figure-crossover-matrix .picture")
    picture.scroll_into_view_if_needed()
    picture.and_(picture.page.locator(".slides")).wait_for()
    assert picture.evaluate("one => one.scrollWidth > one.clientWidth")
    picture.evaluate("one => { one.scrollLeft = one.scrollWidth }")
    picture.and_(picture.page.locator(":not(.slides)")).wait_for()
    assert picture.evaluate("one => one.scrollLeft > 0")


@pytest.mark.parametrize("width", [390, 1280])
def test_every_picture_is_readable_and_slides_in_its_own_box(visit: Callable[..., Visit], width: int) -> None:
    """Exponents and folded pictures too. A picture that is not drawn yet has its place already; without text it has no
    least width.
    """
    at = visit(width, fragment="#readable").lay_out_rows()
    at.of("document.querySelectorAll('details').forEach(one => one.open = true)")
    at.page.add_style_tag(content=".panel { display: block !important }")
    found = at.of(
        "[...document.querySelectorAll('.drawing .picture')].filter(one => one.offsetHeight).map(one => {"
        "  const svg = one.querySelector('svg'), letters = [...svg.querySelectorAll('text')];"
        "  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;"
        "  return [one.clientWidth, one.tabIndex, one.offsetHeight / (svg.viewBox.baseVal.height * scale),"
        "    Math.min(...letters.flatMap(text => [text, ...text.querySelectorAll('tspan')])"
        "      .map(text => parseFloat(getComputedStyle(text).fontSize) * scale))];"
        "})"
    )
    assert len(found) > 80
    assert max(across for across, *_ in found) < width
    assert {tabbed for _, tabbed, *_ in found} == {0}
    assert all(0.95 < filled < 1.1 for *_, filled, _ in found)
    assert min(least for *_, least in found if least) >= 9


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_axe_finds_nothing(visit: Callable[..., Visit], width: int, scheme: str) -> None:
    found = visit(width, fragment="#axe", color_scheme=scheme).lay_out_rows().without_insides().violations()
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_every_picture_has_a_name_and_a_description(visit: Callable[..., Visit]) -> None:
    said = visit().of(
        "[...document.querySelectorAll('figure .picture svg')].map(one =>"
        " [one.getAttribute('role'), one.getAttribute('aria-label'),"
        " document.getElementById(one.getAttribute('aria-describedby')).textContent])"
    )
    assert len(said) > 50
    assert all(role == "img" and name and len(description) > 10 for role, name, description in said)


def shown(at: Visit) -> int:
    rows: int = at.of("[...document.querySelectorAll('#all-claims tbody tr')].filter(row => !row.hidden).length")
    return rows


@pytest.mark.parametrize(
    "name", ["study", "whose", "verdict", "text", "basis", "scale", "reach", "levelled", "blind", "rule"]
)
def test_each_filter_keeps_some_claims_and_the_address_keeps_the_filter(visit: Callable[..., Visit], name: str) -> None:
    at = visit()
    everything = shown(at)
    field = at.page.locator(f"#filter select[name={name}]")
    field.select_option(index=1)
    chosen = field.input_value()
    some = shown(at)
    assert 0 < some < everything
    assert at.page.locator("#shown").inner_text() == f"{some} of {everything} claims"
    again = visit(fragment=at.of("location.hash"))
    assert again.page.locator(f"#filter select[name={name}]").input_value() == chosen
    assert shown(again) == some
    at.page.locator("#filter button[type=reset]").click()
    at.page.wait_for_function("location.hash === '#claims'")
    assert shown(at) == everything


def test_the_table_counts_the_papers_claims_as_the_first_screen_does(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#claims?whose=a+paper's&verdict=partly")
    lead = at.page.locator("#answer .lead").all_inner_texts()
    badges = at.of(
        "[...document.querySelectorAll('#all-claims tbody tr:not([hidden]) .verdict')].map(one => one.innerText)"
    )
    small = badges.count("partly at small scale")
    assert 0 < small < shown(at)
    assert f" {shown(at)} in part ({small} at small scale)" in " ".join(lead)


def test_claims_are_searched_and_sorted(visit: Callable[..., Visit]) -> None:
    at = visit()
    at.page.locator("#filter input[name=q]").fill("hybrid leaks")
    assert at.of(
        "[...document.querySelectorAll('#all-claims tbody tr:not([hidden]) th')].map(one => one.innerText)"
    ) == ["001-19"]
    at.page.locator("#filter button[type=reset]").click()
    seeds = "[...document.querySelectorAll('#all-claims tbody tr')].map(row => parseInt(row.cells[6].innerText) || 0)"
    head = at.page.locator("#all-claims th", has_text="seeds")
    for way in ("ascending", "descending"):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == way
        found = at.of(seeds)
        assert found[:: 1 if way == "ascending" else -1][-1] == max(found)
    assert "sort=seeds+descending" in at.of("location.hash")
    at.page.locator("#filter button[type=reset]").click()


def test_a_text_is_switched_on_the_figure_by_keyboard(visit: Callable[..., Visit]) -> None:
    at = visit()
    radios = at.page.locator("#figure-language-loss input[type=radio]")
    panels = at.page.locator("#figure-language-loss .panel")
    assert [panels.nth(n).is_visible() for n in range(2)] == [True, False]
    radios.first.focus()
    at.page.keyboard.press("ArrowRight")
    assert [panels.nth(n).is_visible() for n in range(2)] == [False, True]


def test_a_task_is_left_out_of_the_crossover_and_families_are_ordered(visit: Callable[..., Visit]) -> None:
    at = visit()
    mean = at.page.locator("#skills figure").first
    before, said = mean.locator("svg").get_attribute("aria-label"), at.page.locator("#skills output").inner_text()
    stories = at.page.locator("#skills figure[data-task=stories]")
    stories.locator("input").uncheck()
    assert stories.locator("svg").count() == 0
    assert mean.locator("svg").get_attribute("aria-label") != before
    assert ", stories" in said
    assert ", stories" not in at.page.locator("#skills output").inner_text()
    stories.locator("input").check()
    assert mean.locator("svg").get_attribute("aria-label") == before
    at.page.locator("#skills select").select_option("operations")
    texts = mean.locator("g text").all_text_contents()
    families = [text for text in texts if not re.fullmatch(r"[\d.]+[KMG]", text)]  # operations stand beside each
    assert len(families) == len(set(families)) > 1
    assert mean.locator("svg").get_attribute("aria-label") != before
    assert at.page.locator("#skills .reference").count() > 0
    assert at.page.locator("#skills g.dull circle").count() > 0


def test_an_address_opens_its_claim_clear_of_the_header(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#claim-003-4")
    assert at.of("document.getElementById('claim-003-4').open")
    top = at.of("document.getElementById('claim-003-4').getBoundingClientRect().top")
    assert at.of("document.querySelector('header.bar').getBoundingClientRect().bottom") <= top < SCREEN
    at.page.locator("#claim-003-4 a[href^='#figure-']").first.click()
    back = at.page.locator(f"{at.of('location.hash')} a[href='#claim-003-4']")
    assert back.is_visible()


def test_each_table_gives_the_file_that_it_was_made_from(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#table-copying-learning_rates", accept_downloads=True)
    button = at.page.locator("#table-copying-learning_rates button.file").first
    with at.page.expect_download() as saving:
        button.click()
    saved = saving.value
    assert saved.suggested_filename == button.inner_text().removeprefix("data: ") == "learning_rates.csv"
    assert Path(saved.path()).read_bytes() == (PROJECT / "results/tables/copying/learning_rates.csv").read_bytes()
    tables = list((PROJECT / "results/tables").glob("*/*.csv"))
    assert at.of("document.querySelectorAll('script.file:not(.drawn) + button.file').length") == len(tables)


def test_each_figure_gives_the_numbers_that_it_shows(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#figure-crossover-matrix", accept_downloads=True)
    with at.page.expect_download() as saving:
        at.page.locator("#figure-crossover-matrix button.file").click()
    assert saving.value.suggested_filename == "matrix.csv"
    saved = pd.read_csv(saving.value.path())
    shown = saved.dropna(subset="value").set_index(["y", "x"])["value"].sort_index()
    skills = pd.read_csv(PROJECT / "results/tables/crossover/skills.csv").groupby(["task", "column"])["skill_1"].mean()
    assert len(shown) > 40
    for (task, family), value in shown.items():
        assert value == pytest.approx(skills[task, family], abs=1e-4)
    files = sorted((PROJECT / "results/figures").glob("*/*.svg"))
    with_data = [file for file in files if data(file)]
    assert at.of("document.querySelectorAll('script.drawn + button.file').length") == len(with_data)


def test_the_rows_of_single_seeds_are_built_when_they_are_unfolded(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#table-quadrature-coefficients")
    folded = at.page.locator("#table-quadrature-coefficients details.explore").first
    assert folded.locator("tr").count() == 0
    folded.locator("summary").click()
    rows = pd.read_csv(PROJECT / "results/tables/quadrature/coefficients.csv")
    assert folded.locator("tbody tr").count() == len(rows)
    assert folded.locator("tbody th").first.inner_text() == str(rows["source"][0])


def test_a_claim_leads_to_a_row_for_each_of_its_runs(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#claim-002-1")
    (claim,) = [one for one in render.claims_json.read()["claims"] if one["id"] == "002-1"]
    at.page.locator("#claim-002-1 a[href^='#runs?']").click()
    rows = at.page.locator("#runs tbody tr")
    rows.first.wait_for()
    shown = [words.partition("\t")[0] for words in rows.all_inner_texts()]
    assert set(shown) == set(claim["runs"])
    at.page.locator("#runs input").fill("causal-rn-string64-rate0.0005-seed2100")
    assert ["linear" in words for words in rows.all_inner_texts()] == [False, True]
    assert "2000" in rows.first.inner_text()


def test_it_reads_without_scripts(visit: Callable[..., Visit]) -> None:
    at = visit(java_script_enabled=False)
    assert at.page.locator("#filter").is_hidden()
    assert at.page.locator("#all-claims tbody tr").first.is_visible()
    panels = at.page.locator("#figure-language-loss .panel")
    at.page.locator("#figure-language-loss label").nth(1).click()
    assert [panels.nth(n).is_visible() for n in range(2)] == [False, True]


def test_print_has_what_stands_on_the_screen(visit: Callable[..., Visit]) -> None:
    at = visit(fragment="#print")
    at.of("document.querySelector('.claim').open = true")
    at.page.emulate_media(media="print")
    assert at.page.locator(".rule").first.is_visible()
    assert at.page.locator(".rule").nth(1).is_hidden()
    assert at.of("[...document.querySelectorAll('.switch')].every(one => one.querySelectorAll('.panel').length > 1)")
    shown = "[...one.querySelectorAll('.panel')].filter(panel => getComputedStyle(panel).display !== 'none').length"
    assert at.of(f"[...document.querySelectorAll('.switch')].every(one => {shown} === 1)")
    assert at.page.locator("header.bar").is_hidden()
    assert at.of(
        "[...document.querySelectorAll('.study')].every(one => getComputedStyle(one).contentVisibility === 'visible')"
    )


def spoilt(results: Path, own: bool) -> list[str]:
    """Put a hostile text into every kind of file that the page is made of. Returns the texts. `own`: of an overlay."""
    texts = [
        f"{what}: {HOSTILE}{ENDS}"
        for what in ("overlay", "corpus", "error", "part", "title", "sample", "device", "task")
    ]
    overlay, corpus, error, part, title, sample, device, task = texts
    claims, selected = (json.loads((results / name).read_text()) for name in ("claims.json", "selected.json"))
    first = next(entry for entry in claims["claims"] if entry["parts"])
    first["text"] = first["parts"][0]["text"] = error
    first["parts"][0]["name"] = part
    first["elsewhere"] = {corpus: {**next(iter(first["at"].values())), "text": error, "parts": []}}
    if own:
        selected["overlays"] = [overlay]
    else:
        texts.remove(overlay)
    index = json.loads((results / "tables/triangular/index.json").read_text())
    index["samples"] |= {"title": title, "caption": title, "corpora": [corpus], "recorded": ""}
    for file, column, text in (
        ("triangular/samples", "written", sample),
        ("triangular/samples", "part", part),
        ("crossover/skills", "task", task),
        ("runs", "hardware", device),
    ):
        rows = pd.read_csv(results / f"tables/{file}.csv", dtype=str, keep_default_na=False)
        rows[column] = rows[column].where(rows[column] != rows[column][0], text)
        rows.to_csv(results / f"tables/{file}.csv", index=False)
    for name, content in (("claims", claims), ("selected", selected), ("tables/triangular/index", index)):
        (results / f"{name}.json").write_text(json.dumps(content))
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1])
    axes.set_title(title)
    drawn = json.loads((results / "figures/triangular/index.json").read_text())
    save.save(figure, results / f"figures/triangular/{next(iter(drawn))}.svg", ["a-run"])
    return texts


@pytest.mark.parametrize("own", [False, True])
def test_hostile_text_in_any_file_of_the_results_stays_text(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    ignored = shutil.ignore_patterns("checkpoints", "tokens", "report.html")
    shutil.copytree(PROJECT / "results", tmp_path / "results", ignore=ignored)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.PROJECT, str(PROJECT))
    texts = spoilt(tmp_path / "results", own)
    at = Visit(browser, tmp_path / render.render()).lay_out_rows()
    at.of("document.querySelectorAll('details').forEach(one => one.open = true)")
    read = at.of("document.querySelector('main').innerText")
    assert [text for text in texts if " ".join(text.split()) not in " ".join(read.split())] == []
    assert at.of("document.title").startswith("allmlp")
    assert at.of("document.querySelectorAll('img, iframe, [onerror]').length") == 0
    named = "one.id || one.className || one.parentNode.className || one.parentNode.tagName"
    names = [name.split()[0] for name in at.of(f"[...document.scripts].map(one => {named})")]
    assert [name for name in names if name not in ("explore", "file")] == [*["skills-data"][own:], "BODY"]
    assert [url for url in at.requests if not url.startswith("data:")] == [at.page.url]
    assert at.complaints == []
    at.context.close()


def test_hostile_names_stay_text(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    content = render.content()
    first = content["studies"][0]
    first["claims"][0]["texts"] = first["claims"][0]["elsewhere"] = [HOSTILE]
    first["figures"][0]["variants"][0]["label"] = HOSTILE
    (tmp_path / "report.html").write_text(render.templates().get_template("report.html.j2").render(content))
    at = Visit(browser, tmp_path / "report.html")
    at.page.locator("#filter select[name=text]").select_option(HOSTILE)
    assert shown(at) == 1
    assert at.of("document.title").startswith("allmlp")
    assert at.of("document.querySelectorAll('img').length") == 0
    at.context.close()
