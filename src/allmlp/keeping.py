"""Bytes: complete runs and tokens handed to DVC, one pointer each, and what is no longer named removed.

One pointer per run, never one for a folder of runs: two clones that each keep a run then merge without conflict.
"""

import json
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
    """Run DVC of this environment; its own words are shown only when it fails, warnings of its stages always."""
    done = subprocess.run([sys.executable, "-m", "dvc", *words], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"dvc {' '.join(words[:1])} failed:\n{done.stderr.strip() or done.stdout.strip()}")
    print(done.stderr, end="", file=sys.stderr)


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
    """What was made again under a newer recipe: old measurements, and old checkpoints that a laptop can make.

    Everything else stays, whether a plan names it or not: a GPU or a cluster may have made it once. So does the parent
    of a run that stays.
    """
    runs = [run for of_study in plan.by_scale.values() for runs in of_study.values() for run in runs]
    current = {
        (run.settings_digest, m): Path(f) for run in runs for m, f in run.measurements.items() if Path(f).is_file()
    }
    old = []
    for path in sorted(MEASUREMENTS.rglob("*.parquet")):
        about = read(path)[1]
        newer = current.get((about.get("settings", ""), about.get("measure", "")))
        if newer is not None and newer != path:
            old.append(path)
    small = {
        run.settings_digest: run.id
        for scale in ("smoke", "laptop")
        for of in plan.by_scale[scale].values()
        for run in of
    }
    said = {
        path.parent: json.loads(path.read_text(encoding="utf-8")) for path in sorted(CHECKPOINTS.glob("*/run.json"))
    }
    newer_ids = {folder: small.get(one["settings"], folder.name) for folder, one in said.items()}
    again = {folder for folder, new in newer_ids.items() if new != folder.name and (CHECKPOINTS / new).is_dir()}
    needed = {one["run"]["parent"] for folder, one in said.items() if folder not in again}  # by checkpoints that stay
    for folder in sorted(folder for folder in again if folder.name not in needed):
        old += [item for item in (folder, folder.with_name(f"{folder.name}.dvc")) if item.exists()]
    return old


def prune(plan: Plan, apply: bool) -> None:
    """Say what is superseded; delete it only if told to."""
    old = superseded(plan)
    for path in old:
        print(path)
        if apply:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    print(f"{len(old)} {'removed' if apply else 'would be removed; --apply removes them'}")
