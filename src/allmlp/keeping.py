"""Complete runs and tokens handed to DVC, one pointer each.

One pointer per run, never one for a folder of runs: two clones that each keep a run then merge without conflict.
"""

import subprocess
import sys
from pathlib import Path

from allmlp.errors import UserError

CHECKPOINTS, TOKENS = Path("results/checkpoints"), Path("results/tokens")


def dvc(*words: str) -> None:
    """Run DVC of this environment. Its output is shown only if it fails, warnings of its stages always."""
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
            f"nothing to keep: {CHECKPOINTS} and {TOKENS} have nothing complete. "
            "Run snakemake or `make reproduce` first."
        )
    dvc("add", "--quiet", *chosen)
    if push:
        dvc("push", "--quiet", *(f"{folder}.dvc" for folder in chosen))
    print(
        f"kept {len(chosen)} folders, a pointer each"
        + (", and pushed them" if push else "; `dvc push` sends them to the remote")
    )
