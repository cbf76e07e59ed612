"""Bytes: complete runs and tokens handed to DVC, one pointer each, and what is no longer named removed.

One pointer per run, never one for a folder of runs: two clones that each keep a run then merge without conflict.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from allmlp.errors import UserError
from allmlp.measuring import read
from allmlp.plan import Plan

CHECKPOINTS, TOKENS, MEASUREMENTS = (
    Path("results/checkpoints"),
    Path("results/tokens"),
    Path("results/measurements"),
)


def dvc(*words: str) -> None:
    """Run DVC of this environment; its own words are shown only when it fails."""
    done = subprocess.run([sys.executable, "-m", "dvc", *words], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"dvc {' '.join(words[:1])} failed:\n{done.stderr.strip() or done.stdout.strip()}")


def complete() -> list[Path]:
    """Folders of complete runs and of tokens on this machine."""
    runs = [path.parent for path in sorted(CHECKPOINTS.glob("*/final.safetensors"))]
    return runs + [path.parent for path in sorted(TOKENS.glob("*/meta.json"))]


def keep(names: list[str] | None, push: bool) -> None:
    """`dvc add` complete runs and tokens: all, or those named. Existing pointers of unchanged data stay as they are."""
    folders = complete()
    for name in set(names or []) - {folder.name for folder in folders}:
        raise UserError(f"{name}: no complete run or tokens of that name here. `allmlp plan` says what exists.")
    chosen = [str(folder) for folder in folders if not names or folder.name in names]
    if not chosen:
        raise UserError(
            f"nothing to keep: {CHECKPOINTS} and {TOKENS} hold nothing complete. "
            "Run snakemake or `make reproduce` first."
        )
    dvc("add", "--quiet", *chosen)
    if push:
        dvc("push", "--quiet", *(f"{folder}.dvc" for folder in chosen))
    print(
        f"kept {len(chosen)} folders, a pointer each"
        + (", and pushed them" if push else "; `dvc push` sends them to the remote")
    )


def superseded(plan: Plan) -> list[Path]:
    """What nothing names any more: checkpoints of no plan, and measurements taken again under a newer recipe.

    A measurement that has not been taken again stays: a GPU or a cluster may have made it once.
    """
    runs = [run for of_study in plan.by_scale.values() for runs in of_study.values() for run in runs]
    ids = {run.id for run in runs}
    current = {
        (run.settings_digest, m): Path(f) for run in runs for m, f in run.measurements.items() if Path(f).is_file()
    }
    old = [
        path
        for path in sorted(CHECKPOINTS.glob("*"))
        if path.name != ".gitignore" and path.name.removesuffix(".dvc") not in ids
    ]
    for path in sorted(MEASUREMENTS.rglob("*.parquet")):
        about = read(path)[1]
        newer = current.get((about.get("settings", ""), about.get("measure", "")))
        if newer is not None and newer != path:
            old.append(path)
    return old


def prune(plan: Plan, apply: bool) -> None:
    """Say what is superseded; delete it only if told to."""
    old = superseded(plan)
    for path in old:
        print(path)
        if apply:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    print(f"{len(old)} {'removed' if apply else 'would be removed; --apply removes them'}")
