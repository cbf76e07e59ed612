"""The verdicts of results/claims.json, derived a second time from the words of claims.yaml (`second_opinion`)."""

import ast
import copy
from pathlib import Path

import pytest

from tests.numerics.second_opinion import comparing, stored
from tests.numerics.second_opinion.registry import CLAIMS

PAPERS_SIZE = "its runs are of the paper's size, and none is planned here"
# claims with a statistic that has no second implementation, and why
WITHOUT = {
    "000-1": "a bump over sizes of 50 to 900 million parameters: not testable below the paper's size",
    "000-11": "no seed has enough neurons of the class, so there is no number",
    "000-13": "every ratio is censored here, and no verdict rests on it; its crossings are those of 000-own-6",
    "001-3": PAPERS_SIZE,
    "001-16": PAPERS_SIZE,
    "001-31": "one machine was timed, which gives no interval",
    "002-9": PAPERS_SIZE,
    "002-own-7": "no photographs have been measured",
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_both_implementations_agree_to_six_digits_on_every_judged_part(claim: str) -> None:
    entry, data = stored.judged()[claim], comparing.stored(claim)
    if data is None:
        pytest.skip("no complete set")
    assert comparing.differences(claim, entry, data) == []
    assert comparing.underived(claim, entry, data) == []


def test_a_judged_part_without_a_second_derivation_is_named() -> None:
    entry, data = altered("001-own-1")
    entry["parts"].append({**entry["parts"][0], "name": "(z) further"})
    assert comparing.underived("001-own-1", entry, data) == ["(z) further"]


def test_every_claim_has_a_second_implementation_or_a_reason() -> None:
    assert sorted([*CLAIMS, *WITHOUT]) == sorted(stored.ledger())


def altered(claim: str) -> tuple[comparing.Entry, stored.Measured]:
    """A claim's entry, to be altered, and what was measured for it."""
    data = comparing.stored(claim)
    assert data is not None
    return copy.deepcopy(stored.judged()[claim]), data


@pytest.mark.parametrize("key", ["mean", "spread", "n"])
def test_a_wrong_digit_is_noticed(key: str) -> None:
    entry, data = altered("001-11")
    (of_part, *_) = entry["rests"].values()
    of_part["of"][0][key] *= 1 + 1e-5
    assert any(key in line for line in comparing.differences("001-11", entry, data))


@pytest.mark.parametrize("key", ["verdict", "p", "p_against"])
def test_a_wrong_verdict_and_a_wrong_p_are_noticed(key: str) -> None:
    entry, data = altered("001-own-1")
    entry["parts"][0][key] = {"verdict": "contradicted"}.get(key, 0.5)
    assert any(key in line for line in comparing.differences("001-own-1", entry, data))


@pytest.mark.parametrize(("claim", "key"), [("001-own-12", key) for key in ("value", "low", "high")])
def test_a_wrong_place_is_noticed(claim: str, key: str) -> None:
    entry, data = altered(claim)
    entry[key] *= 1 + 2e-4
    assert any(key in line for line in comparing.differences(claim, entry, data))


@pytest.mark.parametrize("family", comparing.families(stored.judged().values()))
def test_holms_correction_takes_the_same_verdicts_back(family: tuple[str, bool]) -> None:
    parts = comparing.families(stored.judged().values())[family]
    assert comparing.holm_differences(parts) == []


def test_it_imports_nothing_of_the_package() -> None:
    for file in Path(comparing.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.split(".")[0] == "allmlp" for name in names), file
