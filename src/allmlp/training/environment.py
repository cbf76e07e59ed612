"""The environment of a training: hardware, versions, the sources of this project."""

import platform
from pathlib import Path

import numpy
import torch

from allmlp.measurements import origins


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def provenance(device: str, origin: str = "") -> dict[str, str]:
    """{hardware, versions}: never compared. `origin`: a record of `measurements.origins` if not this process alone."""
    hardware = torch.cuda.get_device_name() if device == "cuda" else _processor()
    numbers = f"Python {platform.python_version()}, torch {torch.__version__}, NumPy {numpy.__version__}"
    return {"hardware": hardware, "versions": f"{numbers}, {origin or origins.process_sources()}"}
