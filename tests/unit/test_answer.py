"""The first screen: what verdicts stand on, the sentences, what was run beside what the papers ran, and orders."""

from typing import Any

import pandas as pd
import pytest

from allmlp import studies
from allmlp.errors import UserError
from allmlp.report import answer
from tests.conftest import PROJECT

LEVELLED = {"level": 1, "of": 2, "unknown": 0, "steps": [10, 20]}
CORPORA = {"tales": {"spec": {"source": {"source": "stories"}}}, "english": {"spec": {"source": {"source": "local"}}}}


def entry(verdict: str = "reproduced", levelled: Any = LEVELLED, **changed: Any) -> dict[str, Any]:
    return {"verdict": verdict, "levelled": levelled, "scale": "laptop", **changed}


def test_a_verdict_stands_on_trainings_or_on_what_needs_none_or_on_nothing() -> None:
    assert answer.basis(entry()) == answer.TRAINED
    assert answer.basis(entry(levelled=None)) == answer.DERIVED
    assert answer.basis({"verdict": "not run", "scale": None}) == ""


def test_bars_split_what_is_reproduced_and_add_up() -> None:
    entries = [entry(), entry(levelled=None), entry(levelled=None), entry("partly"), entry("undecided", None)]
    found = answer.bars(entries)
    assert list(found) == list(answer.BARS)
    assert {name: count for name, count in found.items() if count} == {
        "reproduced trained": 1,
        "reproduced derived": 2,
        "partly": 1,
        "undecided": 1,
    }


def test_bars_count_one_number_once_and_call_a_corrected_one_so() -> None:
    found = answer.bars([entry(), entry(same_as="009-1"), entry("contradicted", corrected=True)])
    assert {name: count for name, count in found.items() if count} == {"reproduced trained": 1, "corrected": 1}


@pytest.mark.parametrize(
    ("corpora", "said"),
    [
        (["tales", "english-words", "english"], ["synthetic stories", "English"]),
        (["", "english"], ["English"]),
        ([""], ["no text"]),
        ([], []),
        (["<b>mine"], ["<b>mine"]),
    ],
)
def test_generated_stories_are_called_that(corpora: list[str], said: list[str]) -> None:
    assert answer.texts(corpora, CORPORA) == said


@pytest.fixture
def about(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What about.yaml says, to be changed."""
    said = {verdict: f"It is {verdict}." for verdict in studies.SAYS}
    found = {"headlines": {"claim": "009-1", **said}, "ran": dict.fromkeys(studies.RAN, "not printed")}
    monkeypatch.setattr(studies, "about", lambda study: found)
    return found


@pytest.mark.parametrize("verdict", ["reproduced", "partly", "contradicted", "undecided"])
def test_the_sentence_follows_the_verdict(about: dict[str, Any], verdict: str) -> None:
    assert answer.headline("mine", {"009-1": entry(verdict)})["text"] == f"It is {verdict}."


@pytest.mark.parametrize("verdict", answer.UNTESTED)
def test_one_sentence_says_that_nothing_was_tested(about: dict[str, Any], verdict: str) -> None:
    assert answer.headline("mine", {"009-1": entry(verdict)})["text"] == "It is untested."


def test_a_sentence_names_the_parts_by_their_verdicts(about: dict[str, Any]) -> None:
    about["headlines"]["partly"] = "Held: {held}. Not: {failed}. Open: {open}."
    parts = [{"name": f"({letter}) {letter * 3}", "verdict": "reproduced"} for letter in "ab"]
    parts.append({"name": "(c) ccc", "verdict": "undecided"})
    found = answer.headline("mine", {"009-1": entry("partly", parts=parts)})
    assert found["text"] == "Held: aaa, bbb. Open: ccc."


@pytest.mark.parametrize("study", studies.STUDIES)
def test_every_study_has_sentences_about_one_of_its_claims(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    said = studies.about(study)
    assert said["headlines"]["claim"] in {row["id"] for row in studies.ledger(study)}
    assert set(answer.ran(study)) == (set(studies.RAN) if said["authors"] else set())


def test_what_the_paper_ran_takes_numbers_from_its_claims_and_from_the_plan(
    about: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"id": "004-1", "paper": {"parameters_millions": 36.3}}
    monkeypatch.setattr(studies, "ledger", lambda study: [row])
    about["ran"] |= {"parameters": "{004-1:parameters_millions} million", "steps": "{plan:steps}"}
    found = answer.ran("triangular")
    assert (found["parameters"], found["hours"]) == ("36.3 million", "not printed")
    assert found["steps"] == "10,000"
    about["ran"]["steps"] = "{004-1:weights}"
    with pytest.raises(UserError, match=r"triangular/about.yaml, ran: \{004-1:weights\} is no number of claims.yaml"):
        answer.ran("triangular")


def test_what_was_run_here_is_counted_from_the_runs() -> None:
    rows = pd.DataFrame(
        {
            "parameters": ["900", "1200000"],
            "steps_done": ["10", "10"],
            "corpus": ["tales", ""],
            "seconds": ["3600", ""],
            "device": ["cpu", "cpu"],
            "threads": ["1", "2"],
            "hardware": ["Box", ""],
            "seed": ["0", "0"],
        }
    )
    assert answer.here(rows, CORPORA) == {
        "parameters": "900 to 1.2 million",
        "steps": "10",
        "texts": "synthetic stories",
        "hours": "1",
        "device": "1 thread of Box",
        "runs": "2",
        "seeds": "1",
    }
    card = rows.assign(device="cuda", hardware="Card")
    assert answer.here(card, CORPORA)["device"] == "one Card"
    assert answer.here(rows.iloc[:0], CORPORA) == {}


def test_what_was_run_of_each_scale_is_counted_in_the_order_of_the_scales() -> None:
    rows = pd.read_csv(PROJECT / "results/tables/runs.csv", dtype=str, keep_default_na=False)
    some = pd.concat(
        [rows[rows["scale"] == scale].head(n) for scale, n in (("english", 3), ("long", 1), ("laptop", 2))]
    )
    some["seconds"] = "3600"
    assert answer.scales(some) == {"laptop": "2 runs, 2 h", "long": "1 run, 1 h"}
    assert answer.scales(some.head(0)) == {}


def test_figures_stand_in_the_order_of_the_paper_and_own_ones_last() -> None:
    ledger = ["009-1", "009-2", "009-own-1"]
    figures = [
        {"name": name, "paper": paper, "claims": claims}
        for name, paper, claims in (
            ("own", "", ["009-own-1"]),
            ("late", "Figure 1", ["009-2"]),
            ("third", "Figure 3", ["009-1"]),
            ("second", "Figure 2, left", ["009-own-1", "009-1"]),
            ("unclaimed", "Appendix A", []),
        )
    ]
    names = [item["name"] for item in answer.ordered(figures, ledger)]
    assert names == ["second", "third", "late", "unclaimed", "own"]
