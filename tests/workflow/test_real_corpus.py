"""The neuron-types slice on real text that nobody in this project wrote, from the user's files to the report."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import call

pytestmark = pytest.mark.slow


FILES = ("ts_train_head_cased.txt.xz", "ts_v2gpt4_train_head_cased.txt.xz")
COMMAND = ("snakemake", "--cores", "2", "--configfile", "params.yaml", "my.yaml")


def name_files(clone: Path, files: list[str]) -> None:
    """Say in corpora.local.yaml where the corpus lies on this machine."""
    corpus = {"source": "local", "files": files, "separator": "<|endoftext|>", "drop_last": True}
    content = {"tinystories": {**corpus, "tokenizer": {"kind": "bpe", "vocabulary": 1024}}}
    (clone / "corpora.local.yaml").write_text(json.dumps(content))


def test_a_users_stories_are_named_in_the_report_and_planned_without_their_files(
    clone: Path, shared_data: Callable[[str], Path]
) -> None:
    files = [str(shared_data(f"tinystories/{name}")) for name in FILES]
    name_files(clone, files)
    (clone / "my.yaml").write_text(
        "studies: {language: {corpus: tinystories, scales: {smoke: {steps: 60, d_model: 32}}}}\n"
    )
    call(clone, *COMMAND)
    lock = json.loads((clone / "corpora.local.lock").read_text())["tinystories"]
    assert lock["counts"]["documents"] == 2316 + 1727, "whole stories: the last of each file is cut off and dropped"
    page = (clone / "own/my/results/report.html").read_text()
    assert "Trained on <strong>tinystories</strong> (smoke)" in page
    assert lock["id"] in page
    selected = json.loads((clone / "own/my/results/selected.json").read_text())["studies"]["language"]["smoke"]
    assert set(selected["digests"]) >= {"neuron_classes", "l1_l2", "loss_curve", "cost"}
    name_files(clone, ["nowhere/*.txt.xz"])  # the lock still gives the plan
    again = call(clone, *COMMAND, "-n")
    assert "Nothing to be done" in again.stdout + again.stderr
