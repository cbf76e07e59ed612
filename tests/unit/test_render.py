"""What the page shows of a table, and the names of its figures."""

import re
import tomllib
from collections import Counter
from contextlib import chdir
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jinja2 import DictLoader, Environment
from matplotlib.figure import Figure

from allmlp import __version__
from allmlp.common import formats
from allmlp.common.errors import UserError
from allmlp.judging.planned_power import POWER
from allmlp.judging.statistics import judge_better
from allmlp.plan.results_folder import NO_FILE
from allmlp.report import badges, citation, inline, open_claims, own, render, runs_piece, save
from allmlp.report.open_claims import Lack
from allmlp.report.render import LONGEST, brief, templates
from allmlp.spec import catalogue, labels
from tests.conftest import PROJECT


@pytest.fixture(scope="module")
def whole_page(committed_last_mile: None) -> str:
    """The page of the committed results, as this code renders it, without the escapes of HTML."""
    with chdir(PROJECT):
        return unescape(templates().get_template("report.html.j2").render(render.content()))


def rows_of(sources: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"source": sources, "value": [str(number) for number in range(len(sources))]})


def test_of_a_long_table_the_rows_of_single_seeds_wait_to_be_asked_for() -> None:
    seeds = [f"seed {number}" for number in range(LONGEST)]
    shown = brief(rows_of(["paper", *seeds, "mean over seeds"]))
    assert shown is not None
    assert shown["source"].tolist() == ["paper", "mean over seeds"]


def test_a_short_table_and_one_without_seeds_stay_whole() -> None:
    assert brief(rows_of(["paper", "seed 0", "mean over seeds"])) is None
    assert brief(rows_of(["paper"] * (LONGEST + 1)).rename(columns={"source": "item"})) is None


def test_every_name_of_the_page_is_there_once_and_every_figure_finds_its_own() -> None:
    page = (PROJECT / "results/report.html").read_text(encoding="utf-8")
    ids = Counter(re.findall(r'\sid="([^"]+)"', page))
    assert [name for name, count in ids.items() if count > 1] == []
    referred = set(re.findall(r'(?:\shref="#|url\(#)([^")?]+)', page))  # `#runs?002-5`: a question to the piece `runs`
    assert len(referred) > 1000
    assert referred <= set(ids)
    classes = {name for found in re.findall(r'\sclass="(f[0-9a-f]{6}-\d+)"', page) for name in found.split()}
    assert classes <= set(re.findall(r"\.(f[0-9a-f]{6}-\d+)\{", page))


def made_up(**changed: Any) -> dict[str, Any]:
    """A claim with its verdict, as the page's templates read it."""
    finding = judge_better([0.31, 0.29, 0.3, 0.32, 0.28], 0.0125, unit="nats")
    entry = {
        "verdict": "undecided",
        "scale": "long",
        "value": 0.31,
        "low": 0.271,
        "high": 0.349,
        "n": 5,
        "unit": "nats",
    }
    entry |= {
        "text": f"at 4.5e+10: {finding.text}; at 6.5e+10: {finding.text}",
        "parts": [],
        "at": {},
        "levelled": None,
    }
    entry |= {"rule_changed_since": "", "older_recipe": False, "here": {"train_loss_nats": 1.875}, **changed}
    row = {"id": "009-1", "claim": "It learns.", "where": "Table 1", "statistic": "loss", "needs": {"scale": "long"}}
    row |= {"reproduced_if": "above loss_nats", "contradicted_if": "below", "reason": "Two digits.", "margin": {}}
    row |= {"paper": {"train_loss_nats": 1.625, "steps": 354000}, "verdict": entry, "basis": "trained", "power": []}
    row |= {"rerun": "allmlp verify --rerun --claim 009-1", "decide": {}}
    row |= {"texts": ["English"], "figures": [], "errata": [], "margins": [("difference of losses", "0.0125 nats")]}
    return {**row, "printed": render.compare_printed(row["paper"], entry["here"])}


def shown_claim(row: dict[str, Any]) -> str:
    page: Any = templates().get_template("parts.html.j2").module
    return unescape(str(page.claims_list({"name": "mine"}, [row])))


PART = {"name": "(a) first", "verdict": "reproduced", "text": "mean 0.4321 nats, 95 % t interval 0.4 to 0.47, n = 5"}


@pytest.mark.parametrize("parts", [[], [PART, {**PART, "name": "(b) second", "text": "mean 7.77e-05, n = 5"}]])
def test_every_number_of_a_claim_is_in_the_page(parts: list[dict[str, Any]]) -> None:
    row = made_up(parts=parts)
    page, entry = shown_claim(row), row["verdict"]
    said = [part["text"] for part in parts] or [entry["text"]]
    assert all(text in page for text in said)
    numbers = [entry["value"], entry["low"], entry["high"], *row["paper"].values(), *entry["here"].values(), 0.25]
    assert all(render.number(value) in page for value in numbers), "0.25: the difference from the paper"
    assert "0.0125 nats" in page


def test_words_between_backticks_are_code(whole_page: str) -> None:
    assert render.prose("see `a<b>` & c") == "see <code>a&lt;b&gt;</code> &amp; c"
    assert render.prose("a lone ` and <b>") == "a lone ` and &lt;b&gt;"
    seen = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", "", whole_page, flags=re.DOTALL)
    assert re.findall(r"`\w[^`\n]*`", seen) == []


def test_each_judged_claim_has_the_command_that_trains_its_runs_again(whole_page: str) -> None:
    assert "<code>allmlp verify --rerun --claim 009-1</code>" in shown_claim(made_up())
    assert "Train its runs again" in shown_claim(made_up())
    assert "Train its runs again" not in shown_claim(made_up(scale=None)), "no run is behind it"
    judged = [entry["id"] for entry in render.claims_json.read()["claims"] if entry["scale"]]
    assert re.findall(r"allmlp verify --rerun --claim ([\w-]+)", whole_page) == judged


def test_each_untested_claim_has_what_it_costs_and_what_trains_it(whole_page: str) -> None:
    untested = [entry for entry in render.claims_json.read()["claims"] if entry["verdict"] in badges.UNTESTED]
    assert untested
    found = re.findall(r"Train it: <code>snakemake --cores all --config scale=(\w+) study=(\w+)</code>", whole_page)
    power = formats.read_json(POWER)
    never = [
        entry["id"] for entry in untested if any(row["never"] and not row["part"] for row in power.get(entry["id"], []))
    ]
    ledger = {row["id"]: row for study in catalogue.STUDIES for row in catalogue.ledger(study)}
    unplanned = [
        entry["id"]
        for entry in untested
        if not entry["scale"] and not open_claims.missing_runs(ledger[entry["id"]], entry)[0]
    ]
    trained = [entry for entry in untested if entry["id"] not in (*never, *unplanned)]
    assert trained
    assert found == [(ledger[entry["id"]]["needs"]["scale"], entry["study"]) for entry in trained]
    assert whole_page.count("<code>allmlp plan --scale ") >= len(trained)


def test_every_finding_stands_in_the_page_as_it_was_made(whole_page: str) -> None:
    found = [entry for entry in render.claims_json.read()["claims"] if entry["scale"]]
    texts = [text for one in found for text in ([part["text"] for part in one["parts"]] or [one["text"]])]
    assert len(texts) > 100
    assert [text for text in texts if text not in whole_page] == []


def test_what_was_found_in_each_paper_is_one_line_that_leads_to_its_erratum(whole_page: str) -> None:
    errata = [row for study in catalogue.STUDIES for row in catalogue.ledger(study, "errata")]
    begin, end = (whole_page.index(f'<section id="{name}"') for name in ("found-in-papers", "claims"))
    for row in errata:
        assert f'href="#erratum-{row["id"]}">{row["id"]}</a> <span>{row["found"]}</span>' in whole_page[begin:end]
        assert whole_page.count(f'id="erratum-{row["id"]}"') == 1
        assert len(row["found"]) <= 200, f"{row['id']}: found is a line"
    assert {row["weight"] for row in errata} == {"conclusion", "number", "gap"}


def test_each_paper_has_its_authors_and_the_place_where_it_is_published(whole_page: str) -> None:
    papers = [about for study in catalogue.STUDIES if (about := catalogue.read_about(study))["authors"]]
    for about in papers:
        assert about["authors"] in whole_page
        for one in about["published"]:
            assert one["where"] in whole_page
            assert "link" not in one or f'<a href="{one["link"]}">' in whole_page


def test_the_rows_of_the_runs_are_whole_and_those_of_a_claim_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = pd.read_csv(PROJECT / "results/tables/runs.csv", dtype=str, keep_default_na=False)
    monkeypatch.chdir(PROJECT)
    entries = render.claims_json.read()["claims"]
    piece = runs_piece.runs_piece(rows, entries)
    columns = dict(zip(piece["heads"], piece["columns"], strict=True))
    for name in ("run", "scale"):
        codes = columns[name].get("codes", range(len(rows)))
        assert [columns[name]["words"][code] for code in codes] == list(rows[name])
    for entry in entries:
        found = [n for first, last in piece["claims"].get(entry["id"], []) for n in range(first, last + 1)]
        assert {rows["run"][n] for n in found} == set(entry.get("runs", ())) & set(rows["run"])
    assert len(piece["claims"]) > 90


def test_the_page_says_how_to_cite_it(whole_page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = citation.citation()
    assert said["bibtex"] in whole_page
    assert f"allmlp {said['version']} of {said['date-released']}" in whole_page
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert said["version"] == declared == __version__
    assert f"\n## {declared}, {said['date-released']}\n" in (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    monkeypatch.setenv("ALLMLP_PROJECT", str(tmp_path))
    (tmp_path / "CITATION.cff").write_text("title: t\nversion: 1\n")
    with pytest.raises(UserError, match=r"CITATION\.cff: lacks date-released, license, authors"):
        citation.citation()


def test_claims_and_their_rules_are_in_words(whole_page: str) -> None:
    prose = " ".join(re.findall(r"<(?:dd|li|p|span class=\"(?:where|said)\")>([^<]*)", whole_page))
    assert set(labels.NAME.findall(prose)) & set(labels.read_labels()) == {"b_i"}, "keys and columns, not formulae"


def variant(text: str, scale: str, steps: str = "", recorded: str = "") -> dict[str, str]:
    return {"text": text, "scale": scale, "steps": steps, "recorded": recorded}


@pytest.mark.parametrize(
    ("variants", "switched", "labels"),
    [
        ([variant("English", "long")], "text", ["English"]),
        ([variant("stories", "long"), variant("English", "long")], "text", ["stories", "English"]),
        (
            [variant("stories", "long", "9 steps"), variant("English", "workstation", "5 steps")],
            "text, scale, steps",
            ["stories, long, 9 steps", "English, workstation, 5 steps"],
        ),
        (
            [variant("English", "long"), variant("English", "workstation")],
            "scale",
            ["long", "workstation"],
        ),
        (
            [variant("English", "long"), variant("English", "long", recorded="mine")],
            "text",
            ["English", "English, mine"],
        ),
    ],
)
def test_a_switch_names_all_that_it_switches(variants: list[dict[str, str]], switched: str, labels: list[str]) -> None:
    found = render.switch(variants)
    assert found["switched"] == switched
    assert [one["label"] for one in found["variants"]] == labels


def test_a_claim_that_is_not_blind_says_so_in_its_row_and_no_other_does() -> None:
    said = templates().get_template("parts.html.j2").module.not_blind  # type: ignore[attr-defined]
    assert "not blind" in said({"blind": False, "seen": "first results"})
    assert "seen before the rule: first results" in said({"blind": False, "seen": "first results"})
    assert not said({"id": "000-1"}).strip()


def test_what_levelled_says_of_a_verdict_stands_beside_it() -> None:
    parts: Any = templates().get_template("parts.html.j2").module
    known, unknown = ({"level": 0, "of": 5, "unknown": n, "steps": [40, 40]} for n in (0, 5))
    assert parts.level(known) == "0/5 runs levelled off"
    assert parts.level(unknown) == "?/5 runs levelled off"
    lengths = "The verdict is about trainings of that length"
    for found, said in (
        (known, "0 of 5 runs have levelled off"),
        (unknown, "whether 5 runs levelled off is not known"),
    ):
        ending = parts.ending({"levelled": found})
        assert f"After 40 steps: {said}" in ending
        assert lengths in ending
    assert lengths not in parts.ending({"levelled": {**known, "level": 5}})
    assert "Runs levelled off" in parts.about_levels([{"verdict": {"levelled": known}}])
    assert not parts.about_levels([{"verdict": {"levelled": None}}, {"verdict": {}}]).strip()


def test_a_page_that_is_too_large_is_written_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Environment(loader=DictLoader({"report.html.j2": "A page of some length."}))
    monkeypatch.setattr(render, "templates", lambda: page)
    monkeypatch.setattr(render, "content", dict)
    monkeypatch.setattr(render, "LARGEST", 10)
    monkeypatch.setattr(render, "REPORT", tmp_path / "report.html")
    assert render.render() == tmp_path / "report.html"
    assert (tmp_path / "report.html").stat().st_size > 10
    assert "report.html: " in (said := capsys.readouterr().err)
    assert "more than 10" in said


def test_a_figure_that_is_too_large_is_written_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(save, "LARGEST", 10)
    save.save(Figure(), tmp_path / "points.svg", ["a-run"])
    assert (tmp_path / "points.svg").is_file()
    assert "bytes, more than 10; git keeps it for ever. Draw fewer points." in capsys.readouterr().err


@pytest.mark.parametrize(("inches", "most"), [(4.0, 374), (7.0, None)])
def test_a_narrow_figure_is_not_stretched_to_the_width_of_its_column(
    tmp_path: Path, inches: float, most: int | None
) -> None:
    save.save(Figure(figsize=(inches, 2)), tmp_path / "points.svg", ["a-run"])
    assert render.page_width(inline.element(tmp_path / "points.svg", "f0", "points", {})) == most


@pytest.mark.usefixtures("committed_last_mile")
def test_a_report_of_an_overlay_speaks_of_its_studies_alone_beside_the_committed_exhibits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(render, "MOVED", tmp_path / "moved.json")
    render.MOVED.write_text('{"since": "abc", "rows": [], "of": 9, "new": 0}')
    selected = render.selection.read()
    page = templates().get_template("report.html.j2")
    assert 'id="moved"' in (committed := page.render(render.content()))
    assert "committed ones" not in committed
    studies = {study: scales if study == "language" else {} for study, scales in selected["studies"].items()}
    mine = {**selected, "overlays": ["my.yaml"], "scale": "long", "studies": studies}
    monkeypatch.setattr(render.selection, "read", lambda: mine)
    found = page.render(render.content())
    assert "<strong>my.yaml, at long.</strong>" in found
    assert 'id="moved"' not in found
    assert 'href="report.html">The report of the committed results' in found
    assert "Not touched: mixers, copying" in found
    assert re.search(r"measured \(\d+ are trainings; the others are counts and formulae\), on", found)
    assert "uniform guess" not in found, "long runs"
    assert re.search(r"\d+ of \d+ claims decided, \d+ of them by a formula, a count or the code alone\.", found)
    assert 'id="language"' in found
    assert 'id="mixers"' not in found
    assert ", committed" in found, "the project's figures are there too"
    assert "verify --rerun" not in found
    figures = re.findall(r'id="figure-(\w+)-', found)
    assert set(figures) == {"language"}
    ids = re.findall(r' id="([^"]+)"', found)
    assert len(ids) == len(set(ids)), "each id is there once"


@pytest.mark.parametrize(
    ("overlays", "laid"),
    [
        (["my.yaml"], "--configfile my.yaml "),
        (["a.yaml", "my b.yaml"], "--configfile a.yaml 'my b.yaml' "),
        ([NO_FILE], ""),
    ],
)
def test_an_own_report_has_the_command_that_trains_what_it_lacks(overlays: list[str], laid: str) -> None:
    """Of several --configfile Snakemake takes the last one alone."""
    said = own.command({"overlays": overlays, "scale": "smoke"}, "mixers")
    assert said == f"snakemake --cores all {laid}--config scale=smoke study=mixers"
    shown = own.show_command("flat-seed0-12345678", {"overlays": overlays, "scale": "smoke"})
    given = laid.removeprefix("--configfile ").replace(".yaml 'my", ".yaml --params 'my")
    assert shown == f"allmlp show flat-seed0-12345678 {f'--params {given}' if laid else ''}--scale smoke"
    assert own.show_command("flat-seed0-12345678", {"scale": "laptop"}) == "allmlp show flat-seed0-12345678"


def test_links_to_what_an_own_page_does_not_show_lead_to_the_committed_one() -> None:
    page = '<a href="#here">1</a><a href="#runs?009-1">2</a><a href="#gone">3</a><p id="here"></p><p id="runs"></p>'
    found = render._link_to_committed_page(page, "../report.html")
    assert found == page.replace('"#gone"', '"../report.html#gone"')


def test_an_own_report_says_where_a_loss_is_that_of_a_uniform_guess() -> None:
    corpora = {"mine": {"counts": {"vocabulary": 600}}, "digits": {"counts": {"images": 3}}}

    def rows(*losses: tuple[str, str, float | str]) -> pd.DataFrame:
        return pd.DataFrame(losses, columns=["task", "corpus", "validation_nats"])

    assert own.near_uniform(rows(("last-token", "mine", 6.2), ("next-token", "mine", "")), corpora)
    assert not own.near_uniform(rows(("last-token", "mine", 6.2), ("next-token", "mine", 5.1)), corpora)
    assert not own.near_uniform(rows(("images", "digits", 9.0), ("copying", "", "")), corpora)
    assert not own.near_uniform(rows(), corpora)


def test_an_own_report_says_what_a_verdict_lacks() -> None:
    lacks = [Lack("", "scale", "needs scale paper or larger and 5 seeds"), Lack("(b) wide", "seeds", "needs 5 seeds")]
    assert own.what_is_missing({"lacks": []}) == ""
    assert own.what_is_missing({"lacks": lacks}) == f"{lacks[0].words}; (b) wide needs 5 seeds"


def test_the_place_of_a_text_is_rounded_and_scales_are_not() -> None:
    svg = '<svg><text transform="translate(263.533178 7.12678) rotate(-90) scale(0.015625)">a</text></svg>'
    assert 'transform="translate(263.5 7.13) rotate(-90) scale(0.015625)"' in save.compact(svg)
