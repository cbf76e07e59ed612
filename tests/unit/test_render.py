"""What the page shows of a table, and the names of its figures."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jinja2 import DictLoader, Environment
from matplotlib.figure import Figure

from allmlp.report import inline, render, saving
from allmlp.report.render import LONGEST, brief, templates
from tests.conftest import PROJECT


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
    referred = set(re.findall(r'(?:\shref="#|url\(#)([^")]+)', page))
    assert len(referred) > 1000
    assert referred <= set(ids)
    classes = {name for found in re.findall(r'\sclass="(f[0-9a-f]{6}-\d+)"', page) for name in found.split()}
    assert classes <= set(re.findall(r"\.(f[0-9a-f]{6}-\d+)\{", page))


def test_a_claim_that_is_not_blind_says_so_in_its_row_and_no_other_does() -> None:
    said = templates().get_template("parts.html.j2").module.not_blind  # type: ignore[attr-defined]
    assert "not blind" in said({"blind": False, "seen": "first results"})
    assert "seen before the rule: first results" in said({"blind": False, "seen": "first results"})
    assert not said({"id": "000-1"}).strip()


def test_what_levelled_says_of_a_verdict_stands_beside_it() -> None:
    parts: Any = templates().get_template("parts.html.j2").module
    known, unknown = ({"level": 0, "of": 5, "unknown": n, "steps": [40, 40]} for n in (0, 5))
    assert parts.level(known) == "0/5 runs level"
    assert parts.level(unknown) == "?/5 runs level"
    lengths = "The verdict is about trainings of that length"
    for found, said in (
        (known, "0 of 5 runs have levelled off"),
        (unknown, "whether 5 runs levelled off is not known"),
    ):
        ending = parts.ending({"levelled": found})
        assert f"After 40 steps: {said}" in ending
        assert lengths in ending
    assert lengths not in parts.ending({"levelled": {**known, "level": 5}})
    assert "Runs level" in parts.about_levels([{"verdict": {"levelled": known}}])
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
    monkeypatch.setattr(saving, "LARGEST", 10)
    saving.save(Figure(), tmp_path / "points.svg", ["a-run"])
    assert (tmp_path / "points.svg").is_file()
    assert "bytes, more than 10; git keeps it for ever. Draw fewer points." in capsys.readouterr().err


@pytest.mark.parametrize(("inches", "most"), [(4.0, 374), (7.0, None)])
def test_a_narrow_figure_is_not_stretched_to_the_width_of_its_column(
    tmp_path: Path, inches: float, most: int | None
) -> None:
    saving.save(Figure(figsize=(inches, 2)), tmp_path / "points.svg", ["a-run"])
    assert render.widest(inline.element(tmp_path / "points.svg", "f0", "points", {})) == most


def test_a_report_of_an_overlay_names_its_file_and_leaves_moved_verdicts_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    selected = render.selection.read()
    page = templates().get_template("report.html.j2")
    assert 'id="moved"' in (committed := page.render(render.content()))
    assert "committed ones" not in committed
    monkeypatch.setattr(render.selection, "read", lambda: {**selected, "overlays": ["my.yaml"], "scale": "smoke"})
    own = page.render(render.content())
    assert "Results of my.yaml, at smoke." in own
    assert 'id="moved"' not in own


def test_the_place_of_a_text_is_rounded_and_scales_are_not() -> None:
    svg = '<svg><text transform="translate(263.533178 7.12678) rotate(-90) scale(0.015625)">a</text></svg>'
    assert 'transform="translate(263.5 7.13) rotate(-90) scale(0.015625)"' in saving.compact(svg)
