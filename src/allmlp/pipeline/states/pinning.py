"""`allmlp pin NAME`: a name for a state, given only where everything is committed, measured and in the remote."""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pandas as pd

from allmlp.common import atomic, paths
from allmlp.common.dvc import fault
from allmlp.common.errors import UserError
from allmlp.common.schema import NAME, OF_NAMES
from allmlp.common.terminal import align_columns
from allmlp.judging import claims_json
from allmlp.pipeline.states import repository
from allmlp.plan.plan import Plan
from allmlp.report.tabulate import TABLES
from allmlp.spec import catalogue

PINS = Path("results/PINS.md")
HEAD = """# Pinned states

| state | commit | pinned | verdicts of the papers' claims | hours of training |
| --- | --- | --- | --- | --- |
"""
NOWHERE = "neither locally nor on remote"  # DVC names such a folder in a warning alone, not among the states
SIGN = "allmlp pin: "  # begins the message of a tag that is a pin


def pin(plan: Plan, name: str) -> None:
    """Tag HEAD, and add a row to results/PINS.md. UserError with everything that stands against it."""
    if not NAME.fullmatch(name):
        raise UserError(f"{name!r}: a state's name {OF_NAMES}.")
    atomic.clear(PINS.parent)  # of a call that was killed
    if against := [*_uncommitted_files(), *_missing_measurements(plan), *_missing_in_remote()]:
        raise UserError(f"{name}: not pinned.\n" + "\n".join(f"- {reason}" for reason in against))
    commit = repository.commit("HEAD")
    verdicts = claims_json.counts(c for c in claims_json.read()["claims"] if not catalogue.is_project_claim(c["id"]))
    summary = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    hours = pd.read_csv(TABLES / "runs.csv").drop_duplicates("run")["seconds"].sum() / 3600
    if not _is_pinned(name, commit):
        repository.git("tag", "--annotate", f"--message={SIGN}{summary}", name, commit)
    before = PINS.read_text(encoding="utf-8") if PINS.is_file() else HEAD
    row = f"| {name} | {commit[:12]} | {date.today()} | {summary} | {hours:,.1f} |\n"
    paths.write_atomically(PINS, before + row)
    print(f"pinned {commit[:12]} as {name}. Commit {PINS}, and `git push origin {name}` shares the name.")


def _is_pinned(name: str, commit: str) -> bool:
    """Did a call that was killed before it wrote the row tag this commit?"""
    form = "--format=%(*objectname)%09%(contents:subject)"
    tagged = repository.git("for-each-ref", f"refs/tags/{name}", form).strip()
    return tagged.startswith(f"{commit}\t{SIGN}")


def _uncommitted_files() -> list[str]:
    files = repository.git("status", "--porcelain").splitlines()
    return [f"not committed: {', '.join(line[3:] for line in files[:5])}{' ...' * (len(files) > 5)}"] if files else []


def _missing_measurements(plan: Plan) -> list[str]:
    """Measurements that the chosen scale lacks, and a report of other ones."""
    found = []
    if missing := len(plan.unstored_files):
        found.append(f"{missing} measurements of scale {plan.scale} are missing: run snakemake")
    if plan.has_stale_report():
        found.append("the report is of other measurements: run `allmlp report`")
    return found


def _missing_in_remote() -> list[str]:
    """Kept checkpoints and tokens that the default remote lacks."""
    command = [sys.executable, "-m", "dvc", "status", "--cloud", "--json"]
    done = subprocess.run(command, cwd=paths.project(), capture_output=True, text=True)
    if done.returncode:
        return [f"the remote cannot be asked: {fault(done).splitlines()[-1]}"]
    new = [file for file, state in json.loads(done.stdout or "{}").items() if state == "new"]
    found = [f"{len(new)} kept files are not in the remote: `dvc push`"] if new else []
    if nowhere := done.stderr.count(NOWHERE):
        found.append(f"{nowhere} kept folders are neither here nor in the remote: `dvc push` where they are")
    return found


def pins() -> None:
    """Print the pinned states of this repository: name, commit, day, verdicts."""
    form = "%(refname:short)%09%(*objectname:short)%09%(creatordate:short)%09%(contents:subject)"
    tags = repository.git("for-each-ref", "refs/tags", f"--format={form}", "--sort=creatordate").splitlines()
    rows = [line.replace(SIGN, "").split("\t") for line in tags if f"\t{SIGN}" in line]
    print("\n".join(align_columns(rows, left=4)) if rows else "no pinned state; `allmlp pin NAME` pins this one")
