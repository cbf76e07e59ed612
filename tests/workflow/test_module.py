"""The workflow from elsewhere: by its file in workflow/, and as a module of another one, as docs/graph.md shows it."""

import re
from pathlib import Path

import pytest

from tests.conftest import PROJECT, call, git
from tests.workflow.asking import planned

MODULE = re.search(r"```python\n(module .*?)```", (PROJECT / "docs/graph.md").read_text(encoding="utf-8"), re.DOTALL)


def test_its_file_is_found_where_the_catalog_looks(finished: Path, tmp_path: Path) -> None:
    assert planned(finished, "--snakefile", "workflow/Snakefile") == []
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = ("--snakefile", str(finished / "workflow/Snakefile"), "--directory", str(finished))
    said = call(elsewhere, "snakemake", "-n", *words, PYTHONPATH=str(finished / "src")).stdout
    assert "Nothing to be done" in said
    assert list(elsewhere.iterdir()) == []


@pytest.mark.slow
def test_another_workflow_has_it_as_a_module(fresh: Path, tmp_path: Path) -> None:
    assert MODULE, "docs/graph.md shows how"
    outer, path = tmp_path / "outer", str(fresh / "src")
    outer.mkdir()
    (outer / "Snakefile").write_text(MODULE[1].replace("/home/me/allmlp", str(fresh)), encoding="utf-8")
    said = call(outer, "snakemake", "--cores", "2", "-n", PYTHONPATH=path).stdout
    assert "allmlp_train" in said
    assert "allmlp_train_language" not in said, "only the study that its config names"
    call(outer, "snakemake", "--cores", "2", PYTHONPATH=path)
    assert len(list((outer / "work/measurements/quadrature").glob("*/*.parquet"))) > 5
    assert len(list((outer / "results/checkpoints").iterdir())) == 2
    assert git(fresh, "status", "--porcelain") == ""
    assert not (fresh / "results/checkpoints/constant-attention-p7-w32-seed0-84a3b484").exists()


def test_a_copy_of_the_file_alone_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow/Snakefile").write_bytes((PROJECT / "workflow/Snakefile").read_bytes())
    done = call(tmp_path, "snakemake", "-n", ok=False, PYTHONPATH=str(PROJECT / "src"))
    assert done.returncode == 2
    assert f"{tmp_path}: has no params.yaml. A module of this workflow" in done.stderr
