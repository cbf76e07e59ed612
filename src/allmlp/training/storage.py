"""Files of weights: written whole or not at all; every reader checks their sha256."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save

from allmlp import paths
from allmlp.errors import UserError

MANIFEST = "manifest.json"


def write_tensors(path: Path, tensors: dict[str, torch.Tensor]) -> str:
    """Write tensors (moved to the CPU) as safetensors. Returns the file's sha256."""
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    paths.write_whole(path, content)
    return paths.file_sha256(path)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, a key per line; equal values give equal bytes."""
    paths.write_whole(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def read_tensors(path: Path, expected_sha256: str, way_out: str) -> dict[str, torch.Tensor]:
    """Read weights after checking their digest. `way_out` ends the message when they are damaged."""
    if not path.is_file():
        raise UserError(f"{path}: is missing; {way_out}")
    found = paths.file_sha256(path)
    if found != expected_sha256:
        raise UserError(f"{path}: sha256 is {found[:8]}.., {MANIFEST} says {expected_sha256[:8]}..; {way_out}")
    return load_file(path)
