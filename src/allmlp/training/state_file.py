"""The description of a saved state, `state-<step>.json`: what belongs to it, with digests. Imports no torch.

step, seconds   of the training so far
sha256          of the weights and the optimiser, in `state-<step>.safetensors`
kept            file -> sha256 of the weights kept before
log             sha256 of the rows before; descriptions of an earlier release lack it and the next one
digest          of all these
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from allmlp.common import formats, paths
from allmlp.common.errors import UserError

LOG = "log.jsonl"
BACK = "going back to an earlier step."


def describe_checkpoint(step: int, weights: str, seconds: float, kept: dict[str, str], log: bytes) -> dict[str, Any]:
    """The description. `weights`: their sha256; `log`: the running log."""
    said = {"step": step, "sha256": weights, "seconds": seconds, "kept": kept, "log": _digest(rows(log, step))}
    return {**said, "digest": _digest(_text(said))}


def rows(log: bytes, step: int) -> bytes:
    """The rows of a running log before update number `step`."""
    return b"".join(log.splitlines(keepends=True)[:step])


def read(folder: Path, step: int) -> dict[str, Any]:
    """The description of a state. UserError if it is damaged, or the log, or weights kept before."""
    file, log = folder / f"state-{step}.json", folder / LOG
    found: dict[str, Any] = formats.read_json(file, BACK)
    formats.check_format("state", file, found)
    if not is_intact(found):
        raise UserError(f"{file}: is damaged; {BACK}")
    if not has_log(found, log.read_bytes() if log.is_file() else b""):
        raise UserError(f"{log}: is damaged before step {step}; {BACK}")
    for name, digest in found["kept"].items():
        if not (folder / name).is_file() or paths.file_sha256(folder / name) != digest:
            raise UserError(f"{folder / name}: is missing or damaged; {BACK}")
    return found


def is_intact(found: Any) -> bool:
    """Is a description as it was written?"""
    keys = {"step", "sha256", "seconds", "kept"}
    if not isinstance(found, dict) or not keys <= found.keys():
        return False
    said = {key: value for key, value in found.items() if key != "digest"}
    return found.get("digest", _digest(_text(said))) == _digest(_text(said))


def has_log(found: dict[str, Any], log: bytes) -> bool:
    """Has the log all rows before the state, as they were written?"""
    before = rows(log, found["step"])
    return before.count(b"\n") == found["step"] and found.get("log", _digest(before)) == _digest(before)


def _text(said: dict[str, Any]) -> bytes:
    return json.dumps(said, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
