"""What the project says of itself holds: commands exist, ledgers are whole, no digit of the report is typed by hand."""

import re
import subprocess
from collections import Counter
from typing import get_args

import pytest

from allmlp.judging import needs
from allmlp.plan.params import SCALES
from allmlp.spec import catalogue, exhibits
from tests.conftest import PROJECT, call

ROWS = {
    "language": (19, 10),
    "mixers": (31, 18),
    "copying": (11, 5),
    "quadrature": (13, 11),
    "triangular": (8, 6),
    "crossover": (0, 0),
}


@pytest.mark.parametrize("study", ROWS)  # a study of a user's own is not here
def test_every_row_of_a_study_has_its_claim_and_erratum(study: str) -> None:
    number, (claims, errata) = catalogue.STUDIES[study], ROWS[study]
    found = [row["id"] for row in catalogue.ledger(study)]
    assert found[:claims] == [f"{number}-{n}" for n in range(1, claims + 1)]
    assert found[claims:] == [f"{number}-own-{n}" for n in range(1, len(found) - claims + 1)]  # this project's own
    assert [row["id"] for row in catalogue.ledger(study, "errata")] == [f"E{number}-{n}" for n in range(1, errata + 1)]


@pytest.mark.parametrize("study", catalogue.STUDIES)
def test_claims_are_well_formed(study: str) -> None:
    errata = {row["id"] for row in catalogue.ledger(study, "errata")}
    for row in catalogue.ledger(study):
        assert row.keys() >= {
            "claim",
            "where",
            "statistic",
            "reproduced_if",
            "contradicted_if",
            "margin",
            "needs",
            "test",
        }
        assert row["needs"]["scale"] in SCALES
        for asked in (row["needs"].get("parts") or {}).values():
            assert asked.keys() <= {"scale", "seeds"}
            assert asked.get("scale", SCALES[0]) in SCALES
        needs.refuse_unknown(row, needs.LETTER.findall(f"{row['statistic']} {row['reproduced_if']}"))
        assert all(isinstance(part, str) for part in row.get("runs") or [])
        assert set(row.get("errata") or []) <= errata
        assert all(
            isinstance(value, int | float) for value in {**(row["margin"] or {}), **(row["paper"] or {})}.values()
        )
        if row["test"]:
            assert callable(catalogue.verdict(study, row["test"]))
            assert row["measures"]
        for measure in row["measures"]:
            assert catalogue.measure(study, measure).columns
        assert all(re.fullmatch("[a-z]|all", part) for part in row.get("effect", {})), row["id"]
        assert ("seen" in row) == (not row.get("blind", True)), f"{row['id']}: not blind, and what had been seen"
        assert "blind" not in row["reason"], f"{row['id']}: say `blind: false` and `seen`"


@pytest.mark.parametrize("study", [name for name in catalogue.STUDIES if catalogue.has_runs(name)])
@pytest.mark.parametrize("kind", get_args(exhibits.Kind))
def test_figures_and_tables_say_what_they_are(study: str, kind: exhibits.Kind) -> None:
    claims = {row["id"] for row in catalogue.ledger(study)}
    for exhibit in exhibits.study_exhibits(study, kind).values():
        assert exhibit.title
        assert exhibit.caption
        assert exhibit.where or all(catalogue.is_project_claim(claim) for claim in exhibit.claims)
        assert set(exhibit.claims) <= claims
        assert set(exhibit.measures) <= {*catalogue.measures(study), "cost"}


def test_no_digit_of_the_report_is_typed_by_hand() -> None:
    for path in sorted((PROJECT / "paper").glob("*.j2")):
        text = re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.findall(r".*\d.*", text), path.name


def test_every_command_of_the_readme_exists() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"`allmlp ([a-z]+)", text))
    said = call(PROJECT, "allmlp", "--help", NO_COLOR="1", COLUMNS="200").stdout
    assert commands
    assert commands <= set(re.findall(r"^│ ([a-z]+)  ", said, re.MULTILINE))
    targets = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    makefile = (PROJECT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_architectures_of_one_figure_have_colours_of_their_own() -> None:
    from allmlp.report import style

    together = ["causal-rn", "linear-causal-rn", "transformer", "linear-transformer"]
    of_images = ["birn", "linear-birn", "transformer-classifier", "linear-transformer-classifier"]
    for names in (together, of_images):
        assert max(Counter(style.COLOURS[name] for name in names).values()) == 1


def test_a_further_architecture_changes_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    from allmlp import models
    from allmlp.report import names, style

    before = {name: style.colour(name) for name in models.REGISTRY}
    free = style.FURTHER - len(set(models.REGISTRY) - set(names.ARCHITECTURES))  # a user's own have some
    for number in range(30):
        monkeypatch.setitem(models.REGISTRY, f"mine-{number}", "allmlp.models.mlp:LastTokenMLP")
        assert {name: style.colour(name) for name in before} == before
        before[f"mine-{number}"] = style.colour(f"mine-{number}")
    mine = [before[f"mine-{number}"] for number in range(free)]
    assert len(set(mine)) == len(mine)
    assert style.colour("no architecture", 1) == style.NEUTRAL[1]


def test_nothing_names_this_machine() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=PROJECT, capture_output=True, text=True
    )
    assert tracked.stdout
    for name in tracked.stdout.splitlines():
        path = PROJECT / name
        if path.suffix in {".py", ".md", ".yaml", ".toml", ".smk", ".j2", ".lock"} and path.is_file():
            text = path.read_text(encoding="utf-8")
            assert "/" + "work/main" not in text, name
            assert "file:" + "///" not in text, name
