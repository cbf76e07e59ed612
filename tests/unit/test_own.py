"""What is a user's own stays apart from what git has: recorded overlays, locks of corpora, the folder of results."""

import json
import re
import shutil
from pathlib import Path

import pytest

from allmlp.cli import steps
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.data.corpora import identity
from allmlp.data.corpora.identity import LOCAL_LOCK, LOCK
from allmlp.pipeline.tokenize import tokenize_corpus
from allmlp.plan import results_folder
from allmlp.plan.params import LOCAL
from allmlp.plan.plan import Plan, load_plan
from allmlp.report import readme, render
from tests.conftest import PROJECT, call, lay

OVERLAY = "scale: smoke\nstudies: {language: {corpus: stories-few}, mixers: {corpus: stories-few}}\n"
RECORDED = tuple(sorted(file.stem for file in (PROJECT / "config/recorded").glob("*.yaml")))


@pytest.fixture
def project(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's parameters in a folder of their own."""
    for name in ("Snakefile", LOCK):
        shutil.copy2(PROJECT / name, tmp_path / name)
    lay(tmp_path, published.parent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.PROJECT, str(tmp_path))
    return tmp_path


def recorded(plan: Plan) -> dict[str, list[str]]:
    """overlay -> the runs that it owns."""
    return {name: [run.id for runs in plan.runs_by_scale[name].values() for run in runs] for name in RECORDED}


@pytest.fixture(scope="module")
def before(published: Path) -> dict[str, list[str]]:
    """The same of the project itself."""
    found = recorded(load_plan())
    assert all(found.values())
    return found


def say(project: Path, name: str, text: str, **keys: object) -> None:
    """Put a text where corpora.local.yaml says: in the two kinds of files that `english` is read from."""
    texts = [f"{text} {paths.digest(n, 60)}" for n in range(200)]
    (project / "text.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    (project / "text.txt").write_text("<|endoftext|>".join(texts))
    files = ["text.txt"] if keys else ["text.jsonl", "text.txt"]
    (project / LOCAL).write_text(json.dumps({name: {"files": files, **keys}}))


def test_a_recorded_overlay_owns_the_same_whatever_a_user_lays_over_the_parameters(
    project: Path, before: dict[str, list[str]]
) -> None:
    (project / "my.yaml").write_text(OVERLAY)
    plan = load_plan(["my.yaml"])
    replaced = {run.corpus for run in plan.runs_by_scale["workstation"]["language"]}
    assert "stories-few" in replaced
    assert "stories" not in replaced
    assert recorded(plan) == before


def test_a_recorded_overlay_owns_the_same_whatever_text_lies_here(project: Path, before: dict[str, list[str]]) -> None:
    say(project, "english", "not the novels")
    plan = load_plan(["config/recorded/english.yaml"])
    trained = {run.id for run in plan.runs if run.corpus == "english" and run.steps}
    assert trained
    assert trained.isdisjoint(before["english"]), "it is trained on the text that lies here"
    assert recorded(plan) == before


def test_recorded_overlays_are_the_project_s_and_all_others_the_user_s(project: Path) -> None:
    (project / "my.yaml").write_text(OVERLAY)
    english = "config/recorded/english.yaml"
    assert results_folder.folder(load_plan(changes={"scale": "workstation"})) is None, (
        "another scale is no other project"
    )
    assert results_folder.folder(load_plan(["my.yaml"])) == project / "own/my"
    assert results_folder.folder(load_plan([english])) is None
    assert results_folder.report_plan(load_plan([english])).overlays == []
    assert results_folder.folder(load_plan([english, "my.yaml"])) == project / "own/english-my"
    say(project, "english", "not the novels")
    assert results_folder.folder(load_plan([english])) == project / "own/english", "of another text"


def test_git_s_plan_keeps_its_text_where_a_file_of_that_name_holds_another(project: Path) -> None:
    before = load_plan().git_plan.runs_by_scale["long"]["triangular"]
    (project / "data").mkdir(exist_ok=True)
    (project / "data/tinyshakespeare.txt.xz").write_bytes(b"another text")
    plan = load_plan()
    mine, git = ({run.id for run in one.runs_by_scale["long"]["triangular"]} for one in (plan, plan.git_plan))
    assert git == {run.id for run in before}
    assert {run.split("-seed")[0] for run in mine - git} == {
        run.split("-seed")[0] for run in git if "shakespeare" in run
    }


def test_what_is_kept_by_default_is_git_s_plan_without_trials_and_own_files(project: Path) -> None:
    git, trial = load_plan().git_plan, load_plan(changes={"scale": "smoke"})
    (project / "my.yaml").write_text(OVERLAY)
    mine = load_plan(["my.yaml"], {"scale": "workstation"})
    kept = results_folder.names_of_git()
    at_scales = [
        {run.id for runs in of.values() for run in runs} for scale, of in git.runs_by_scale.items() if scale != "smoke"
    ]
    assert git.scale != "smoke"
    assert kept >= set().union(*at_scales)
    for plan in (trial, mine):
        own = {run.id for runs in plan.chosen_runs.values() for run in runs} - set().union(*at_scales)
        assert own
        assert kept.isdisjoint(own), plan.overlays or "a trial"


def test_an_own_report_speaks_of_the_chosen_scale_and_the_studies_that_a_file_touches(project: Path) -> None:
    (project / "my.yaml").write_text(OVERLAY)
    (project / "none.yaml").write_text("scale: smoke\n")
    spoken = {
        name: {scale: list(studies) for scale, studies in plan.report_runs.items()}
        for name, plan in {
            "my": load_plan(["my.yaml"]),
            "one": load_plan(["my.yaml"], {"study": "copying"}),
            "none": load_plan(["none.yaml"]),
            "trial": load_plan(changes={"scale": "smoke"}),
        }.items()
    }
    everything = list(load_plan().runs_by_scale["smoke"])
    assert spoken["my"] == {"smoke": ["language", "mixers"]}
    assert spoken["one"] == {"smoke": [of for of in everything if of in ("language", "mixers", "copying")]}
    assert spoken["none"] == spoken["trial"] == {"smoke": everything}
    assert load_plan().report_runs.keys() >= {"workstation", "long", *RECORDED}


def test_a_trial_and_own_files_measure_in_their_own_folder(project: Path) -> None:
    (project / "my.yaml").write_text(OVERLAY)
    for plan in (load_plan(["my.yaml"]), load_plan(changes={"scale": "smoke"})):
        place = results_folder.folder(plan)
        assert place is not None
        results_folder.prepare(plan, place)
        measured = place / "work/measurements/language/cost/a-run-r1.parquet"
        paths.write_atomically(measured, b"mine")
        paths.write_atomically(place / "work/runs/a-run/state.json", b"under way")
    assert not (project / "work/measurements").exists()
    assert (project / "work/runs/a-run/state.json").is_file(), "a training under way is shared"


def test_two_files_of_one_name_do_not_share_a_folder(project: Path) -> None:
    for name in ("my.yaml", "sub/my.yaml", "x-y.yaml", "x.yaml", "y.yaml"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(OVERLAY)
    for first, second in ((["my.yaml"], ["sub/my.yaml"]), (["x-y.yaml"], ["x.yaml", "y.yaml"])):
        plan = load_plan(first)
        place = results_folder.folder(plan)
        assert place is not None
        results_folder.prepare(plan, place)
        assert results_folder.folder(load_plan(first)) == place
        said = re.escape(f"has the results of {first[0]}, not of {' and '.join(second)}. Rename the file")
        with pytest.raises(UserError, match=said):
            results_folder.folder(load_plan(second))


@pytest.mark.parametrize(("name", "why"), [("try", "`allmlp try`"), ("smoke", "trials")])
def test_the_folders_of_trials_are_no_overlay_s(project: Path, name: str, why: str) -> None:
    (project / f"{name}.yaml").write_text(OVERLAY)
    with pytest.raises(UserError, match=f"own/{name} cannot be the folder of its results: {why}.*Rename the file"):
        results_folder.folder(load_plan([f"{name}.yaml"]))


def test_a_refused_call_leaves_no_folder_of_one_s_own(project: Path) -> None:
    (project / "my.yaml").write_text(OVERLAY)
    words = ("allmlp", "show", "no-such-run", "--params", "my.yaml")
    assert call(project, *words, ok=False, PYTHONPATH=str(PROJECT / "src")).returncode == 2
    assert not (project / "own").exists()
    paths.write_atomically(project / "own/my/results/mine.csv", "1")
    call(project, *words, ok=False, PYTHONPATH=str(PROJECT / "src"))
    assert (project / "own/my/results/mine.csv").is_file()


def test_the_page_of_one_s_own_results_is_written_there_and_leaves_readme(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []
    monkeypatch.setattr(render, "render", lambda pdf: Path.cwd())
    monkeypatch.setattr(readme, "write", lambda: written.append(Path.cwd()))
    (project / "my.yaml").write_text(OVERLAY)
    steps.render(params=[project / "my.yaml"])
    assert Path.cwd() == project / "own/my"
    assert not written
    monkeypatch.chdir(project)
    steps.render()
    assert written == [project]


def test_a_folder_of_one_s_own_has_all_that_is_measured_and_keeps_what_it_makes(project: Path) -> None:
    (project / "my.yaml").write_text(OVERLAY)
    there = project / "results/measurements/language/cost/aaaaaaaaaaaaaaaa.parquet"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"measured")
    for _ in range(2):
        results_folder.prepare(load_plan(["my.yaml"]), project / "own/my")
    place = project / "own/my/results"
    assert (place / there.relative_to(project / "results")).read_bytes() == b"measured"
    paths.write_atomically(place / "measurements/language/cost" / there.name, b"again")
    paths.write_atomically(place / "measurements/language/cost/bbbbbbbbbbbbbbbb.parquet", b"mine")
    assert there.read_bytes() == b"measured"
    assert list(there.parent.iterdir()) == [there]
    (place / "tokens/mine").mkdir()
    assert (project / "results/tokens/mine").is_dir(), "tokens have their content in their names"


def tokenized(project: Path, name: str) -> tuple[bytes, dict]:
    """The bytes of identity.lock and what the local lock holds, after a corpus was tokenized."""
    tokenize_corpus(load_plan(), name)
    local = project / LOCAL_LOCK
    return (project / LOCK).read_bytes(), json.loads(local.read_text()) if local.is_file() else {}


def test_the_user_s_corpus_is_not_in_git_s_lock(project: Path) -> None:
    before = (project / LOCK).read_bytes()
    say(project, "mine", "One day.", source="local", separator="<|endoftext|>")
    committed, local = tokenized(project, "mine")
    assert committed == before
    assert list(local) == ["mine"]
    (project / "text.txt").unlink()
    spec = load_plan().parameters.corpora["mine"]
    assert identity.token_id("mine", spec, project) == local["mine"]["id"], "planned without the text from here on"


def test_other_text_under_a_name_of_git_s_does_not_take_its_place(project: Path) -> None:
    before = (project / LOCK).read_bytes()
    say(project, "english", "Not the novels.")
    committed, local = tokenized(project, "english")
    assert committed == before
    assert local["english"]["id"] != json.loads(before)["english"]["id"]


def test_a_corpus_of_params_yaml_is_recorded_in_git_s_lock(project: Path) -> None:
    (project / LOCK).write_text("{}")
    committed, local = tokenized(project, "digits")
    assert list(json.loads(committed)) == ["digits"]
    assert local == {}


def test_a_text_of_too_few_documents_for_validation_is_refused_with_the_way_out(project: Path) -> None:
    (project / "short.txt").write_text("a line of a short text\n" * 200)
    corpus = {"source": "local", "files": "short.txt", "tokenizer": {"kind": "bytes"}}
    (project / LOCAL).write_text(json.dumps({"short": corpus}))
    with pytest.raises(UserError, match=r"short-\w+: the validation split has none of the 1 documents.*`passage:`"):
        tokenize_corpus(load_plan(), "short")
    assert not list((project / "results/tokens").glob("*/meta.json"))
    (project / LOCAL).write_text(json.dumps({"short": {**corpus, "passage": 100}}))
    (project / "short.txt").write_text("".join(f"line {n} of a short text\n" for n in range(1000)))
    assert (tokenize_corpus(load_plan(), "short") / "meta.json").is_file()


def test_a_run_of_one_s_own_is_found_with_the_file_that_it_needs(project: Path) -> None:
    (project / "my other.yaml").write_text(OVERLAY)
    mine = load_plan(["my other.yaml"])
    place = results_folder.folder(mine)
    assert place is not None
    git, (run, *_) = load_plan(), [run.id for run in mine.runs if run.corpus == "stories-few"]
    with pytest.raises(UserError, match="fits no run of the plan; nearest are"):
        git.find(run)
    results_folder.prepare(mine, place)
    way = re.escape("add `--params 'my other.yaml'`, in Python `params=\"my other.yaml\"`.")
    for ask in (lambda: git.find(run), lambda: git.find(run[-8:]), lambda: git.run(run)):
        with pytest.raises(UserError, match=way) as raised:
            ask()
        assert len(str(raised.value)) <= 250
    (project / "my other.yaml").unlink()
    paths.write_atomically(place / f"work/measurements/language/cost/{run}-r1.parquet", b"")
    with pytest.raises(UserError, match=way):
        git.find(run)


def test_a_trial_leaves_the_committed_results_as_they_are(project: Path) -> None:
    assert results_folder.folder(load_plan(changes={"scale": "smoke"})) == project / "own/smoke"
    assert results_folder.folder(load_plan()) is None
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("scale: laptop", "scale: smoke"))
    assert results_folder.folder(load_plan()) is None, "the project's own scale"
