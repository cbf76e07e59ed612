"""The environment of a training: hardware, versions, the commit of this project."""

import platform
import shutil
import subprocess
from pathlib import Path

import numpy
import torch


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str:
    if shutil.which("git") is None:
        return "unknown"
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def provenance(device: str) -> dict[str, str]:
    """{hardware, versions}: shown in the report, never compared."""
    hardware = torch.cuda.get_device_name() if device == "cuda" else _processor()
    numbers = f"Python {platform.python_version()}, torch {torch.__version__}, NumPy {numpy.__version__}"
    return {"hardware": hardware, "versions": f"{numbers}, commit {_commit()}"}
