"""claims.yaml and errata.yaml: every wrong edit is one message with file, line and the right form, before any run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from allmlp.common.errors import UserError
from allmlp.judging.evidence_summary import FEWEST_SEEDS
from allmlp.spec import catalogue, claims_yaml, settings
from allmlp.spec.columns import exact, numeric
from allmlp.spec.protocols import Context, TrainedRun
from allmlp.spec.run import Run
from tests.conftest import PROJECT, call, edit

CLAIM = """\
- id: 006-1
  claim: A mean over the past is enough.
  where: Table 1
  statistic: loss of the mean minus that of attention, paired by seed
  reproduced_if: below loss_nats
  contradicted_if: above loss_nats
  margin: {loss_nats: 0.02}
  reason: The paper prints two decimals.
  paper: {difference_nats: 0.01}
  effect: {all: 0.005}
  measures: [falls]
  needs: {scale: workstation, seeds: 5}
  test: mean_is_enough
  errata: [E006-1]
"""
KNOWN = claims_yaml.KnownNames("006", ("falls", "cost"), ("mean_is_enough",), ("E006-1",))
ERRATUM = "- {id: E006-1, weight: gap, found: f, printed: a, right: b, how: c}\n"


def read(text: str, kind: str = "claims") -> list[dict]:
    return claims_yaml.read(kind, text, f"{kind}.yaml", KNOWN)


def test_a_right_claim_is_read_as_it_stands() -> None:
    (row,) = read(CLAIM)
    assert row["effect"] == {"all": 0.005}
    assert row["needs"] == {"scale": "workstation", "seeds": 5}
    assert read(ERRATUM, "errata")[0]["how"] == "c"
    assert read("[]", "errata") == []


@pytest.mark.parametrize("study", catalogue.STUDIES)
def test_the_ledgers_of_the_project_have_their_form(study: str) -> None:
    assert all(row["id"] for kind in ("claims", "errata") for row in catalogue.ledger(study, kind))
    assert all(row["of"] for row in catalogue.inventory(study))


PER_PART = "must be a number per part, such as {a: 0.25, b: 0.8}, or {all: 0.25} for a claim without parts"
SEEDS = "must be a whole number from 1 on. A statistic over seeds is undecided below 5; exact results need 1"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{all: 0.005}", "1.0", f"10: 006-1.effect is 1.0: {PER_PART}"),
        ("{all: 0.005}", "{first: 1.0}", f"10: 006-1.effect is {{'first': 1.0}}: {PER_PART}"),
        ("  test:", "  tset:", "13: unknown key 'tset' in 006-1. Did you mean 'test'?"),
        ("  test: mean_is_enough\n", "", "1: 006-1 lacks the key 'test'"),
        (": mean_is_enough", ": mean_enough", "13: no verdict function 'mean_enough' in 006-1.test. Did you mean "),
        ("[falls]", "[fals]", "11: no measure 'fals' in 006-1.measures. Did you mean 'falls'?"),
        ("[falls]", "falls", "11: 006-1.measures is 'falls': must be a list of names, such as [one, another]"),
        ("seeds: 5", "seeds: '5'", f"12: 006-1.needs.seeds is '5': {SEEDS}"),
        ("seeds: 5", "seeds: 0", f"12: 006-1.needs.seeds is 0: {SEEDS}"),
        ("scale: workstation, ", "", "12: 006-1.needs lacks the key 'scale'"),
        ("workstation", "worstation", "12: 006-1.needs.scale is 'worstation': input should be 'smoke', 'laptop', "),
        (
            "seeds: 5}",
            "seeds: 5, parts: {b: {sale: gpu}}}",
            "12: unknown key 'sale' in 006-1.needs.parts.b. Did you mean 'scale'?",
        ),
        ("{loss_nats: 0.02}", "0.02", "7: 006-1.margin is 0.02: must be numbers with names, such as "),
        ("nats: 0.01", "nats: one", "9: 006-1.paper is {'difference_nats': 'one'}: must be numbers with names, such "),
        ("[E006-1]", "[E006-2]", "14: no erratum 'E006-2' in 006-1.errata. Did you mean 'E006-1'?"),
        ("id: 006-1", "id: 005-1", "1: 005-1.id is '005-1': must be 006-1, 006-2, ... or, for a claim of this"),
        (": Table 1", ":", "3: 006-1.where is None: must be a text"),
        ("  errata: [E006-1]\n", f"  errata: []\n{CLAIM}", "15: id '006-1' stands twice, first in claims.yaml:1. "),
    ],
)
def test_a_wrong_edit_is_one_message(old: str, new: str, said: str) -> None:
    assert CLAIM.count(old) == 1
    with pytest.raises(UserError) as error:
        read(CLAIM.replace(old, new))
    assert str(error.value).startswith(f"claims.yaml:{said}")
    assert "\n" not in str(error.value)


TRIED = """\
  describes: text
  truth: {a: {value: 0.9, of: held-out text}}
  noise: {a: {value: 0.1, of: words at random, passes: true}}
"""


def test_every_part_of_a_rule_on_text_is_tried_or_says_why_not() -> None:
    parts = CLAIM.replace("below loss_nats", '"(a), (b) each: below loss_nats"')
    (row,) = read(f"{parts}{TRIED}  untried: {{b: a difference of losses}}\n")
    assert row["noise"]["a"]["passes"]
    with pytest.raises(UserError, match="must have each of its parts, a, b, in truth and noise or in untried"):
        read(f"{parts}{TRIED}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1: must hold a list, `[]` if there is nothing to list, and holds {}"),
        ("id: E006-1\n", "1: must hold a list, `[]` if there is nothing to list, and holds {'id': 'E006-1'}"),
        ("- E006-1\n", "1: must hold keys and values, with a text at 'id', and holds 'E006-1'"),
        (ERRATUM.replace("how", "who"), "1: unknown key 'who' in E006-1. Did you mean 'how'?"),
        (ERRATUM.replace("gap", "slip"), "1: E006-1.weight is 'slip': input should be 'conclusion', 'number' or 'gap'"),
        ("- [", "2: is not YAML: "),
    ],
)
def test_errata_have_their_form_too(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        read(text, "errata")
    assert str(error.value).startswith(f"errata.yaml:{said}")


def test_a_place_of_publication_has_its_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    file = tmp_path / "copying/about.yaml"
    file.parent.mkdir()
    file.write_text(f"{ABOUT}published:\n  - where: A workshop\n  - {{where: A site, link: https://example.org}}\n")
    assert [one["where"] for one in catalogue.read_about("copying")["published"]] == ["A workshop", "A site"]
    file.write_text(f"{ABOUT}published:\n  - {{link: https://example.org}}\n")
    with pytest.raises(UserError, match="each of published holds a text for each of where"):
        catalogue.read_about("copying")


def test_the_number_of_seeds_in_the_message_is_that_of_the_rules() -> None:
    assert f"undecided below {FEWEST_SEEDS};" in SEEDS


def test_what_a_paper_lacks_of_its_texts_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path / "src/allmlp/studies")
    file = tmp_path / "src/allmlp/studies/copying/about.yaml"
    with pytest.raises(UserError, match=r"^src/allmlp/studies/copying/about.yaml: lacks paper, authors, question, sl"):
        catalogue.read_about("copying")
    file.parent.mkdir(parents=True)
    file.write_text("paper: Averages\nauthors: we\n")
    with pytest.raises(UserError, match=r"lacks question, slice, headlines. It holds a text for each of paper"):
        catalogue.read_about("copying")


ABOUT = """paper: P
authors: we
question: Why?
slice: Here.
headlines:
  - claim: 002-1
    says: It is {0}.
    judges: it is 1
    open: It is open.
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            ABOUT.replace("    open: It is open.\n", ""),
            "each of headlines holds a text for each of claim, .* Wrong: open",
        ),
        (ABOUT.replace("    open:", "    opens:"), "each of headlines holds a text .* Wrong: open, opens"),
        (ABOUT.replace("It is open.", "[]"), "each of headlines holds a text .* Wrong: open"),
        (ABOUT.replace("  - claim", "    claim"), "headlines is a list"),
        (f"{ABOUT}ran: {{steps: many}}", "ran holds a text for each of parameters, .* Wrong: device, hours"),
        (f"{ABOUT}terms: {{recall: []}}", "terms holds a text for each of recall. Wrong: recall"),
    ],
)
def test_a_wrong_sentence_of_a_study_is_one_message(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path / "src/allmlp/studies")
    file = tmp_path / "src/allmlp/studies/copying/about.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(ABOUT)
    assert catalogue.read_about("copying")["paper"] == "P"
    file.write_text(text)
    with pytest.raises(UserError, match=f"^src/allmlp/studies/copying/about.yaml: {said}"):
        catalogue.read_about("copying")


def test_a_missing_ledger_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path / "src/allmlp/studies")
    with pytest.raises(
        UserError, match=r"^src/allmlp/studies/copying/errata.yaml: is missing. It holds a list, `\[\]`"
    ):
        catalogue.ledger("copying", "errata")


def test_the_example_of_the_documentation_is_a_right_claim() -> None:
    text = (PROJECT / "docs/paper.md").read_text(encoding="utf-8")
    example = text.split("```yaml\n")[1].split("```")[0]
    (row,) = claims_yaml.read(
        "claims", example, "docs/paper.md", claims_yaml.KnownNames("005", ("learning",), ("mixer_learns_earlier",))
    )
    assert set(row) == {name for name, field in claims_yaml.Claim.model_fields.items() if field.is_required()} | {
        "effect"
    }


def test_the_code_of_the_documentation_plans_and_measures() -> None:
    text = (PROJECT / "docs/paper.md").read_text(encoding="utf-8").split("## A run and a measure")[1]
    of_runs, of_measure = (block.split("```")[0] for block in text.split("```python\n")[1:3])
    names: dict[str, Any] = {**vars(settings), "Run": Run, "SHARED": catalogue.SHARED, "Context": Context}
    exec(of_runs, names)
    optimiser = {"learning_rate": 0.1}
    found = names["Settings"].model_validate(
        {"models": ["masked-mixer"], "d_model": 8, "seeds": [0, 1], "steps": 8, "optimiser": optimiser}
    )
    runs = names["runs"](found, SimpleNamespace(device="cpu"))
    assert [run.seed for run in runs] == [0, 1]
    assert runs[0].id != runs[1].id
    names |= {"pd": pd, "Trained": TrainedRun, "exact": exact, "numeric": numeric}
    exec(of_measure, names)
    log = pd.DataFrame({"step": range(1, 9), "loss": range(1, 9)})
    rows = names["learning"](SimpleNamespace(run=runs[0], log=log, diverged=False))
    assert rows.to_dict("records") == [{"diverged": False, "early_nats": 1.5}]


def test_nothing_runs_with_a_wrong_ledger(clone: Path) -> None:
    edit(clone, "src/allmlp/studies/triangular/claims.yaml", "test: parameter_count\n", "tset: parameter_count\n")
    for words in (["allmlp", "check", "--fix"], ["snakemake", "--cores", "1", "--dry-run"]):
        done = call(clone, *words, ok=False)
        assert done.returncode == 2, done.stderr
        assert "src/allmlp/studies/triangular/claims.yaml:39: unknown key 'tset' in 004-1. Did you mean" in done.stderr


SAME = "- {id: 006-2, claim: The same in other words., where: Table 2, same_as: 006-1, errata: []}\n"


def test_a_claim_on_the_same_number_has_the_other_claims_rule() -> None:
    first, second = read(CLAIM + SAME)
    own = {"id", "claim", "where", "errata", "same_as"}
    assert {key: value for key, value in second.items() if key not in own} == {
        key: value for key, value in first.items() if key not in own
    }
    assert (second["id"], second["where"], second["same_as"]) == ("006-2", "Table 2", "006-1")
    for old, new, said in (
        ("006-1, errata", "006-3, errata", "no claim with a rule of its own '006-3' in 006-2.same_as"),
        ("006-1, errata", "006-2, errata", "no claim with a rule of its own '006-2' in 006-2.same_as"),
        ("errata: []", "errata: [], margin: {}", "unknown key 'margin' in 006-2"),
    ):
        with pytest.raises(UserError, match=said):
            read(CLAIM + SAME.replace(old, new))
