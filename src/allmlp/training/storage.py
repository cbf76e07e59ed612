"""The files of a checkpoint: written whole or not at all, and read with their sha256 checked."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.measurements import safe_parquet

MANIFEST = "manifest.json"


def write_tensors(path: Path, tensors: dict[str, torch.Tensor]) -> str:
    """Write tensors (moved to the CPU) as safetensors. Returns the file's sha256."""
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    paths.write_atomically(path, content)
    return paths.file_sha256(path)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, a key per line; equal values give equal bytes."""
    paths.write_atomically(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def read_manifest(folder: Path, way_out: str = "Delete it and run again.") -> dict[str, str]:
    """file -> sha256, of a folder's checkpoints. UserError if it is broken or names a file elsewhere."""
    path = folder / MANIFEST
    found = formats.read("checkpoint", path, way_out)
    if not isinstance(found, dict) or any(Path(name).name != name for name in found):
        raise UserError(f"{path}: holds no names of files with their sha256. {way_out}")
    return found


def read_log(path: Path, way_out: str) -> pd.DataFrame:
    """A training log, a row per update. UserError, which ends with `way_out`, if it is damaged or far too large."""
    try:
        log: pd.DataFrame = safe_parquet.read(path).to_pandas()
    except (ValueError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read as a training log ({error}); {way_out}") from None
    return log


def read_tensors(path: Path, expected_sha256: str, way_out: str) -> dict[str, torch.Tensor]:
    """Read weights after checking their digest. `way_out` ends the message when they are damaged."""
    if not path.is_file():
        raise UserError(f"{path}: is missing; {way_out}")
    found = paths.file_sha256(path)
    if found != expected_sha256:
        raise UserError(f"{path}: sha256 is {found[:8]}.., {MANIFEST} says {expected_sha256[:8]}..; {way_out}")
    return load_tensors(path)


def load_tensors(path: Path) -> dict[str, torch.Tensor]:
    """All tensors of a safetensors file, which holds no code. UserError for a file of another kind, not opened."""
    if path.suffix != ".safetensors":
        raise UserError(
            f"{path}: is no .safetensors file, and other files of weights may run code when they are opened. Save the "
            "weights with `safetensors.torch.save_file` where they come from."
        )
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: cannot be read as safetensors ({error}).") from error
