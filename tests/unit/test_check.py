"""`allmlp check`: what is written from the sources agrees with them; what needs a decision is never written alone."""

import json
import re
from pathlib import Path

import pytest

from allmlp.common import paths, recipes
from allmlp.common.errors import UserError
from allmlp.judging import rule_digests
from allmlp.judging.evidence import Evidence
from allmlp.judging.statistics import Finding
from allmlp.pipeline import checking, json_schema
from allmlp.pipeline.checking import PARTS, files
from allmlp.pipeline.checking.files import corpora, drawn_studies, known_answers, parameters, words
from allmlp.pipeline.checking.findings import Decisions, Discrepancy
from allmlp.pipeline.checking.locks import CHANGED_RULE, recipe_lock, rule_lock
from allmlp.spec import catalogue
from tests.conftest import PROJECT, call, edit, git


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_the_project_is_in_line(part, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(published.parent)
    found = list(part(False, Decisions()))
    if part is words:  # a number that may fall is no fault
        found = [one for one in found if one.names and ":" in one.names[0]]
    assert [one.text() for one in found] == [], "run `allmlp check --fix`"


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("about.yaml", "headlines:", "heads:", r"about\.yaml: .*headlines"),
        ("about.yaml", "claim: 003-4", "claim: 003-99", r"headlines: there is no claim 003-99\. Did you mean"),
        ("about.yaml", "{0}", "{0:percnt}", r"headlines, 003-4: a number .* no form 'percnt'\. There are: percent,"),
        ("about.yaml", "parameters: not", "parameters: '{003-1:nothing}' #", r"ran: \{003-1:nothing\} is no number"),
        ("figures/training.py", "def weight_decay(", "def weight_decay(nothing_measured: object, ", "nothing_measured"),
    ],
)
def test_what_only_the_author_can_mend_is_found(clone: Path, file: str, old: str, new: str, said: str) -> None:
    edit(clone, f"src/allmlp/studies/quadrature/{file}", old, new)
    done = call(clone, "allmlp", "check", ok=False)
    assert done.returncode == 2
    assert re.search(said, done.stderr)
    assert "Traceback" not in done.stderr


def of_recipes(*same: str) -> dict[str, bool]:
    """names -> is it still to be decided, of what is out of line in recipes.lock."""
    return {" ".join(one.names): one.open for one in recipe_lock(True, Decisions(frozenset(same)))}


def test_changed_sources_ask_for_a_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, numbers = {"json": "a", "html": "b"}, {"json": 1, "html": 1, "csv": 1}
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    monkeypatch.setattr(recipes, "modules", lambda: list(sources))
    monkeypatch.setattr(recipes, "fingerprint", lambda module: sources[module])
    monkeypatch.setattr(recipes, "recipe_number", lambda module: numbers[module])
    assert of_recipes() == {"json html": False}
    assert of_recipes() == {}
    sources |= {"json": "c", "html": "d", "csv": "e"}
    numbers["html"] = 2
    assert of_recipes() == {"html csv": False, "json": True}
    assert of_recipes() == {"json": True}, "it is never written alone"
    assert of_recipes("json") == {"json": False}
    del sources["html"]
    assert of_recipes() == {"html": False}
    lock = json.loads((tmp_path / "recipes.lock").read_text())
    assert lock == {"json": {"recipe": 1, "sources": "c"}, "csv": {"recipe": 1, "sources": "e"}}


def test_a_module_of_no_commit_may_change_until_a_result_rests_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = dict.fromkeys(
        ("allmlp.models.mlp", "allmlp.models.gpt2", "allmlp.studies.copying.measures.strings:falls"), "a"
    )
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    monkeypatch.setattr(recipes, "modules", lambda: list(sources))
    monkeypatch.setattr(recipes, "fingerprint", lambda module: sources[module])
    monkeypatch.setattr(recipes, "recipe_number", lambda _: 1)
    of_recipes()
    git(tmp_path, "init", "--quiet")
    kept = (tmp_path / "recipes.lock").read_text()
    (tmp_path / "recipes.lock").write_text('{"allmlp.models.gpt2": {"recipe": 1, "sources": "a"}}')
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=recipes")
    (tmp_path / "recipes.lock").write_text(kept)
    mlp, committed, measure = sources
    sources |= dict.fromkeys(sources, "b")
    assert of_recipes() == {f"{mlp} {measure}": False, committed: True}
    run = tmp_path / "results/checkpoints/a-run/run.json"
    run.parent.mkdir(parents=True)
    run.write_text(json.dumps({"run": {"architecture": ["mlp", {}], "task": ["copying", {}]}}))
    sources |= dict.fromkeys(sources, "c")
    assert of_recipes() == {measure: False, f"{mlp} {committed}": True}
    measured = tmp_path / "own/my/work/measurements/copying/falls/a-run-r1.parquet"
    measured.parent.mkdir(parents=True)
    measured.touch()
    sources |= dict.fromkeys(sources, "d")
    assert of_recipes() == {f"{mlp} {committed} {measure}": True}


def test_a_rule_of_no_commit_may_change(ledger: dict[str, str], tmp_path: Path) -> None:
    del ledger["002-2"]
    of_rules()
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=rules")
    ledger["002-3"] = "c" * 16
    of_rules()
    ledger |= {"002-1": "d" * 16, "002-3": "e" * 16}
    assert [(one.what, one.names, one.open) for one in of_rules()] == [
        ("new rule", ("002-3",), False),
        (CHANGED_RULE, ("002-1",), True),
    ]


def test_a_module_that_does_not_import_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    monkeypatch.setattr(recipes, "modules", lambda: ["json", "allmlp.nowhere"])
    monkeypatch.setattr(recipes, "fingerprint", lambda _: "a")
    monkeypatch.setattr(recipes, "recipe_number", lambda _: 1)
    (found,) = recipe_lock(True, Decisions())
    assert found.open
    assert found.what == "cannot be imported"
    assert found.names == ("allmlp.nowhere (ModuleNotFoundError: No module named 'allmlp.nowhere')",)
    assert not (tmp_path / "recipes.lock").exists()


def test_a_raised_recipe_brings_all_that_rests_on_it_in_line(clone: Path) -> None:
    before = json.loads((clone / "tests/numerics/golden.json").read_text())
    edit(clone, "src/allmlp/models/triangular.py", "RECIPE = 1", "RECIPE = 2")
    said = call(clone, "allmlp", "check", "--fix", ok=False).stdout  # a measure that rests on it waits for a decision
    assert "recipes.lock: new or raised RECIPE: allmlp.models.triangular" in said
    assert "answers that plans ask for and that are not there: triangular" in said
    assert "answers that no plan asks for:" in said, "the tests' own parameters ask less"
    assert "tests/numerics/golden.json: losses of another RECIPE: triangular" in said
    after = json.loads((clone / "tests/numerics/golden.json").read_text())
    assert {name for name in after if after[name] != before[name]} == {"triangular"}
    assert after["triangular"]["losses"] == pytest.approx(before["triangular"]["losses"], rel=1e-5)


def test_a_name_that_nothing_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"'allmlp.models.lama' is no claim and no module with a RECIPE. Did you mean"):
        checking.find_discrepancies(True, ["allmlp.models.lama"])
    with pytest.raises(UserError, match="'all' is no claim"):
        checking.find_discrepancies(True, new_rule=["all"])


def test_many_names_stand_on_lines_of_their_own() -> None:
    assert Discrepancy("a.lock", "differs", ("b", "c")).text() == "a.lock: differs: b, c"
    assert (
        Discrepancy("a.lock", "differs", ("b" * 50, "c" * 50)).text() == f"a.lock: differs:\n  {'b' * 50}\n  {'c' * 50}"
    )


def test_the_schema_of_the_parameters_is_written_again_where_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    monkeypatch.setattr(json_schema, "text", lambda: "of today")
    assert [found.open for fix in (False, True) for found in parameters(fix, Decisions())] == [True, False]
    assert (tmp_path / json_schema.FILE).read_text() == "of today"
    assert list(parameters(False, Decisions())) == []


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The current digests of rules, in the test's hand, of a project that is a git repository."""
    now = {"002-1": "a" * 16, "002-2": "b" * 16}
    monkeypatch.setattr(rule_digests, "current_rules", lambda: now)
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    return now


def of_rules(*same: str, new: tuple[str, ...] = ()) -> list[Discrepancy]:
    return list(rule_lock(True, Decisions(frozenset(same), frozenset(new))))


def test_dvc_draws_the_studies_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    file, right = tmp_path / "dvc.yaml", (PROJECT / "dvc.yaml").read_text()
    file.write_text(right.replace("[language, mixers, ", "[mixers, "))
    assert [one.open for one in drawn_studies(False, Decisions())] == [True]
    assert [one.open for one in drawn_studies(True, Decisions())] == [False]
    assert file.read_text() == right
    file.write_text("stages: {}\n")
    with pytest.raises(UserError, match=r"^dvc.yaml: the stage `draw` has no line `foreach: \[...\]`"):
        list(drawn_studies(True, Decisions()))


def test_a_changed_rule_asks_for_a_decision(ledger: dict[str, str], tmp_path: Path) -> None:
    assert [one.open for one in of_rules()] == [False]
    lock = tmp_path / rule_digests.LOCK
    lock.write_text(lock.read_text().replace("a" * 16, f"{'a' * 16} older=laptop,english"))
    assert of_rules() == []
    ledger["002-1"], ledger["002-3"] = "c" * 16, "d" * 16
    del ledger["002-2"]
    assert [(one.names, one.open) for one in of_rules()] == [
        (("002-3",), False),
        (("002-1",), True),
        (("002-2",), False),
    ]
    assert rule_digests.read_lock()["002-1"].older == ("laptop", "english"), "as it was"
    assert [one.open for one in of_rules(new=("002-1",))] == [False]
    assert lock.read_text() == f"002-1 {'c' * 16}\n002-3 {'d' * 16}\n"


@pytest.mark.usefixtures("committed_results", "in_project")
def test_a_changed_rule_whose_test_fails_is_named_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(found: Evidence) -> Finding:
        raise KeyError(found.study)

    now, claim = rule_digests.current_rules(), "003-1"
    before = Path(rule_digests.LOCK).read_bytes()
    monkeypatch.setattr(rule_digests, "current_rules", lambda: {**now, claim: "0" * 16})
    monkeypatch.setattr(catalogue, "verdict", lambda study, test: broken)
    (found,) = rule_lock(True, Decisions(new_rule=frozenset({claim})))
    assert found.open
    assert len(found.names) == 1
    assert re.match(rf"{claim}: its test \w+ failed on .*\.py:\d+\): KeyError: 'quadrature'", found.names[0])
    assert Path(rule_digests.LOCK).read_bytes() == before


def test_a_rule_that_judges_the_same_by_other_code_keeps_its_age(ledger: dict[str, str], tmp_path: Path) -> None:
    of_rules()
    ledger["002-1"] = "c" * 16
    with pytest.raises(UserError, match=r"Commit rules.lock first"):
        of_rules("002-1")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=rules")
    first = git(tmp_path, "rev-parse", "HEAD").strip()
    for digest_now in ("c" * 16, "d" * 16):
        ledger["002-1"] = digest_now
        of_rules("002-1")
        git(tmp_path, "commit", "--quiet", "--all", "--message=other code")
        assert rule_digests.read_lock()["002-1"] == rule_digests.Line(digest_now, since=first)


def test_a_corpus_that_is_gone_or_of_other_parameters_leaves_the_lock(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = json.loads((PROJECT / "corpora.lock").read_text())
    entries |= {"gone": entries["digits"], "digits": {**entries["digits"], "spec": {}}}
    (tmp_path / "corpora.lock").write_text(json.dumps(entries))
    plan = files.load_plan()
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    monkeypatch.setattr(files, "load_plan", lambda: plan)
    assert [one.names for one in corpora(True, Decisions())] == [("gone",), ("digits",)]
    assert set(json.loads((tmp_path / "corpora.lock").read_text())) == set(entries) - {"gone", "digits"}


def test_a_word_to_avoid_may_only_become_rarer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "--quiet")
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    listed = tmp_path / files.WORDS
    listed.parent.mkdir(parents=True)
    listed.write_text('{"anew": 2, "told": 0}')
    (tmp_path / "README.md").write_text("It is made anew.\nIt is told by toldest.\n")
    fewer, more = words(True, Decisions())
    assert (fewer.names, fewer.open) == (("anew",), False)
    assert (more.names, more.open) == (("README.md:2",), True)
    assert json.loads(listed.read_text()) == {"anew": 1, "told": 0}


def test_answers_that_plans_do_not_ask_leave_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "model_facts.json"
    file.write_text('{"a: x": 1, "b: x": 2}')
    monkeypatch.setattr(files.model_facts, "FILE", file)
    monkeypatch.setattr(files, "answers", lambda: {"b: x": 3, "c: x": 4})
    assert [one.names for one in known_answers(True, Decisions())] == [("c",), ("b",), ("a",)]
    assert json.loads(file.read_text()) == {"b: x": 3, "c: x": 4}
    assert list(known_answers(True, Decisions())) == []
