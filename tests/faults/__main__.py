"""All faults of the catalogue, each with some seeds: `make faults`. Writes docs/faults.md from what it found.

python -m tests.faults [KIND ...]     only kinds with these words in their name; writes nothing
"""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.conftest import PROJECT
from tests.faults import catalogue, pipelines, subject, trials
from tests.faults.trials import Row

PAGE = PROJECT / "docs/faults.md"
CORES, KILLS = 2, 4  # processes; kills of Snakemake, and of DVC
HEAD = """# Faults

`make faults` harms a small study while it is tokenized, trained, measured and reported, and writes this page from what
it found. A fault is survived if the command under it

- ended well with the same bytes as without the fault, or
- was killed, or ended with one message that names the file and the way out, and every finished file is as before or as
  after the command;

and if the same command again ended well with the same bytes, with no temporary file or process left. A flipped bit is
mended first as the message says. Seeds are 0, 1, ... for each kind and step.

`python -m tests.faults WORD` runs the kinds with that word again.

| fault | steps | injected | the same bytes at once | one message first | killed first | lost |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
"""


def main() -> None:
    """Run the catalogue, print every trial, and exit with 1 if one was lost."""
    words = sys.argv[1:]
    chosen = [fault for fault in catalogue.CATALOGUE if not words or any(word in fault.kind for word in words)]
    folder = Path(tempfile.mkdtemp(prefix="allmlp-faults-"))
    try:
        rows = list(_carried_out(subject.make(folder), chosen))
        rows += [] if words else _shown(pipelines.rows(folder, KILLS))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lost = [row for row in rows if row.lost]
    for row in lost:
        print(f"\nlost: {row.kind}, {row.step}, seed {row.seed}\n{row.lost}", flush=True)
    print(f"{len(rows)} faults injected, {len(rows) - len(lost)} survived, {len(lost)} lost", flush=True)
    if not words:
        PAGE.write_text(_page(rows), encoding="utf-8")
    raise SystemExit(1 if lost else 0)


def _carried_out(made: subject.Subject, chosen: list[catalogue.Fault]) -> Iterator[Row]:
    for step in sorted({step for fault in chosen for step in fault.steps}):
        trials.measured(made, step)  # once, for all forks
    jobs = [(fault, step, seed) for fault in chosen for step in fault.steps for seed in range(fault.seeds)]
    _work.append(lambda number: _one(made, *jobs[number]))
    with ProcessPoolExecutor(CORES, mp_context=get_context("fork")) as pool:
        yield from _shown(pool.map(_numbered, range(len(jobs))))


def _shown(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        print(f"{row.kind}, {row.step}, seed {row.seed}: {'LOST' if row.lost else row.how}", flush=True)
        yield row


_work: list[Callable[[int], Row]] = []  # for the forks, which could not be given the functions of the catalogue


def _numbered(number: int) -> Row:
    return _work[-1](number)


def _one(made: subject.Subject, fault: catalogue.Fault, step: str, seed: int) -> Row:
    folder = Path(tempfile.mkdtemp(dir=made.folder, prefix="trial-"))
    try:
        return trials.carry_out(made, fault.kind, fault.put, step, seed, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _page(rows: list[Row]) -> str:
    here = [row for row in rows if not row.how.startswith(trials.NOT_POSSIBLE)]
    lines = []
    for kind in dict.fromkeys(row.kind for row in here):
        of = [row for row in here if row.kind == kind]
        steps = tuple(dict.fromkeys(row.step for row in of))
        lines.append(_line(kind, "all" if steps == subject.STEPS else ", ".join(steps), of))
    return HEAD + "".join([*lines, _line("all", "", here)])


def _line(kind: str, steps: str, rows: list[Row]) -> str:
    how = Counter(row.how for row in rows if not row.lost)
    counts = [len(rows), how["unharmed"], how["message"], how["killed"], sum(bool(row.lost) for row in rows)]
    return f"| {kind} | {steps} | {' | '.join(map(str, counts))} |\n"


if __name__ == "__main__":
    main()
