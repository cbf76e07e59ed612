"""The digest of a claim's rule: what alters it, what does not, and the file that keeps it."""

from pathlib import Path
from typing import Any

import pytest

from allmlp import paths, reached, recipes, rules, studies
from allmlp.errors import UserError

VERDICTS = '''
"""Rules."""
from typing import TYPE_CHECKING

from allmlp.report.statistics import better
from allmlp.studies.copying import parts

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence

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
    for name, text in (("report/statistics", STATISTICS), ("studies/copying/parts", PARTS)):
        (folder / name).parent.mkdir(parents=True)
        (folder / f"{name}.py").write_text(text)
    for name in ("studies", "studies/copying", "report"):
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
        return reached.digest("allmlp.studies.copying.verdicts", name)
    finally:
        forget()


def forget() -> None:
    for remembering in (reached._names, reached._definition, reached._tokens):
        remembering.cache_clear()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_mean", "_average"),
        ("judged", "found_to_be_so"),
        ("LIMIT", "BOUND"),
        ('"""Is it so?"""', '"""Another docstring."""'),
        ('    """Is it so?"""\n', ""),
        ("list[float]", '"np.ndarray"'),
        ("sum(values) / len(values)", "(sum(values)\n            / len(values))  # a comment"),
        ("import better\n", "import better as above\n"),
        ("return OTHER", "return OTHER + 1"),
        ("LIMIT, OTHER = 3, 4", "LIMIT, OTHER = 3, 4\nMORE = 5"),
    ],
)
def test_names_words_and_what_is_not_reached_alter_nothing(package: Path, old: str, new: str) -> None:
    changed = VERDICTS.replace(old, new).replace(
        "return better(", "return above(" if "above" in new else "return better("
    )
    assert changed != VERDICTS
    name = "found_to_be_so" if old == "judged" else "judged"
    assert digest(package, changed, name) == digest(package)


@pytest.mark.parametrize(
    ("old", "new"),
    [("> LIMIT", ">= LIMIT"), ("LIMIT, OTHER = 3", "LIMIT, OTHER = 2"), ("/ len(values)", "/ 3"), ("LIMIT]", "OTHER]")],
)
def test_code_and_constants_that_are_reached_alter_it(package: Path, old: str, new: str) -> None:
    assert digest(package, VERDICTS.replace(old, new)) != digest(package)


def test_what_other_modules_give_counts_too(package: Path) -> None:
    before = digest(package)
    assert digest(package, studies__copying__parts="MARGIN = 0.4\n") != before
    assert digest(package, studies__copying__parts=f"{PARTS}OTHER = 1\n") == before
    assert digest(package, report__statistics=STATISTICS.replace(">", "<")) != before
    assert digest(package, report__statistics=f"{STATISTICS}\n\ndef more():\n    return 1\n") == before


def test_where_a_definition_lies_alters_nothing(package: Path) -> None:
    before = digest(package)
    moved = {"report__spread": STATISTICS, "report__statistics": "from allmlp.report.spread import better\n"}
    assert digest(package, **moved) == before


def test_a_local_name_hides_that_of_the_module(package: Path) -> None:
    local = "def judged(LIMIT):\n    return LIMIT\n\n\nLIMIT = {}\n"
    assert digest(package, local.format(1)) == digest(package, local.format(2))


def test_a_function_that_is_not_there_is_reported(package: Path) -> None:
    with pytest.raises(UserError, match="defines and imports no 'other'"):
        digest(package, name="other")


@pytest.fixture(scope="module")
def claim() -> dict[str, Any]:
    return studies.ledger("copying")[0]


@pytest.mark.parametrize("key", [*rules.SAID, *rules.WHERE_THERE])
def test_the_rules_own_words_and_numbers_count(claim: dict[str, Any], key: str) -> None:
    assert rules.rule("copying", {**claim, key: "other"}) != rules.rule("copying", claim)


def test_the_wording_of_a_claim_and_why_it_needs_what_it_needs_do_not_count(claim: dict[str, Any]) -> None:
    other = {"reason": "because", "claim": "worded better"}
    assert rules.rule("copying", {**claim, **other}) == rules.rule("copying", claim)


def test_every_rule_has_a_digest_of_its_own() -> None:
    shared = {row["id"] for study in studies.STUDIES for row in studies.ledger(study) if row.get("same_as")}
    digests = [digest for claim, digest in rules.current().items() if claim not in shared]
    assert len(set(digests)) == len(digests)


def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    (tmp_path / rules.LOCK).write_text("002-1 abc newer=laptop\n")
    with pytest.raises(UserError, match="cannot read '002-1 abc newer=laptop'"):
        rules.read_lock()
