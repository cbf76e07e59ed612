"""Complete runs and tokens handed to DVC, one pointer each.

One pointer per run, never one for a folder of runs: two clones that each keep a run then merge without conflict.

A pointer belongs to whoever has a remote with its bytes. Those of published models name a remote that lies in git
itself, results/models, so that every clone can pull what its pointers stand for.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from allmlp.common.atomic import is_alive, temporary_path, write_atomically
from allmlp.common.errors import UserError, redact_secrets
from allmlp.common.paths import TOKENIZERS

CHECKPOINTS, TOKENS, LOCK = Path("results/checkpoints"), Path("results/tokens"), Path("dvc.lock")
RWLOCK = Path(".dvc/tmp/rwlock")  # {read: {path: [{pid, cmd}]}, write: {path: {pid, cmd}}}
SUPPORT = "dvc.org/support"  # in the last line of DVC's faults
MODELS, PUBLISHED = "models", Path("results/models")  # the remote of published models in .dvc/config, and its folder
LARGEST = 10_000_000  # bytes of all published models: git keeps each version for ever
OF_TOKENIZER = ("meta.json", "tokenizer.*")


def pointers() -> dict[Path, dict[str, Any]]:
    """What the pointers record: a folder of checkpoints, tokens or a tokenizer -> its entry, with `md5` and `size`."""
    found = {}
    for pointer in sorted(file for place in (CHECKPOINTS, TOKENS, TOKENIZERS) for file in place.glob("*.dvc")):
        for out in yaml.safe_load(pointer.read_text(encoding="utf-8"))["outs"]:
            found[pointer.parent / out["path"]] = out
    return found


def is_published(entry: dict[str, Any]) -> bool:
    """Does a pointer name the remote in git?"""
    return entry.get("remote") == MODELS


def pointer_digests() -> dict[Path, str]:
    """What the pointers record: a folder -> MD5."""
    return {folder: entry["md5"] for folder, entry in pointers().items()}


def locked_digests() -> dict[Path, str]:
    """What dvc.lock records of the last mile: the results that it read and made -> MD5."""
    return _read_lock() or {}


def _read_lock() -> dict[Path, str] | None:
    """The same; None for a lock that a killed DVC has cut: it empties the file before it writes it."""
    try:
        stages = yaml.safe_load(LOCK.read_text(encoding="utf-8"))["stages"] if LOCK.is_file() else {}
        entries = [entry for stage in stages.values() for entry in (*stage.get("deps", []), *stage["outs"])]
        return {Path(entry["path"]): entry["md5"] for entry in entries if entry["path"].startswith("results/")}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        return None


def md5(path: Path) -> str:
    """DVC's MD5 of a file; of a folder, the MD5 of the sorted list of its files with theirs."""
    if path.is_file():
        return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    files = sorted((file.relative_to(path).parts, file) for file in path.rglob("*") if file.is_file())
    listed = [{"md5": md5(file), "relpath": "/".join(parts)} for parts, file in files]
    text = json.dumps(listed, sort_keys=True)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + ".dir"


def run_dvc(*words: str) -> None:
    """Run DVC of this environment. Its output is shown only if it fails, warnings of its stages always.

    Without --quiet, with which it does not say why it fails.
    """
    _mend_locks()
    done = subprocess.run([sys.executable, "-m", "dvc", *words], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"dvc {' '.join(words[:1])} failed:\n{fault(done)}")
    print(redact_secrets(done.stderr), end="", file=sys.stderr)


def _mend_locks() -> None:
    """Mend what a killed DVC leaves: zombies that its locks still name, and a cut dvc.lock.

    Without dvc.lock DVC runs every stage, and a stage makes what changed.
    """
    if _read_lock() is None:
        LOCK.unlink()
    with suppress(FileNotFoundError, ValueError):
        named = json.loads(RWLOCK.read_text(encoding="utf-8"))
        kept = {
            "write": {path: one for path, one in named.get("write", {}).items() if is_alive(one["pid"])},
            "read": {path: [one for one in of if is_alive(one["pid"])] for path, of in named.get("read", {}).items()},
        }
        if kept != named:
            write_atomically(RWLOCK, json.dumps(kept))


def fault(done: subprocess.CompletedProcess[str]) -> str:
    """What DVC says of its failure, without passwords."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    said = "\n".join(line for line in lines if line and SUPPORT not in line)
    return redact_secrets(said) or f"it ended with {done.returncode}, without a word"


def complete_folders() -> list[Path]:
    """Folders of complete runs and of tokens on this machine."""
    runs = [path.parent for path in sorted(CHECKPOINTS.glob("*/final.safetensors"))]
    return runs + [path.parent for path in sorted(TOKENS.glob("*/meta.json"))]


def keep(names: list[str] | None, push: bool, of_git: Callable[[], Collection[str]]) -> None:
    """`dvc add` complete runs and tokens: those named, or those of git's plan, `of_git`.

    Nothing of a user's own goes to a remote unnamed: a text can be read from its tokens. Existing pointers of unchanged
    data stay as they are.
    """
    folders = complete_folders()
    for name in set(names or []) - {folder.name for folder in folders}:
        raise UserError(f"{name}: no complete run or tokens of that name here. `allmlp plan` says what exists.")
    wanted = names or of_git()
    chosen = [str(folder) for folder in folders if folder.name in wanted]
    left = "" if names else _leftover_note([folder for folder in folders if folder.name not in wanted])
    own = set(names) - set(of_git()) if names else set()
    if readable := [folder.name for folder in folders if folder.parent == TOKENS and folder.name in own]:
        left = f" From tokens the text can be read: {', '.join(readable)}."
    if not chosen:
        raise UserError(
            f"nothing to keep: {CHECKPOINTS} and {TOKENS} have nothing complete of git's plan. "
            f"Run snakemake or `make reproduce` first.{left}"
        )
    before = {pointer: pointer.read_bytes() for pointer in map(_pointer, chosen) if pointer.is_file()}
    _add(chosen)
    if push:
        run_dvc("push", *(f"{folder}.dvc" for folder in chosen))
    pushed = ", and pushed them" if push else "; `dvc push` sends them to the remote"
    print(f"kept {len(chosen)} folders, a pointer each{pushed}.{left}")
    if new := [pointer for pointer in map(_pointer, chosen) if before.get(pointer) != pointer.read_bytes()]:
        print(f"New or changed pointers: {len(new)}, such as {new[0]}. Commit them, or no other clone can pull.")


def _add(folders: Collection[str]) -> None:
    run_dvc("add", *folders)
    for folder in folders:
        _disown(Path(folder))


def _disown(folder: Path) -> None:
    """Let DVC not take a folder for one that it made: its checkout removes those that no pointer names any more.

    It knows them by the times of their files, so the smallest one gets a second older. The bytes are the same.
    """
    file = min((path for path in folder.rglob("*") if path.is_file()), key=lambda path: (path.stat().st_size, path))
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns - 10**9))


def undo(names: list[str]) -> None:
    """Take back the pointers of these runs and tokens. What lies here stays, whatever DVC does next."""
    there, pointed = {folder.name: folder for folder in complete_folders()}, pointers()
    of_name = {folder.name: folder for folder, entry in pointed.items() if not is_published(entry)}
    if published := [folder for folder, entry in pointed.items() if is_published(entry) and folder.name in names]:
        raise UserError(f"{published[0]}: is published: every clone pulls it. `git rm {published[0]}.dvc` ends that.")
    for name in names:
        if name not in there and name not in of_name:
            raise UserError(f"{name}: no pointer, complete run or tokens of that name here. Give the whole name.")
    if taken := [f"{of_name[name]}.dvc" for name in names if name in of_name]:
        for pointer in taken:
            run_dvc("remove", pointer)
    for name in set(names) & there.keys():
        _disown(there[name])
    print(f"took back {len(taken)} pointers. The runs and tokens stay here; what was pushed stays in the remote.")
    if taken:
        print("If the pointers were committed, commit that they are gone.")


def _pointer(folder: str) -> Path:
    return Path(f"{folder}.dvc")


def _leftover_note(folders: list[Path]) -> str:
    """What is not of git's plan, for the last line."""
    if not folders:
        return ""
    return (
        f" Left out: {len(folders)} of your own runs, texts and trials, such as {folders[0].name}. Name those to keep; "
        "whoever reads the remote can read a text from its tokens."
    )


def publish(names: list[str]) -> None:
    """`dvc add` these runs with their tokenizers, and push them to the remote in git. UserError if that grows too
    large."""
    there = {folder.name: folder for folder in complete_folders() if folder.parent == CHECKPOINTS}
    if absent := [name for name in names if name not in there]:
        raise UserError(f"{absent[0]}: no complete run of that name here. `allmlp train {absent[0]}` makes it.")
    chosen = [there[name] for name in names]
    chosen += sorted({_tokenizer(tokens) for folder in chosen if (tokens := _training_tokens(folder))})
    before = {folder: entry["size"] for folder, entry in pointers().items() if is_published(entry)}
    size = sum((before | {folder: _size(folder) for folder in chosen}).values())
    if size > LARGEST:
        raise UserError(f"{size / 1e6:.1f} MB of published models: git takes at most {LARGEST / 1e6:.0f} MB of them.")
    _add([str(folder) for folder in chosen])
    for folder in chosen:
        _name_remote(Path(f"{folder}.dvc"))
    run_dvc("push", *(f"{folder}.dvc" for folder in chosen))
    print(f"published {len(chosen)} folders, {size / 1e6:.1f} MB in all. Commit {PUBLISHED} and the pointers.")


def _training_tokens(folder: Path) -> str | None:
    """The tokens that a run was trained on; None without text."""
    task = json.loads((folder / "run.json").read_text(encoding="utf-8"))["run"]["task"]
    return task[2] if len(task) > 2 else None


def _tokenizer(tokens: str) -> Path:
    """A folder of TOKENIZERS with what these tokens have besides text. UserError where neither is here."""
    target, source = TOKENIZERS / tokens, TOKENS / tokens
    if not target.is_dir():
        if not source.is_dir():
            raise UserError(f"{source}: is not here; `allmlp tokenize {tokens.rpartition('-')[0]}` makes it.")
        beside = temporary_path(target)
        beside.mkdir()
        for file in (file for pattern in OF_TOKENIZER for file in source.glob(pattern)):
            shutil.copyfile(file, beside / file.name)
        beside.rename(target)
    return target


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _name_remote(pointer: Path) -> None:
    """Let a pointer name the remote in git; DVC keeps the name when the folder is added again."""
    content = yaml.safe_load(pointer.read_text(encoding="utf-8"))
    for out in content["outs"]:
        out["remote"] = MODELS
    pointer.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
