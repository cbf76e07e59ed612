"""The first screen: what verdicts stand on, the sentences, what was run beside what the papers ran, and orders."""

import re
from typing import Any

import pandas as pd
import pytest

from allmlp.common.errors import UserError
from allmlp.judging import claims_json
from allmlp.report import first_screen, headlines, render, run_counts
from allmlp.spec import catalogue
from tests.conftest import PROJECT

LEVELLED = {"level": 1, "of": 2, "unknown": 0, "steps": [10, 20]}
CORPORA = {"tales": {"spec": {"source": {"source": "stories"}}}, "english": {"spec": {"source": {"source": "local"}}}}


def spans(*corpora: str, operations: list[float] | None = None) -> dict[str, Any]:
    """The trainings of part (b), among others of the claim."""
    every = {"corpora": ["other"], "steps": [1, 1000], "operations": [1e3, 1e6]}
    return {"": every, "b": {"corpora": list(corpora), "steps": [10, 20], "operations": operations}}


def entry(verdict: str = "reproduced", levelled: Any = LEVELLED, **changed: Any) -> dict[str, Any]:
    known = {"id": "009-1", "blind": False, "rule_changed_since": False}
    return {"verdict": verdict, "levelled": levelled, "scale": "laptop", **known, **changed}


def test_a_verdict_stands_on_trainings_or_on_what_needs_none_or_on_nothing() -> None:
    assert first_screen.basis(entry()) == first_screen.TRAINED
    assert first_screen.basis(entry(levelled=None)) == first_screen.DERIVED
    assert first_screen.basis({"verdict": "not run", "scale": None}) == ""


def test_bars_split_what_is_reproduced_and_add_up() -> None:
    entries = [entry(), entry(levelled=None), entry(levelled=None), entry("partly"), entry("undecided", None)]
    found = first_screen.bars(entries)
    assert list(found) == list(first_screen.BARS)
    assert {name: count for name, count in found.items() if count} == {
        "reproduced trained": 1,
        "reproduced derived": 2,
        "partly": 1,
        "undecided": 1,
    }


def test_bars_count_one_number_once_and_call_a_corrected_one_so() -> None:
    found = first_screen.bars([entry(), entry(same_as="009-1"), entry("contradicted", corrected=True)])
    assert {name: count for name, count in found.items() if count} == {"reproduced trained": 1, "corrected": 1}


def test_bars_split_off_what_is_decided_at_small_scale() -> None:
    small = {"small_scale": True}
    verdicts = ("reproduced", "partly", "contradicted", "undecided", "not testable at this scale")
    found = first_screen.bars([entry(verdict, reach=small) for verdict in verdicts])
    assert {name for name, count in found.items() if count} == {
        "reproduced at small scale",
        "partly at small scale",
        "contradicted at small scale",
        "undecided",
        "not testable at this scale",
    }


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
    assert first_screen.texts(corpora, CORPORA) == said


def test_a_users_own_corpus_keeps_its_name() -> None:
    about = CORPORA["tales"]
    assert first_screen.text("my-tales", {"my-tales": about}) == "synthetic stories"
    assert first_screen.text("my-tales", {"my-tales": {**about, "own": True}}) == "my-tales"


OPEN = {"judges": "it is ahead", "open": "Open."}


@pytest.fixture
def about(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What about.yaml says, to be changed."""
    found = {"headlines": [], "ran": dict.fromkeys(catalogue.RAN, "not printed")}
    monkeypatch.setattr(catalogue, "read_about", lambda study: found)
    return found


def rests(*means: float | None) -> dict[str, Any]:
    return {"of": [{"mean": mean, "spread": 0.1, "n": 5} for mean in means]}


def test_a_headline_has_the_number_and_is_true_on_either_side(about: dict[str, Any]) -> None:
    said = {"claim": "009-1", "part": "b", "says": "It is {0:nats ahead|nats behind}, {1:percent}.",
            "judges": "it is ahead", "open": "Open."}  # fmt: skip
    about["headlines"] = [said]
    parts = [{"name": "(a) first", "verdict": "reproduced"}, {"name": "(b) second", "verdict": "contradicted"}]
    for mean, text in ((0.735, "It is 0.73 nats ahead, 92 %."), (-0.025, "It is 0.025 nats behind, 92 %.")):
        of_parts = {"(a) first": rests(9.0), "(b) second": rests(mean, 0.922)}
        found = headlines.study_headlines(
            "mine", {"009-1": entry("partly", parts=parts, rests=of_parts, budgets=spans("tales"))}, CORPORA
        )
        of_rule = {"claim": "009-1", "part": "b", "own": False, "late": True}
        budget = "on synthetic stories, after 10 to 20 steps"
        of_rule |= {"judges": "it is ahead", "verdict": "contradicted"}
        assert found == [{"text": text, "interval": "", "budget": budget, **of_rule}]


def test_a_headline_of_one_number_has_its_interval_and_says_whose_rule_it_is(about: dict[str, Any]) -> None:
    about["headlines"] = [{"claim": "009-own-1", "says": "It is {0:nats ahead|nats behind}.", **OPEN}]
    for mean, bounds in ((0.5, "0.38 to 0.62"), (-0.5, "0.38 to 0.62"), (0.05, "-0.074 to 0.17")):
        judged = entry("reproduced", id="009-own-1", blind=True, rests={"": rests(mean)})
        (found,) = headlines.study_headlines("mine", {"009-own-1": judged}, CORPORA)
        assert found["interval"] == bounds
        assert (found["own"], found["late"], found["part"]) == (True, False, None)


def test_the_least_of_several_numbers_has_its_interval_too(about: dict[str, Any]) -> None:
    about["headlines"] = [{"claim": "009-1", "says": "It is {least:nats ahead|nats behind}.", **OPEN}]
    judged = entry("undecided", rests={"": rests(0.8, -0.022, 0.5)})
    (found,) = headlines.study_headlines("mine", {"009-1": judged}, CORPORA)
    assert (found["text"], found["interval"]) == ("It is 0.022 nats behind.", "-0.1 to 0.15")
    about["headlines"] = [{"claim": "009-1", "says": "It is {0:nats ahead|nats behind}.", **OPEN}]
    (found,) = headlines.study_headlines("mine", {"009-1": judged}, CORPORA)
    assert found["interval"] == "", "of the first of several"


def test_a_headline_read_on_the_way_says_where(about: dict[str, Any]) -> None:
    said = {"claim": "001-6", "part": "b", "says": "It is {0:nats behind|nats ahead}.", **OPEN}
    about["headlines"] = [{**said, "at": "at the time of {long_unit_steps} steps"}, said]
    parts = [{"name": "(b) second", "verdict": "undecided"}]
    of = {"parts": parts, "rests": {"(b) second": rests(0.5)}}
    judged = entry("partly", id="001-6", budgets=spans("tales", "english", operations=[1e9, 2e10]), **of)
    on_the_way, at_the_end = headlines.study_headlines("mine", {"001-6": judged}, CORPORA)
    both = "on synthetic stories and English"
    assert on_the_way["budget"] == f"{both}, at the time of 1,360 steps; the trainings took 10 to 20 steps"
    assert at_the_end["budget"] == f"{both}, after 10 to 20 steps, 1.0e+09 to 2.0e+10 operations a run"


@pytest.mark.parametrize("of", [{}, {"": rests(None)}, {"": rests()}])
def test_without_a_number_a_headline_says_that_it_is_open(about: dict[str, Any], of: dict[str, Any]) -> None:
    about["headlines"] = [{"claim": "009-1", "says": "It is {0}.", **OPEN, "open": "Whether it is, is open."}]
    found = headlines.study_headlines("mine", {"009-1": entry("undecided", rests=of)}, CORPORA)
    assert (found[0]["text"], found[0]["verdict"]) == ("Whether it is, is open.", "undecided")


def test_a_headline_of_a_part_that_there_is_not_is_refused(
    about: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    about["headlines"] = [{"claim": "003-4", "part": "z", "says": "It is {0}.", **OPEN}]
    with pytest.raises(UserError, match=r"mine/about\.yaml, headlines: 003-4 has no part z\. Its parts are a, b"):
        headlines.check("mine")
    about["headlines"][0]["part"] = "b"
    headlines.check("mine")


@pytest.mark.usefixtures("committed_last_mile")
@pytest.mark.parametrize("study", catalogue.STUDIES)
def test_every_study_has_sentences_about_its_claims(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    said, entries = catalogue.read_about(study), {entry["id"]: entry for entry in claims_json.read()["claims"]}
    for one, found in zip(said["headlines"], headlines.study_headlines(study, entries, {}), strict=True):
        assert entries[one["claim"]]["study"] == study
        measured = entries[one["claim"]]["verdict"] != "not run"
        assert not measured or re.search(r"\d", found["text"]), f"{one['claim']}: the number of its finding"
        assert not any(verdict in one["says"] for verdict in render.VERDICTS)
    assert set(first_screen.paper_setup(study)) == (set(catalogue.RAN) if said["authors"] else set())
    assert bool(said.get("says")) == bool(said["authors"])


def test_what_the_paper_ran_takes_numbers_from_its_claims_and_from_the_plan(
    about: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"id": "004-1", "paper": {"parameters_millions": 36.3}}
    monkeypatch.setattr(catalogue, "ledger", lambda study: [row])
    about["ran"] |= {"parameters": "{004-1:parameters_millions} million", "steps": "{plan:steps}"}
    found = first_screen.paper_setup("triangular")
    assert (found["parameters"], found["hours"]) == ("36.3 million", "not printed")
    assert found["steps"] == "10,000"
    about["ran"]["steps"] = "{004-1:weights}"
    with pytest.raises(UserError, match=r"triangular/about.yaml, ran: \{004-1:weights\} is no number of claims.yaml"):
        first_screen.paper_setup("triangular")


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
            "run": ["a", "b"],
        }
    )
    assert first_screen.project_setup(pd.concat([rows, rows]), CORPORA, {"a", "b", "without-training"}) == {
        "parameters": "900 to 1.2 million",
        "steps": "10",
        "texts": "synthetic stories",
        "hours": "1",
        "device": "1 thread of Box",
        "runs": "3",
        "seeds": "1",
    }
    card = rows.assign(device="cuda", hardware="Card")
    assert first_screen.project_setup(card, CORPORA, {"a", "b"})["device"] == "one Card"
    assert first_screen.project_setup(rows.iloc[:0], CORPORA, {"a"}) == {}


def of_runs(*runs: str, planned: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"measurements": {"cost": dict.fromkeys(runs)}, "planned": {"cost": [*runs, *planned]}}


def test_one_count_of_runs_for_every_page() -> None:
    selected = {
        "mine": {"laptop": of_runs("a", "b"), "long": of_runs("b", "c", planned=("d",)), "english": of_runs("e")},
        "other": {"laptop": of_runs("f")},
    }
    rows = pd.DataFrame({"run": ["a", "b", "b", "c", "f"], "seconds": ["3600", "7200", "7200", "", "3600"]})
    assert first_screen.scales(selected, rows, ["smoke", "laptop", "long", "english"]) == {
        "laptop": "3 runs, 4 h",
        "long": "2 runs, 2 h",
        "english": "1 run, 0 h",
    }
    everything = run_counts.measured_runs(selected)
    assert everything == set("abcef")
    assert run_counts.hours(rows, everything) == 4.0
    assert run_counts.measured_runs(selected, "laptop", "other") == {"f"}
    assert run_counts.missing_runs(selected, "long") == {"d"}
    assert not run_counts.missing_runs(selected, "laptop")


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
    names = [item["name"] for item in first_screen.order_exhibits(figures, ledger)]
    assert names == ["second", "third", "late", "unclaimed", "own"]
