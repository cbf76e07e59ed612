"""The neuron-types slice on real text that nobody in this project wrote, from the user's files to the report."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import call, small_clone

pytestmark = pytest.mark.slow


FILES = ("ts_train_head_cased.txt.xz", "ts_v2gpt4_train_head_cased.txt.xz")
COMMAND = ("snakemake", "--cores", "2", "--configfile", "params.yaml", "my.yaml")


def name_files(clone: Path, files: list[str]) -> None:
    """Say in corpora.local.yaml where the corpus lies on this machine."""
    corpus = {"source": "local", "files": files, "separator": "<|endoftext|>", "drop_last": True}
    content = {"tinystories": {**corpus, "tokenizer": {"kind": "bpe", "vocabulary": 1024}}}
    (clone / "corpora.local.yaml").write_text(json.dumps(content))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_data: Callable[[str], Path]) -> Path:
    """A clone whose neuron slice was trained on TinyStories."""
    files = [str(shared_data(f"tinystories/{name}")) for name in FILES]
    clone = small_clone(tmp_path_factory.mktemp("real") / "clone")
    name_files(clone, files)
    (clone / "my.yaml").write_text(
        "studies: {language: {corpus: tinystories, scales: {smoke: {steps: 60, d_model: 32}}}}\n"
    )
    call(clone, *COMMAND)
    return clone


def test_the_report_says_what_it_was_trained_on(finished: Path) -> None:
    lock = json.loads((finished / "corpora.local.lock").read_text())["tinystories"]
    assert lock["counts"]["documents"] == 2316 + 1727, "whole stories: the last of each file is cut off and dropped"
    page = (finished / "own/my/results/report.html").read_text()
    assert "Trained on <strong>tinystories</strong> (smoke)" in page
    assert lock["id"] in page
    selected = json.loads((finished / "own/my/results/selected.json").read_text())["studies"]["language"]["smoke"]
    assert set(selected["digests"]) >= {"neuron_classes", "l1_l2", "loss_curve", "cost"}


def test_without_the_files_the_lock_still_gives_the_plan(finished: Path) -> None:
    name_files(finished, ["nowhere/*.txt.xz"])
    again = call(finished, *COMMAND, "-n")
    assert "Nothing to be done" in again.stdout + again.stderr
