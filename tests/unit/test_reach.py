"""How near verdicts come to their papers, and what badges, the table and README say of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from allmlp.common.errors import UserError
from allmlp.judging import reach
from allmlp.judging.evidence import Evidence
from allmlp.plan.costs import cost
from allmlp.plan.plan import load_plan
from allmlp.report import badges, first_screen
from allmlp.spec import catalogue, claims_yaml
from tests import stored
from tests.conftest import PROJECT

CLAIM = {"id": "002-4", "measures": ["m"]}
LEVELLED = {"level": 1, "of": 2, "unknown": 0, "steps": [1, 1]}


def found(costs: list[dict[str, int]]) -> Evidence:
    """Evidence of trainings with these costs, and of one that only chose a learning rate, which was dear."""
    runs = [f"seed{seed}" for seed in range(len(costs))]
    search = dict.fromkeys(costs[0], 10**15)
    rows = {run: pd.DataFrame([of]) for run, of in zip([*runs, "search"], [*costs, search], strict=True)}
    held = stored.put("copying", "cost", rows)
    about = {run: {"labels": {}, "seed": 0, "steps": 9} for run in rows}
    planned = {"m": runs, "cost": list(rows)}
    measurements = {"m": dict.fromkeys(runs), "cost": held}
    digests = {"cost": stored.digest("copying", "cost", held)}
    return Evidence(
        "copying",
        "long",
        {"runs": about, "planned": planned, "measurements": measurements, "digests": digests},
    )


def size(**numbers: float) -> dict[str, Any]:
    return {name: {"value": value, "where": "Table 1"} for name, value in numbers.items()}


def reached(
    costs: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, row: Mapping[str, Any]
) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "paper_sizes", lambda study: {CLAIM["id"]: row} if row else {})
    there = found(costs)
    return reach.claim_reach(there, CLAIM, there.trainings(CLAIM["measures"]), LEVELLED)


WIDE = {"parameters": 200, "non_embedding_parameters": 100, "supervised_tokens": 30}
LONG = {"parameters": 20, "non_embedding_parameters": 10, "supervised_tokens": 600}


def test_the_largest_training_is_compared_with_the_papers_largest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"about": "training", "size": size(parameters=400, tokens=1000)}
    assert reached([WIDE, LONG], monkeypatch, tmp_path, row) == {
        "parameters": 0.5,
        "tokens": 0.6,
        "operations": 20 * 600 / (400 * 1000),  # of one training, not the product of two
        "levelled": "some",
        "about": "training",
        "small_scale": True,
        "inferred": False,
    }


def test_parameters_without_embeddings_are_compared_with_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = {"about": "training", "size": size(non_embedding_parameters=100, tokens=600, operations=6 * 6000)}
    got = reached([WIDE, LONG], monkeypatch, tmp_path, row)
    assert [got[name] for name in reach.RATIOS] == [1, 1, 1]
    assert got["small_scale"] is False


def test_what_the_paper_does_not_give_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    got = reached([WIDE], monkeypatch, tmp_path, {"about": "training", "size": size(tokens=60)})
    assert [got[name] for name in reach.RATIOS] == [None, 0.5, None]
    assert got["small_scale"] is None
    own = reached([WIDE], monkeypatch, tmp_path, {})
    assert {own[name] for name in (*reach.RATIOS, "about", "small_scale")} == {None}


def test_a_size_that_is_our_reading_marks_the_reach(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read = {"parameters": {"value": 200.0, "where": "not printed", "inferred": True}}
    assert reached([WIDE], monkeypatch, tmp_path, {"about": "training", "size": read})["inferred"] is True


@pytest.mark.parametrize(
    ("about", "ratios", "small"),
    [
        ("training", (1, 1, 0.1), False),
        ("training", (1, 1, 0.099), True),
        ("training", (None, 0.099, None), True),
        ("training", (1, None, None), None),
        ("beginning", (0.01, 0.01, 0.01), False),
        ("formula", (None, None, None), False),
        ("code", (None, None, None), False),
        (None, (None, None, None), None),
    ],
)
def test_a_tenth_in_any_size_is_small_where_size_matters(
    about: str | None, ratios: tuple[float | None, ...], small: bool | None
) -> None:
    assert reach.is_small_scale(about, ratios) is small


@pytest.mark.parametrize(
    ("counts", "said"), [((2, 2, 0), "all"), ((1, 2, 1), "some"), ((0, 2, 1), "none"), ((0, 2, 2), "unknown")]
)
def test_levelled_is_said_in_a_word(counts: tuple[int, int, int], said: str) -> None:
    assert reach._levelled_part(dict(zip(("level", "of", "unknown"), counts, strict=True))) == said


def entry(verdict: str = "contradicted", small: bool | None = True, **changed: Any) -> dict[str, Any]:
    ratios = {"parameters": 0.5, "tokens": 0.00154, "operations": None}
    of = {**ratios, "levelled": "none", "about": "training", "small_scale": small, "inferred": False}
    known = {"id": "002-4", "verdict": verdict, "scale": "long", "blind": True, "rule_changed_since": False}
    return {**known, "reach": of, **changed}


def test_the_badge_names_the_small_scale_of_a_decided_verdict_only() -> None:
    assert badges.words(entry()) == "contradicted at small scale"
    assert badges.words(entry(small=False)) == badges.words(entry(small=None)) == "contradicted"
    assert badges.words(entry("undecided")) == "undecided"
    assert badges.words({"verdict": "not run", "scale": None}) == "not run"


def test_the_table_filters_by_what_is_known_of_a_verdict() -> None:
    assert badges.marks(entry()) == {
        "whose": "a paper's",
        "reach": "below a tenth",
        "levelled": "none",
        "blind": "blind",
        "rule": "older",
    }
    not_run = {"id": "002-own-1", "verdict": "not run", "scale": None, "blind": False}
    assert badges.marks(not_run) == {
        "whose": "this project's",
        "reach": badges.NOTHING,
        "levelled": badges.NOTHING,
        "blind": "not blind",
        "rule": badges.NOTHING,
    }
    assert badges.reach_text(entry()) == "N\u00a00.5, D\u00a01/650"


def test_a_rule_counts_as_written_before_its_result_only_if_blind_and_known_to_be_older() -> None:
    entries = [
        entry(),
        entry(blind=False),
        entry(rule_changed_since=True),
        entry(rule_changed_since=None),
        entry("not run", scale=None),
        entry("not testable at this scale"),
    ]
    assert badges.rule_age_counts(entries) == {"judged": 4, "before": 1}


@pytest.fixture(scope="module")
def claims() -> dict[str, dict[str, Any]]:
    content = json.loads((PROJECT / "results/claims.json").read_text(encoding="utf-8"))
    return {one["id"]: one for one in content["claims"]}


@pytest.mark.parametrize("study", catalogue.STUDIES)
def test_what_needs_no_training_is_about_a_formula_or_the_code(study: str, claims: dict[str, dict[str, Any]]) -> None:
    rows = catalogue.paper_sizes(study)
    derived = [claim for claim in rows if first_screen.basis(claims[claim]) == first_screen.DERIVED]
    assert [claim for claim in derived if rows[claim]["about"] not in ("formula", "code")] == []


def test_whole_parameter_counts_are_those_of_the_papers_scale() -> None:
    """Printed numbers are rounded, such as 3.8e+7. The others follow from printed widths: models that are planned."""
    planned, compared = load_plan().git_plan.runs_by_scale["paper"], 0
    for study in catalogue.STUDIES:
        counts = {cost(run)["parameters"] for run in planned.get(study, ())}
        rows = catalogue.paper_sizes(study).values()
        values = {number["value"] for row in rows for number in [(row.get("size") or {}).get("parameters")] if number}
        whole = {value for value in values if isinstance(value, int)}
        assert whole <= counts, study
        compared += len(whole)
    assert compared > 5


SIZES = """\
- id: 006-1
  about: training
  size:
    parameters: {value: 3.0e+6, where: Table 1}
- {id: 006-2, about: formula}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("about: training", "about: trained", "2: 006-1.about is 'trained': input should be 'training', 'beginning', "),
        ("value: 3.0e+6", "value: 0", "4: 006-1.size.parameters.value is 0: must be a number above 0"),
        (", where: Table 1", "", "4: 006-1.size.parameters lacks the key 'where'"),
        ("parameters: {", "parameter: {", "4: unknown key 'parameter' in 006-1.size. Did you mean 'parameters'?"),
        ("about: formula", "about: beginning", "5: 006-2 is {"),
        ("id: 006-2", "id: 006-own-2", "5: 006-own-2.id is '006-own-2': must be 006-1, 006-2, ..."),
    ],
)
def test_a_wrong_size_is_one_message(old: str, new: str, said: str) -> None:
    assert SIZES.count(old) == 1
    read = {"kind": "paper_sizes", "file": "paper_sizes.yaml", "known": claims_yaml.KnownNames("006")}
    assert len(claims_yaml.read(text=SIZES, **read)) == 2
    with pytest.raises(UserError) as error:
        claims_yaml.read(text=SIZES.replace(old, new), **read)
    assert str(error.value).startswith(f"paper_sizes.yaml:{said}")


def test_every_claim_of_a_paper_has_a_row_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = catalogue.ledger("triangular", "paper_sizes")
    ledger = catalogue.ledger
    changed = {"paper_sizes": rows[1:]}
    monkeypatch.setattr(catalogue, "ledger", lambda study, kind="claims": changed.get(kind) or ledger(study, kind))
    with pytest.raises(UserError, match=r"paper_sizes\.yaml: lacks 004-1\."):
        catalogue.paper_sizes("triangular")
    changed["paper_sizes"] = [*rows, {"id": "004-99", "about": "code"}]
    with pytest.raises(UserError, match="has 004-99, which"):
        catalogue.paper_sizes("triangular")
