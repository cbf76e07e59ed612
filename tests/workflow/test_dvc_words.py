"""What people type who know DVC: each command of docs/graph.md's table "Commands of DVC" gives what stands there."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from allmlp.common.dvc import LARGEST
from tests.conftest import PROJECT, call, edit, git
from tests.workflow.asking import contents, up_to_date

RATE = "learning_rate: {}, weight_decay: 2.0"
NETWORK, MODEL = "constant-attention-p59-w512-seed0-9b685b2f", "transformer-stories-seed0-9104f234"
FAMILIES = ("transformer", "linear-transformer", "hybrid", "dct-mlp", "masked-mixer", "causal-rn", "triangular", "mlp")


@pytest.fixture
def project_clone(tmp_path: Path, committed_last_mile: None) -> Path:
    """A `git clone` of this project, with nothing but what git has."""
    git(PROJECT, "clone", "--quiet", "--no-local", "--depth=1", f"file://{PROJECT}", str(tmp_path / "clone"))
    return tmp_path / "clone"


def another_rate(clone: Path) -> None:
    edit(clone, "config/quadrature/study.yaml", RATE.format("1e-3"), RATE.format("2e-3"))


def params_diff(clone: Path) -> None:
    another_rate(clone)
    found = json.loads(call(clone, "dvc", "params", "diff", "HEAD", "--json").stdout)
    name, changed = "studies.quadrature.optimiser.learning_rate", {"old": 1e-3, "new": 2e-3, "diff": 1e-3}
    assert found == {"config/quadrature/study.yaml": {name: changed}}, "a parameter, and no digest"
    status = json.loads(call(clone, "dvc", "status", "--json").stdout)
    assert list(status) == ["select"], "the stage that reads parameters"


def exp_show(clone: Path) -> None:
    another_rate(clone)
    (workspace, commit) = call(clone, "dvc", "exp", "show", "--csv", "--only-changed").stdout.splitlines()[1:]
    assert "0.002" in workspace
    assert "0.001" in commit
    whole = call(clone, "dvc", "exp", "show", "--csv").stdout.splitlines()[0].split(",")
    assert {"scale", "claims.all.not run", "studies.quadrature.optimiser.learning_rate"} <= set(whole)


def metrics(clone: Path) -> None:
    shown = json.loads(call(clone, "dvc", "metrics", "show", "--json").stdout)
    written = json.loads((clone / "results/metrics.json").read_text())
    assert shown == {"": {"data": {"results/metrics.json": {"data": written}}}}
    edit(clone, "config/triangular/smoke.yaml", "[one-averaging, one-plain]", "[one-averaging]")
    call(clone, "allmlp", "report")
    (changed,) = json.loads(call(clone, "dvc", "metrics", "diff", "HEAD", "--json").stdout).values()
    assert changed["claims.triangular.not run"]["diff"] == 1
    assert changed["runs.smoke"]["diff"] == changed["runs.all"]["diff"] < 0
    assert up_to_date(clone)


def plots(clone: Path) -> None:
    table = clone / "results/tables/copying/iterations_to_99.csv"
    table.write_text(table.read_text().replace("causal-rn", "another-model"))
    call(clone, "dvc", "plots", "diff", "HEAD", "--out", "work/plots")
    page = (clone / "work/plots/index.html").read_text()
    assert '"model": "another-model"' in page
    assert '"rev": "HEAD"' in page
    shown = json.loads(call(clone, "dvc", "plots", "show", "--json").stdout)["data"]
    listed = yaml.safe_load((clone / "dvc.yaml").read_text())["plots"]
    assert shown.keys() == {name for entry in listed for name in entry}
    assert len(shown) == 4


def experiment(clone: Path, *changes: str) -> str:
    """What DVC says of an experiment that it does not make."""
    done = call(clone, "dvc", "exp", "run", *(word for change in changes for word in ("-S", change)), ok=False)
    assert done.returncode != 0
    assert call(clone, "dvc", "exp", "list").stdout == ""
    return done.stdout + done.stderr


def pull(clone: Path) -> None:
    said = call(clone, "allmlp", "doctor", ok=False).stdout
    pointers = (clone / "results").glob("*/*.dvc")
    count = sum("remote: models" in pointer.read_text() for pointer in pointers)
    assert count
    assert re.search(
        rf"models +{count} folders published in git, results/models, {count} not here: "
        r"`dvc pull --allow-missing` brings them",
        said,
    )
    assert re.search(r"other runs +without a pointer: `make reproduce` trains .* one CPU type; git has \w+", said)
    done = call(clone, "dvc", "pull")
    assert "md5" not in done.stderr
    folders = {path.name for path in (clone / "results/checkpoints").iterdir() if path.is_dir()}
    assert all(any(name.startswith(f"{family}-") for name in folders) for family in FAMILIES)
    assert {NETWORK, MODEL} < folders
    assert "none not as recorded" in call(clone, "allmlp", "verify").stdout
    assert "Everything is up to date" in call(clone, "dvc", "pull", "--allow-missing").stdout
    assert git(clone, "status", "--porcelain") == ""


TRIED: dict[str, Callable[[Path], None]] = {
    "dvc params diff STATE": params_diff,
    "dvc exp show": exp_show,
    "dvc metrics show, dvc metrics diff STATE": metrics,
    "dvc plots show, dvc plots diff STATE": plots,
}
ON_A_CLONE = {"dvc exp run -S scale=smoke", "dvc pull"}  # of the project itself: tests of their own below


def test_the_page_lists_these_commands() -> None:
    section = (PROJECT / "docs/graph.md").read_text(encoding="utf-8").partition("## Commands of DVC\n")[2]
    rows = [line.split("|")[1] for line in section.split("\n## ")[0].splitlines() if line.startswith("| `")]
    assert {", ".join(re.findall(r"`([^`]+)`", row)) for row in rows} == {*TRIED, *ON_A_CLONE}


@pytest.mark.slow
@pytest.mark.parametrize("command", TRIED)
def test_a_command_gives_what_the_page_says(finished: Path, command: str) -> None:
    TRIED[command](finished)


@pytest.mark.slow
def test_an_experiment_is_made_where_all_is_measured_and_refused_where_it_would_train(finished: Path) -> None:
    said = experiment(finished, "config/quadrature/smoke.yaml:studies.quadrature.steps=25")
    (line,) = [line for line in said.splitlines() if "not measured" in line]
    assert re.search(r"scale smoke: 1 of \d+ runs are not measured, and DVC trains none: `snakemake --cores", line)
    git(finished, "checkout", "--quiet", "config")
    fewer = "config/triangular/smoke.yaml:studies.triangular.compared=[one-averaging]"
    call(finished, "dvc", "exp", "run", "-S", fewer)
    assert call(finished, "dvc", "exp", "list", "--name-only").stdout.strip()
    assert "one-plain" not in (finished / "results/tables/triangular/variants.csv").read_text()


@pytest.mark.slow
def test_an_experiment_with_the_trial_scale_says_what_runs_it(project_clone: Path) -> None:
    before = contents(project_clone / "results")
    said = experiment(project_clone, "scale=smoke")
    (line,) = [line for line in said.splitlines() if "not measured" in line]
    assert "`snakemake --cores all --config scale=smoke` trains them, about " in line
    assert "`git checkout params.yaml config` takes a change back" in line
    assert contents(project_clone / "results") == before


@pytest.mark.slow
def test_a_fresh_clone_pulls_the_models_and_uses_them(project_clone: Path) -> None:
    pull(project_clone)
    size = sum(path.stat().st_size for path in (project_clone / "results/models").rglob("*") if path.is_file())
    assert size <= 1.05 * LARGEST, "with DVC's lists of files"
    assert not list((project_clone / "results/tokens").glob("*")), "no tokens"
    story = call(project_clone, "allmlp", "generate", MODEL, "--prompt", "Once", "--tokens", "20").stdout
    assert story.startswith("Once")
    assert "are proved right by brute force" in call(project_clone, "allmlp", "certify", NETWORK).stdout
    call(project_clone, "allmlp", "export", MODEL, "--to", "work/exported")
    assert (project_clone / "work/exported/tokenizer.json").is_file()
    assert git(project_clone, "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.parametrize("words", [("allmlp", "report"), ("dvc", "repro")], ids=" ".join)
def test_a_stage_that_fails_says_which_figure_and_why(fresh: Path, words: tuple[str, ...]) -> None:
    edit(fresh, "src/allmlp/studies/crossover/figures.py", "rows = order_scores(score)", "rows = score['nothing']")
    done = call(fresh, *words, ok=False)
    assert done.returncode
    said = (done.stdout + done.stderr).splitlines()
    reason = next(line for line in said if line.startswith("error: crossover: matrix cannot be"))
    assert re.search(r"figures\.py:\d+\): KeyError: 'nothing'", reason)
    assert not any("Traceback" in line or "without a word" in line for line in said)


@pytest.mark.parametrize(
    "words", [("pins", "--help"), ("verify", "--help"), ("pin", "--help"), ("doctor",)], ids=" ".join
)
def test_no_command_names_a_pull_that_other_missing_runs_would_stop(words: tuple[str, ...]) -> None:
    said = " ".join(call(PROJECT, "allmlp", *words, ok=False, COLUMNS="300").stdout.split())
    assert not re.search(r"dvc pull`(?! --allow-missing)|dvc pull (?!--allow-missing|results/)", said), said
