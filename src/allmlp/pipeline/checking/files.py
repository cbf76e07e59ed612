"""Files that follow from the sources: answers for plans, first losses, identities of corpora, counts of words."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from allmlp.common import formats, git, paths
from allmlp.common.errors import UserError
from allmlp.data.corpora import identity
from allmlp.pipeline import json_schema
from allmlp.pipeline.checking.findings import FROM_GIT, Decisions, Discrepancy
from allmlp.plan import model_facts
from allmlp.plan.plan import load_plan
from allmlp.spec import catalogue

KNOWN = model_facts.FILE.name


def known_answers(fix: bool, _: Decisions) -> Iterator[Discrepancy]:
    """model_facts.json, so that planning imports no torch: answers that are missing, wrong by now, or not asked."""
    written, asked = model_facts.read(model_facts.FILE), answers()
    missing, unused = asked.keys() - written.keys(), written.keys() - asked.keys()
    differ = {key for key in asked.keys() & written.keys() if asked[key] != written[key]}
    if fix and (missing or unused or differ):
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(asked.items()))
        paths.write_atomically(model_facts.FILE, "{\n" + ",\n".join(lines) + "\n}\n")
    if missing:
        yield Discrepancy(
            KNOWN, f"{len(missing)} answers that plans ask for and that are not there", _names(missing), not fix
        )
    if differ:
        yield Discrepancy(KNOWN, "the class says otherwise by now", _names(differ), not fix)
    if unused:  # harmless: a smaller plan needs fewer
        yield Discrepancy(KNOWN, f"{len(unused)} answers that no plan asks for", _names(unused), open=False)


def answers() -> dict[str, object]:
    """The answers that git's plans of all scales need. Classes are asked again; counts come from model_facts.json if
    present."""
    memory = model_facts.restart()
    for of_study in load_plan().git_plan.runs_by_scale.values():
        for run in (run for runs in of_study.values() for run in runs):
            sequences = model_facts.batch(run.task, run.task_parameters).sequences
            model_facts.counts(run.architecture, run.hyperparameters, sequences)
    return memory.used


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    """The architectures and tasks that keys of model_facts.json belong to."""
    return tuple(sorted({key.split(":")[0] for key in keys}))


GOLDEN, TRAINS = Path("tests/numerics/golden.json"), "tests.numerics.golden"


def golden_losses(fix: bool, _: Decisions) -> Iterator[Discrepancy]:
    """golden.json: architectures without losses, or with those of another RECIPE. A module of the tests trains them."""
    root = paths.project()
    if not (root / GOLDEN).with_suffix(".py").is_file():
        return
    words = [sys.executable, "-m", TRAINS, *(["--fix"] if fix else [])]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"{GOLDEN}: {done.stderr.strip().splitlines()[-1]}")
    for what, names in json.loads(done.stdout.splitlines()[-1]).items():  # trainings print too
        yield Discrepancy(str(GOLDEN), what, tuple(names), open=not fix)


RETOKENIZE = "of other parameters or another RECIPE; `allmlp tokenize CORPUS` writes the new entry"


def corpora(fix: bool, _: Decisions) -> Iterator[Discrepancy]:
    """corpora.lock: entries that are gone or differ by now. `fix` removes them: their tokens are nobody's."""
    path, specs = paths.project() / identity.LOCK, load_plan().git_plan.parameters.corpora
    entries = formats.read_json(path, FROM_GIT.format(path.name)) if path.is_file() else {}
    gone = tuple(name for name in entries if name not in specs)
    there = (name for name in entries if name in specs)
    differ = tuple(name for name in there if entries[name]["spec"] != identity.describe_corpus(specs[name]))
    if fix and (gone or differ):
        kept = {name: entry for name, entry in entries.items() if name not in (*gone, *differ)}
        paths.write_atomically(path, json.dumps(kept, indent=1) + "\n")
    if gone:
        yield Discrepancy(identity.LOCK, "no corpus any more", gone, open=not fix)
    if differ:
        yield Discrepancy(identity.LOCK, RETOKENIZE, differ, open=not fix)


DVC, STUDIES = "dvc.yaml", re.compile(r"^( +foreach: )\[(.*)\]$", re.MULTILINE)


def drawn_studies(fix: bool, _: Decisions) -> Iterator[Discrepancy]:
    """dvc.yaml: its stage `draw` lists every study with runs, in the order of STUDIES."""
    path = paths.project() / DVC
    text, there = path.read_text(encoding="utf-8"), [study for study in catalogue.STUDIES if catalogue.has_runs(study)]
    if not (found := STUDIES.search(text)):
        raise UserError(f"{DVC}: the stage `draw` has no line `foreach: [...]`. Take the file from git.")
    if found[2].split(", ") != there:
        if fix:
            paths.write_atomically(path, STUDIES.sub(rf"\g<1>[{', '.join(there)}]", text))
        yield Discrepancy(DVC, f"the stage `draw` must list {', '.join(there)}", open=not fix)


def parameters(fix: bool, _: Decisions) -> Iterator[Discrepancy]:
    """config.schema.json: the keys that the models of the settings have."""
    path, text = paths.project() / json_schema.FILE, json_schema.text()
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    if fix:
        paths.write_atomically(path, text)
    yield Discrepancy(str(json_schema.FILE), "the settings have other keys by now", open=not fix)


def readme(fix: bool, _: Decisions) -> Iterator[Discrepancy]:
    """README.md: its numbers are those of the results."""
    from allmlp.report import readme as pieces  # imports pandas

    if (text := pieces.correction()) is not None:
        if fix:
            paths.write_atomically(pieces.README, text)
        yield Discrepancy(str(pieces.README), "its numbers are not those of the results", open=not fix)


WORDS = Path("tests/docs/words_to_avoid.json")
READ = ("README.md", "docs", "src", "config", "paper", "workflow", "Snakefile", "params.yaml", "dvc.yaml")
SHOWN = 5  # places


def words(fix: bool, _: Decisions) -> Iterator[Discrepancy]:
    """words_to_avoid.json: words that occur more often than the list says, and less often, to which `fix` lowers it."""
    path = paths.project() / WORDS
    if not path.is_file():
        return
    allowed: dict[str, int] = formats.read_json(path, FROM_GIT.format(WORDS))
    lines = list(_lines(paths.project()))
    places = {word: [place for place, line in lines if re.search(rf"\b{word}\b", line)] for word in allowed}
    fewer = tuple(word for word in allowed if len(places[word]) < allowed[word])
    if fix and fewer:
        lowered = {word: min(number, len(places[word])) for word, number in allowed.items()}
        paths.write_atomically(path, json.dumps(lowered, indent=1) + "\n")
    if fewer:
        yield Discrepancy(str(WORDS), "occurs less often than listed", fewer, open=not fix)
    for word in allowed:
        if len(places[word]) > allowed[word]:
            what = (
                f"{word!r} occurs {len(places[word])} times, listed are {allowed[word]}. Write it otherwise, here or in"
            )
            yield Discrepancy(str(WORDS), what, tuple(places[word][-SHOWN:]))


def _lines(root: Path) -> Iterator[tuple[str, str]]:
    """(file:line, text) of what people read: sources, pages and parameters, tracked or new; without git all."""
    for name in git.lines(root, "ls-files", "-co", "--exclude-standard", "--", *READ) or _files_without_git(root):
        if Path(name).suffix in {".md", ".py", ".yaml", ".j2", ".smk", ""} and (root / name).is_file():
            for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
                yield f"{name}:{number}", line


def _files_without_git(root: Path) -> list[str]:
    places = [root / name for name in READ]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    return sorted(str(file.relative_to(root)) for file in files if ".egg-info" not in str(file))
