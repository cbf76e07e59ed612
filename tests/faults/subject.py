"""The subject of the faults: a study of two trainings of seconds, with a snapshot of its folder before each step."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.conftest import PROJECT
from tests.faults.forks import Ended, carried_out

FILES = {
    "params.yaml": "scale: smoke\ndevice: null\nrecorded: []\n",
    "corpora.lock": "{}\n",
    "config/corpora.yaml": """
corpora:
  words: {source: local, files: [words.txt], separator: "<|end|>", tokenizer: {kind: bytes}}
""",
    "config/copying/study.yaml": """
studies:
  copying:
    d_model: 16
    n_blocks: 1
    models: {transformer: {hyperparameters: {n_heads: 1}}}
    optimiser: &rate {learning_rate: 2e-3, clip: 1.0, warmup_steps: 2}
    text: {corpus: words, context: 16, d_model: 16, n_blocks: 1, batch_size: 4, validation_tokens: 64,
           models: {linear-causal-rn: {}}, optimiser: *rate}
""",
    "config/copying/smoke.yaml": """
studies:
  copying: {seeds: [0], string_lengths: [4], steps: 8, batch_size: 4, text: {seeds: [0], steps: 8}}
""",
    "words.txt": "".join(f"Story {n}: a cat sat on mat {n * n}.<|end|>" for n in range(200)),
}
SOURCES = ("CITATION.cff", "Snakefile", "dvc.yaml", "paper", "rules.lock")
COMMANDS = {
    "tokenize": ("tokenize", "words"),
    "train": ("train", "{strings}", "{text}"),
    "measure": ("measure", "{strings}", "{text}"),
    "select": ("select",),
    "judge": ("judge",),
    "power": ("power", "--write"),
    "tabulate": ("tabulate",),
    "draw": ("draw", "copying"),
    "render": ("render",),
}
STEPS = tuple(COMMANDS)
MADE = ("selected.json", "claims.json", "power.json", "tables", "figures/copying", "report.html")


@dataclass(frozen=True, eq=False)
class Subject:
    """`folder`/before/<step> is the project before that step, `folder`/after/<step> after it."""

    folder: Path
    runs: dict[str, str]  # strings, text -> the run's id

    def words(self, step: str) -> list[str]:
        """The command of a step, as a user types it after `allmlp`."""
        return [word.format(**self.runs) for word in COMMANDS[step]]

    def before(self, step: str) -> Path:
        """The project before a step."""
        return self.folder / "before" / step

    def is_later(self, step: str) -> Path:
        """The project after it."""
        return self.folder / "after" / step


def write_sources(folder: Path) -> None:
    """A project's folder with the parameters and the text of the subject, and this project's templates and rules."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    for name in SOURCES:
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)


def make(folder: Path, steps: Sequence[str] = STEPS) -> Subject:
    """The subject up to the last of these steps. Imports what the steps use, so that forks need not."""
    here = folder / "here"
    write_sources(here)
    subject = Subject(folder, _runs(here))
    for step in steps:  # the results of one run first: the older good state, which a fault must not harm
        _must(here, [word for word in subject.words(step) if word != subject.runs["text"]], warm=True)
    shutil.rmtree(here / "results/tokens")
    (here / "corpora.lock").write_text(FILES["corpora.lock"], encoding="utf-8")
    for step in steps:
        shutil.copytree(here, subject.before(step))
        _must(here, subject.words(step))
        shutil.copytree(here, subject.is_later(step))
    return subject


def lock(folder: Path) -> None:
    """Record the last mile's results in dvc.lock, as DVC does."""
    from allmlp.common.dvc import md5

    outs = [{"path": f"results/{name}", "md5": md5(folder / "results" / name)} for name in MADE]
    (folder / "dvc.lock").write_text(yaml.safe_dump({"stages": {"all": {"outs": outs}}}), encoding="utf-8")


def _runs(here: Path) -> dict[str, str]:
    from allmlp.plan.plan import load_plan

    before = Path.cwd()
    os.chdir(here)
    try:
        return {run.labels["part"].replace("comparison", "strings"): run.id for run in load_plan().runs if run.steps}
    finally:
        os.chdir(before)


def _must(here: Path, words: list[str], warm: bool = False) -> Ended:
    ended = carried_out(here, words, warm=warm)
    assert ended.status == 0, f"{words}: {ended.said}"
    return ended


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a project that its steps write, by its name. Of durations, and of a cache, only the names.

    Without the lines on how busy jobs were: a job that is repeated adds some.
    """
    found = {}
    files = (path for place in ("results", "work") for path in (folder / place).rglob("*") if path.is_file())
    for path in (path for path in files if path.name != "busy.jsonl"):
        is_equal = path.parent.name != "timings" and path.name != "sources.json"
        found[str(path.relative_to(folder))] = path.read_bytes() if is_equal else b""
    beside = (path for path in folder.iterdir() if path.is_file() and path.name not in ("dvc.lock", "bundle"))
    return found | {path.name: path.read_bytes() for path in beside}
