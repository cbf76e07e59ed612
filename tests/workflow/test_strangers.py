"""docs/corpora.md followed from the files to the report: text, pairs and images of a stranger; git sees none of it."""

import io
import json
import lzma
import random
import re
import resource
import shlex
import time
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from allmlp.pipeline import timing
from tests.conftest import PROJECT, call, edit, git
from tests.workflow.asking import contents, planned

WORDS = ["Tom", "Lily", "Ben", "saw", "found", "lost", "the", "a", "cat", "dog", "tree", "book", "moon", "river"]
RUSSIAN = ["Том", "Лиля", "видел", "нашёл", "потерял", "этот", "кот", "дом", "дерево", "книга", "луна", "река"]
BESIDE_S = (
    180.0  # seconds of a core from the files to the report, besides the work itself: wall time tells of neighbours
)
COMMAND = ("--config", "scale=smoke", "--configfile", "params.yaml", "my.yaml")


def section(title: str) -> dict[str, str]:
    """file -> the first that a section of docs/corpora.md says to write there; at the smoke scale."""
    text = (PROJECT / "docs/corpora.md").read_text(encoding="utf-8")
    body = re.search(rf"^## {title}$(.*?)(?:^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert body, title
    found: dict[str, str] = {}
    for file, content in re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", body[1], re.MULTILINE | re.DOTALL):
        found.setdefault(file, content.replace("workstation:", "smoke:"))
    return found


def sentences(count: int, seed: int, words: list[str] = WORDS) -> str:
    """A made-up text, of enough different words for a tokenizer to learn from."""
    draw = random.Random(seed)
    letters = "".join(sorted({*"".join(words).lower()}))
    names = [*words, *("".join(draw.choices(letters, k=7)) for _ in range(40))]
    return " ".join(f"{' '.join(draw.choices(names, k=6)).capitalize()}." for _ in range(count))


def numbers(figure: Path) -> set[float]:
    """All that a figure carries in its data."""
    found = re.search(r'<metadata class="data">(.*?)</metadata>', figure.read_text(encoding="utf-8"))
    assert found
    parts = [json.loads(unescape(found[1]))["columns"]]
    while any(isinstance(one, list) for one in parts):
        parts = [of for one in parts for of in (one if isinstance(one, list) else [one])]
    return {one for one in parts if isinstance(one, float)}


def cpu_of_children() -> float:
    """Seconds of a core that all ended processes took which this one started, and those that these started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_text(data: Path) -> None:
    """Files as the section says: stories between separators, compressed. Of a language with other letters."""
    (data / "tinystories").mkdir(parents=True)
    for part in range(2):
        text = "<|endoftext|>".join(sentences(12, 1000 * part + n, RUSSIAN) for n in range(150))
        (data / f"tinystories/{part}.txt.xz").write_bytes(lzma.compress(text.encode()))


def write_pairs(data: Path) -> None:
    """Questions and passages, a JSON line each."""
    rows = [{"question": sentences(1, n), "passage": sentences(5, 10_000 + n)} for n in range(200)]
    (data / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_images(data: Path) -> None:
    """Encoded images and their classes, as the Hub stores them."""
    (data / "cifar10").mkdir(parents=True)
    draw = np.random.default_rng(0)
    for name, count in (("train", 60), ("test", 20)):
        encoded = []
        for _ in range(count):
            stream = io.BytesIO()
            Image.fromarray(draw.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(stream, format="PNG")
            encoded.append({"bytes": stream.getvalue()})
        table = pa.table({"image": encoded, "label": [n % 10 for n in range(count)]})
        pq.write_table(table, data / f"cifar10/{name}.parquet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "write", "study", "corpus"),
    [
        ("Text", write_text, "language", "tinystories"),
        ("Pairs", write_pairs, "mixers", "my-pairs"),
        ("Images", write_images, "copying", "cifar10"),
    ],
)
def test_a_section_of_the_readme_ends_in_a_report_and_a_clean_clone(
    finished: Path, title: str, write, study: str, corpus: str
) -> None:
    (finished.parent / "data").mkdir()
    write(finished.parent / "data")
    files = section(title)
    assert set(files) == {"corpora.local.yaml", "my.yaml"}
    for name, content in files.items():
        (finished / name).write_text(content)
    before, cpu, began = contents(finished / "results/measurements"), cpu_of_children(), time.time()
    said = call(finished, "snakemake", "--cores", "2", *COMMAND)
    worked = timing.seconds_since(finished / "own/my", began, "cpu_seconds")
    assert worked > 0
    assert cpu_of_children() - cpu - worked < BESIDE_S, "of what is neither tokens nor trainings nor measures"
    place = finished / "own/my/results"
    assert f"your own results, beside those of git: {place}/report.html" in said.stdout + said.stderr
    assert git(finished, "status", "--porcelain") == ""
    assert contents(finished / "results/measurements") == before
    page = (place / "report.html").read_text()
    assert corpus in page
    assert page.count("Yours</p>") == len(re.findall(f'<figure id="figure-{study}-', page)) > 0
    assert re.findall(r'<section id="(\w+)"', page) == ["answer", study, "provenance"], "it speaks of these runs alone"
    shown = re.findall(r"<code>(allmlp show [^<]*[0-9a-f]{8} [^<]*)</code>", page)
    assert shown, "of a run behind a claim"
    said = call(finished, *shlex.split(shown[0])).stdout
    assert said.startswith("run  ")
    files = re.findall(r"^(?:log|measurement) .*?(\S+\.(?:log|parquet))$", said, re.MULTILINE)
    assert len(files) > 1
    assert [file for file in files if not (finished / file).is_file()] == [], "as one types them here"
    dead = set(re.findall(r'href="#([^"?]+)', page)) - set(re.findall(r'\bid="([^"]+)"', page))
    assert not dead, "links lead somewhere"
    selected = json.loads((place / "selected.json").read_text())["studies"][study]["smoke"]
    assert corpus in {about["corpus"] for about in selected["about"]}
    if title == "Pairs":
        table = pd.read_csv(place / "tables/mixers/retrieval.csv")
        assert set(table["pairs"]) == {corpus}
        assert table["lowest_nats"].notna().all()
        of_figures = json.loads((place / "figures/mixers/index.json").read_text())
        for name, column in (("retrieval_losses", "last_nats"), ("retrieval_accuracy", "top_1")):
            assert of_figures[name]["corpora"] == [corpus, "stories"], "the pairs, and the text of the embedders"
            assert {float(f"{value:.4g}") for value in table[column]} <= numbers(place / f"figures/mixers/{name}.svg")
    assert json.loads((finished / "corpora.local.lock").read_text()).keys() == {corpus}
    assert planned(finished, *COMMAND) == []
    assert planned(finished) == [], "and git's own plan is as it was"
    kept = call(finished, "allmlp", "keep", "--push").stdout
    assert "Left out: " in kept
    assert "of your own runs, texts and trials" in kept
    assert git(finished, "status", "--porcelain") == "", "no pointer of what is the user's own"


OF_STUDY = ("--config", "study=quadrature")
COMMANDS = {"main": OF_STUDY, "trial": (*OF_STUDY, "scale=smoke"), "own": (*OF_STUDY, "--configfile", "my.yaml"),
            "text": ("--config", "study=language", "--configfile", "my-text.yaml")}  # fmt: skip
NOTEBOOK = """
import allmlp
mine, committed = (allmlp.table("quadrature", "cost", **how) for how in ({"params": "my.yaml"}, {}))
assert len(mine) and set(mine.scale) == {"smoke"} and not set(mine.run) & set(committed.run)
assert allmlp.load(mine.run[0], params="my.yaml").run.steps == 7
"""


@pytest.mark.slow
@pytest.mark.parametrize("order", ["trial text own main", "own main trial main"])
def test_git_is_clean_after_a_trial_and_own_files_and_the_main_scale_in_any_order(clone: Path, order: str) -> None:
    (clone / "config/quadrature/laptop.yaml").write_text("studies: {quadrature: {seeds: [0], steps: 30, p: 7}}\n")
    edit(clone, "params.yaml", "scale: smoke", "scale: laptop")
    call(clone, "snakemake", "--cores", "2", *COMMANDS["main"])
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=main")
    (clone / "my.yaml").write_text("scale: smoke\nstudies: {quadrature: {steps: 7}}\n")
    (clone / "corpora.local.yaml").write_text(
        'mine: {source: local, files: ["../text.txt"], separator: "\\n", tokenizer: {kind: bytes}}\n'
    )
    (clone.parent / "text.txt").write_text("\n".join(sentences(3, n, RUSSIAN) for n in range(300)))
    (clone / "my-text.yaml").write_text("scale: smoke\nstudies: {language: {corpus: mine}}\n")
    before = contents(clone / "results/measurements")
    for one in order.split():
        call(clone, "snakemake", "--cores", "2", *COMMANDS[one])
        assert git(clone, "status", "--porcelain") == "", one
        assert contents(clone / "results/measurements") == before, one
    for place in ("smoke", "my"):
        assert "What your runs show" in (clone / "own" / place / "results/report.html").read_text()
    call(clone, "python", "-c", NOTEBOOK)
    said = call(clone, "allmlp", "diff", "HEAD", "own/my").stdout
    assert "my.yaml studies quadrature steps" in said
    assert re.search(r"^verdicts\b", said, re.MULTILINE), said
    assert re.search(r"\b003-\S+ ", said), said
    assert not re.search(r"\b(000|001|002|004|all)-(own-)?\d", said), "no other study is touched"
    (clone / "sub").mkdir()
    (clone / "sub/my.yaml").write_text("scale: smoke\n")
    refused = call(clone, "allmlp", "report", "--params", "sub/my.yaml", ok=False)
    assert "own/my: has the results of my.yaml, not of sub/my.yaml. Rename the file" in refused.stderr


@pytest.mark.slow
def test_a_failed_job_of_an_own_run_says_where_its_logs_lie(clone: Path) -> None:
    (clone.parent / "data").mkdir()
    (clone.parent / "data/wrong.txt").write_bytes(b"ab\xff\xfe" * 5000)
    (clone / "corpora.local.yaml").write_text(
        'mine: {source: local, files: ["../data/wrong.txt"], tokenizer: {kind: bytes}}\n'
    )
    (clone / "my.yaml").write_text("studies: {language: {corpus: mine}}\n")
    failed = call(clone, "snakemake", "--cores", "1", "--config", "study=language", *COMMAND, ok=False)
    said = failed.stdout + failed.stderr
    assert "the logs named above lie in own/my\n" in said
    named = re.search(r"logs/\S+", said)
    assert named
    assert "wrong.txt" in (clone / "own/my" / named[0]).read_text()
