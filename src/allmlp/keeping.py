"""Complete runs and tokens handed to DVC, one pointer each.

One pointer per run, never one for a folder of runs: two clones that each keep a run then merge without conflict.
"""

import hashlib
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import yaml

from allmlp.errors import UserError, without_secrets
from allmlp.whole import alive, write_whole

CHECKPOINTS, TOKENS, LOCK = Path("results/checkpoints"), Path("results/tokens"), Path("dvc.lock")
RWLOCK = Path(".dvc/tmp/rwlock")  # {read: {path: [{pid, cmd}]}, write: {path: {pid, cmd}}}
SUPPORT = "dvc.org/support"  # in the last line of DVC's faults


def pointed_to() -> dict[Path, str]:
    """What the pointers record: a folder of checkpoints or tokens -> MD5."""
    found = {}
    for pointer in sorted([*CHECKPOINTS.glob("*.dvc"), *TOKENS.glob("*.dvc")]):
        for out in yaml.safe_load(pointer.read_text(encoding="utf-8"))["outs"]:
            found[pointer.parent / out["path"]] = out["md5"]
    return found


def locked() -> dict[Path, str]:
    """What dvc.lock records of the last mile: the results that it read and made -> MD5."""
    stages = yaml.safe_load(LOCK.read_text(encoding="utf-8"))["stages"] if LOCK.is_file() else {}
    entries = (entry for stage in stages.values() for entry in (*stage.get("deps", []), *stage["outs"]))
    return {Path(entry["path"]): entry["md5"] for entry in entries if entry["path"].startswith("results/")}


def md5(path: Path) -> str:
    """DVC's MD5 of a file; of a folder, the MD5 of the sorted list of its files with theirs."""
    if path.is_file():
        return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    files = sorted((file.relative_to(path).parts, file) for file in path.rglob("*") if file.is_file())
    listed = [{"md5": md5(file), "relpath": "/".join(parts)} for parts, file in files]
    text = json.dumps(listed, sort_keys=True)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + ".dir"


def dvc(*words: str) -> None:
    """Run DVC of this environment. Its output is shown only if it fails, warnings of its stages always.

    Without --quiet, with which it does not say why it fails.
    """
    _forget_zombies()
    done = subprocess.run([sys.executable, "-m", "dvc", *words], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"dvc {' '.join(words[:1])} failed:\n{fault(done)}")
    print(without_secrets(done.stderr), end="", file=sys.stderr)


def _forget_zombies() -> None:
    """Strike ended processes out of DVC's locks: DVC takes one that nobody has asked how it ended for alive."""
    with suppress(FileNotFoundError, ValueError):
        named = json.loads(RWLOCK.read_text(encoding="utf-8"))
        kept = {
            "write": {path: one for path, one in named.get("write", {}).items() if alive(one["pid"])},
            "read": {path: [one for one in of if alive(one["pid"])] for path, of in named.get("read", {}).items()},
        }
        if kept != named:
            write_whole(RWLOCK, json.dumps(kept))


def fault(done: subprocess.CompletedProcess[str]) -> str:
    """What DVC says of its failure, without passwords."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    said = "\n".join(line for line in lines if line and SUPPORT not in line)
    return without_secrets(said) or f"it ended with {done.returncode}, without a word"


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
    dvc("add", *chosen)
    if push:
        dvc("push", *(f"{folder}.dvc" for folder in chosen))
    pushed = ", and pushed them" if push else "; `dvc push` sends them to the remote"
    print(f"kept {len(chosen)} folders, a pointer each{pushed}")
