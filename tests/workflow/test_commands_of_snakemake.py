"""What users of Snakemake type, as docs/graph.md lists it: each row of its table, on clones open and done."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from allmlp.pipeline import snakefile
from tests.conftest import PROJECT, call, edit, git, only, small_clone
from tests.workflow.asking import contents, jobs, planned, trained

RULES = ["tokenize", "train", "measure", "report"]  # those with a command
PAGE = PROJECT / "docs/graph.md"
SEEN = """
import sys
from snakemake import cli, jobs

def seen(self, *_, **__):
    print("SEEN", self.rule.name, self.threads, self.resources.get("mem_mb"))

jobs.Job.log_info = seen
cli.main(sys.argv[1:])
"""


def test_each_row_of_the_page_is_tested_here() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Commands of Snakemake")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`snake.+?) \|", section, re.MULTILINE)
    code = ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    given = {node.value for node in code if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    typed = {option for row in rows for option in re.findall(r"--[a-z-]+", row)}
    assert len(rows) == 6
    assert typed <= given


def test_the_rules_are_there_whatever_is_open(fresh: Path) -> None:
    said = call(fresh, "snakemake", "--list-rules").stdout.split()
    assert {*RULES, "all", "measurements", "result"} == {*said}
    assert planned(fresh) == []


@pytest.mark.slow
def test_a_dry_run_of_a_large_scale_is_a_screen(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone", PROJECT)
    command = "snakemake -n --quiet rules host --config scale=gpu"
    assert f"`{command}`" in (PROJECT / "docs/cluster.md").read_text(encoding="utf-8")
    done = call(clone, *command.split())
    said = (done.stdout + done.stderr).splitlines()
    assert len(said) <= 30
    (total,) = {int(line.split()[1]) for line in said if line.startswith("total ")}
    assert total > 1500


def test_formatted_and_without_lints_that_fit() -> None:
    call(PROJECT, sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow")
    said = call(PROJECT, "snakemake", "--lint", ok=False)
    found = re.findall(r"^ +\* (.+)$", said.stdout + said.stderr, re.MULTILINE)
    assert found == ["Specify a conda environment or container for each rule.:"] * len(RULES)


def test_internals_are_used_in_one_file_and_bounded_to_what_is_tested() -> None:
    files = [PROJECT / "Snakefile", *(PROJECT / "workflow").rglob("*.smk"), *(PROJECT / "src/allmlp").rglob("*.py")]
    for file in files:
        if file != Path(snakefile.__file__):
            used = {*re.findall(r"\bworkflow\.(\w+)", file.read_text(encoding="utf-8"))}
            assert used <= {"basedir", "cores"} | {"smk"}, file
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    locked = (PROJECT / "requirements.lock").read_text().split("snakemake==")[1].split()[0]
    major, minor, _ = map(int, locked.split("."))
    assert f"snakemake>={major}.{minor},<{major}.{minor + 1}" in extras["workflow"]
    assert f"Tested with {major}.{minor}." in str(snakefile.__doc__)


def edges(said: str) -> set[tuple[str, str]]:
    """The edges of a graph in Mermaid's words, by the rules' names."""
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", said))
    return {(names[one], names[two]) for one, two in re.findall(r"(id\d+) --> (id\d+)", said)}


def picture(found: set[tuple[str, str]]) -> str:
    """These edges for the page, without those of a rule to itself."""
    lines = [f"    {one} --> {two}" for one, two in sorted(found) if one != two]
    return "\n".join(["```mermaid", "flowchart LR", *lines, "```"])


@pytest.mark.slow
def test_the_graph_is_drawn_whole_whatever_is_done(clone: Path, fresh: Path) -> None:
    """`--rulegraph` and `--dag`; of the scale smoke, the picture of the page."""
    opened, done = (call(of, "snakemake", "--rulegraph", "mermaid-js").stdout for of in (clone, fresh))
    assert edges(opened) == edges(done)
    assert {name for edge in edges(opened) for name in edge} == {*RULES, "all"}
    assert picture(edges(opened)) in PAGE.read_text(encoding="utf-8"), f"the page's picture:\n{picture(edges(opened))}"
    dag = call(fresh, "snakemake", "--dag").stdout
    assert dag.count('label = "measure') > 5
    assert git(fresh, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_summary_says_what_is_there(fresh: Path) -> None:
    rows = [line.split("\t") for line in call(fresh, "snakemake", "--summary").stdout.splitlines()]
    found = {row[0]: row[4:] for row in rows}
    measured = {name: of for name, of in found.items() if name.startswith("work/measured/")}
    assert len(measured) > 5
    assert {tuple(of) for of in measured.values()} == {("ok", "no update")}
    assert planned(fresh) == [], "what it has noted changes no plan"


@pytest.fixture
def one(clone: Path) -> Path:
    """A clone with one study, nothing run."""
    only(clone, "quadrature")
    return clone


@pytest.mark.slow
def test_trainings_are_addressed_by_their_rule(one: Path) -> None:
    words = ("--set-resources", "train:mem_mb=9000", "train:slurm_partition=gpu", "--set-threads", "train=2")
    said = call(one, "python", "-c", SEEN, "-n", "--cores", "2", *words).stdout
    seen = {tuple(line.split()[1:]) for line in said.splitlines() if line.startswith("SEEN")}
    assert ("train", "2", "9000") in seen
    assert all(rule != "measure" or "9000" not in of for rule, *of in seen)


@pytest.mark.slow
def test_until_train_trains_what_waits_for_trainings_too(clone: Path) -> None:
    """Study 001 has searches and parents."""
    only(clone, "mixers")
    done = planned(clone, "--until", "train")
    assert {*done} == {"tokenize", "train"}
    assert done.count("train") == planned(clone).count("train") > 1


@pytest.mark.slow
def test_forced_rules_and_their_files(one: Path) -> None:
    """`--forcerun measure`, then a file that is named; nothing that is stored is taken again or lost."""
    call(one, "snakemake", "--cores", "2", "--until", "train")
    assert {job.split()[0] for job in jobs(one)} == set(), "the same process has measured"
    call(one, "snakemake", "--cores", "2", "--forcerun", "measure")
    before = contents(one / "results/measurements")
    assert before
    file = trained(one)[0].replace("trained", "measured")
    call(one, "snakemake", "--cores", "2", file, "--forcerun", "measure")
    assert (one / file).is_file()
    assert contents(one / "results/measurements") == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.html", "claims.json", "figures/quadrature/index.json"])
def test_files_of_the_last_mile_are_targets(fresh: Path, name: str) -> None:
    """`snakemake results/report.html`: nothing where all is done; made again by DVC where it is gone."""
    file = fresh / "results" / name
    assert planned(fresh, f"results/{name}") == []
    before = file.read_bytes()
    file.unlink()
    call(fresh, "snakemake", "--cores", "2", f"results/{name}")
    assert file.read_bytes() == before
    assert planned(fresh, f"results/{name}") == []
    rate = "learning_rate: {}, weight_decay: 2.0"
    edit(fresh, "config/quadrature/study.yaml", rate.format("1e-3"), rate.format("1.5e-3"))
    assert planned(fresh, f"results/{name}") == ["measure", "report", "result", "train"]
    assert git(fresh, "status", "--porcelain", "results") == ""
