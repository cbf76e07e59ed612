"""The digest of a claim's rule: what alters it, what does not, and the file that keeps it."""

from pathlib import Path
from typing import Any

import pytest

from allmlp.common import paths, recipes
from allmlp.common.errors import UserError
from allmlp.judging import code_digest, rule_digests
from allmlp.spec import catalogue

VERDICTS = '''
"""Rules."""
from typing import TYPE_CHECKING

from allmlp.judging.statistics import better
from allmlp.studies.copying import parts

if TYPE_CHECKING:
    from allmlp.judging.evidence import Evidence

LIMIT, OTHER = 3, 4


def judged(evidence: "Evidence") -> float:
    """Is it so?"""
    values = [one for one in evidence.values if one > LIMIT]
    return better(_mean(values), parts.MARGIN)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def unreached() -> int:
    return OTHER
'''
STATISTICS = "def better(value, margin):\n    return value > margin or better(margin, value)\n"
PARTS = "MARGIN = 0.5\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "allmlp"
    for name, text in (("judging/statistics", STATISTICS), ("studies/copying/parts", PARTS)):
        (folder / name).parent.mkdir(parents=True)
        (folder / f"{name}.py").write_text(text)
    for name in ("studies", "studies/copying", "judging"):
        (folder / name / "__init__.py").touch()
    monkeypatch.setattr(recipes, "PACKAGE", folder)
    return folder


def digest(package: Path, verdicts: str = VERDICTS, name: str = "judged", **files: str) -> str:
    """Of a function, with some files rewritten."""
    (package / "studies/copying/verdicts.py").write_text(verdicts)
    for file, text in files.items():
        (package / f"{file.replace('__', '/')}.py").write_text(text)
    try:
        forget()
        return code_digest.digest("allmlp.studies.copying.verdicts", name)
    finally:
        forget()


def forget() -> None:
    for remembering in (code_digest._names, code_digest._home, code_digest._definition):
        remembering.cache_clear()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Is it so?"""', '"""Another docstring."""'),
        ('    """Is it so?"""\n', ""),
        ("sum(values) / len(values)", "(sum(values)\n            / len(values))  # a comment"),
        ("return OTHER", "return OTHER + 1"),
        ("LIMIT, OTHER = 3, 4", "LIMIT, OTHER = 3, 4\nMORE = 5"),
    ],
)
def test_words_and_what_is_not_reached_alter_nothing(package: Path, old: str, new: str) -> None:
    changed = VERDICTS.replace(old, new)
    assert changed != VERDICTS
    assert digest(package, changed) == digest(package)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> LIMIT", ">= LIMIT"),
        ("LIMIT, OTHER = 3", "LIMIT, OTHER = 2"),
        ("/ len(values)", "/ 3"),
        ("LIMIT]", "OTHER]"),
        ("_mean", "_average"),
    ],
)
def test_code_and_constants_that_are_reached_alter_it(package: Path, old: str, new: str) -> None:
    assert digest(package, VERDICTS.replace(old, new)) != digest(package)


def test_what_other_modules_give_counts_too(package: Path) -> None:
    before = digest(package)
    assert digest(package, studies__copying__parts="MARGIN = 0.4\n") != before
    assert digest(package, studies__copying__parts=f"{PARTS}OTHER = 1\n") == before
    assert digest(package, judging__statistics=STATISTICS.replace(">", "<")) != before
    assert digest(package, judging__statistics=f"{STATISTICS}\n\ndef more():\n    return 1\n") == before


def test_where_a_definition_lies_alters_nothing(package: Path) -> None:
    before = digest(package)
    moved = {"judging__spread": STATISTICS, "judging__statistics": "from allmlp.judging.spread import better\n"}
    assert digest(package, **moved) == before


def test_a_function_that_is_not_there_is_reported(package: Path) -> None:
    with pytest.raises(UserError, match="defines and imports no 'other'"):
        digest(package, name="other")


@pytest.fixture(scope="module")
def claim() -> dict[str, Any]:
    return catalogue.ledger("copying")[0]


@pytest.mark.parametrize("key", [*rule_digests.SAID, *rule_digests.WHERE_THERE])
def test_the_rules_own_words_and_numbers_count(claim: dict[str, Any], key: str) -> None:
    assert rule_digests.rule("copying", {**claim, key: "other"}) != rule_digests.rule("copying", claim)


def test_the_wording_of_a_claim_and_why_it_needs_what_it_needs_do_not_count(claim: dict[str, Any]) -> None:
    other = {"reason": "because", "claim": "worded better"}
    assert rule_digests.rule("copying", {**claim, **other}) == rule_digests.rule("copying", claim)


def test_every_rule_has_a_digest_of_its_own() -> None:
    shared = {row["id"] for study in catalogue.STUDIES for row in catalogue.ledger(study) if row.get("same_as")}
    digests = [digest for claim, digest in rule_digests.current_rules().items() if claim not in shared]
    assert len(set(digests)) == len(digests)


def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    (tmp_path / rule_digests.LOCK).write_text("002-1 abc newer=laptop\n")
    with pytest.raises(UserError, match="cannot read '002-1 abc newer=laptop'"):
        rule_digests.read_lock()
