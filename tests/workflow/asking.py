"""Questions that the tests ask of Snakemake and DVC."""

import re
from pathlib import Path

from tests.conftest import call


def planned(clone: Path, *words: str) -> list[str]:
    """The jobs that `snakemake -n` would run, by their rule's name; empty where there is nothing to be done."""
    said = call(clone, "snakemake", "-n", *words)
    text = said.stdout + said.stderr
    if "Nothing to be done" in text:
        return []
    table = text[text.index("Job stats:") :].split("\n\n")[0]
    return sorted(
        name
        for name, count in re.findall(r"^(\w+)\s+(\d+)$", table, re.MULTILINE)
        if name != "total"
        for _ in range(int(count))
    )


def jobs(clone: Path, *words: str) -> list[str]:
    """What `snakemake -n` would train and measure: the verb and the batch, without its digest."""
    said = call(clone, "snakemake", "-n", *words).stdout
    return sorted(re.findall(r"^Job \d+: ((?:train|measure) \S+)-[0-9a-f]{8}$", said, re.MULTILINE))


def trained(clone: Path, **changes: str) -> list[str]:
    """What Snakemake makes of the batches of a clone's plan, in their order."""
    of = f"load_plan(changes={changes}).batches.values()"
    asked = f"from allmlp.plan.plan import load_plan; print(*(batch.training_manifest for batch in {of}))"
    return call(clone, "python", "-c", asked).stdout.split()


def up_to_date(clone: Path) -> bool:
    """Does `dvc repro` have nothing to do?"""
    said = call(clone, "dvc", "repro")
    return "Data and pipelines are up to date" in said.stdout + said.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
