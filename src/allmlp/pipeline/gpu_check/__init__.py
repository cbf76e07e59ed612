"""`allmlp doctor --gpu`: does everything that trains here compute on this GPU what it computes on a CPU?

    exact       every architecture and kernel, forward and backward, against float64 on the CPU
    training    50 steps in single precision, compiled, in bfloat16 and stacked, against single precision on the CPU
    survival    a killed training, a second job for a leased device, and too large a batch
    outcome     a check, and what is kept of it

Without a GPU the same checks run on the CPU, where the lease is of a device that is made up.
"""

import json
import os
import time
from collections.abc import Container
from pathlib import Path

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.pipeline.gpu_check.outcome import Checks, Outcome, outcome
from allmlp.training.devices import VISIBLE, lease
from allmlp.training.gpus import FAKE, candidates

FOUND = Path("work/gpu-check.json")


def show(file: Path = FOUND, device: str | None = None, only: Container[str] | None = None) -> int:
    """Print a line per check; keep all in a file, group by group. Returns 1 if one fails. UserError if torch cannot use
    the GPU. `device`: cpu or cuda, else whatever is there. `only`: groups by their names, else all.
    """
    kind = device or ("cuda" if candidates(os.environ.get(VISIBLE)) and FAKE not in os.environ else "cpu")
    with lease(kind):
        import torch  # once the device is chosen

        from allmlp.models.relation import HAS_KERNELS
        from allmlp.pipeline.gpu_check import exact, survival, training
        from allmlp.training.environment import provenance

        if kind == "cuda" and not torch.cuda.is_available():
            raise UserError("torch cannot use this GPU: install one for its driver, pytorch.org/get-started/locally")
        kernels = "with Triton's kernels" if HAS_KERNELS else "without Triton's kernels: pip install -e .[gpu]"
        about = {**provenance(kind), "kernels": kernels if kind == "cuda" else "the CPU's own"}
        print("; ".join(about.values()), flush=True)
        if kind == "cpu":
            print("no GPU here: the checks run on the CPU", flush=True)
        groups: list[Checks] = [
            survival.check_kill,
            survival.check_lease,
            survival.check_large_batch,
            exact.check_architectures,
            exact.check_relations,
            exact.check_loss,
            exact.check_padding,
            training.check_modes,
            training.check_stacks,
        ]
        groups = [group for group in groups if only is None or group.__name__ in only]
        outcomes: list[Outcome] = []
        for number, group in enumerate(groups, 1):
            outcomes += _run_group(group, kind)
            content = {**about, "complete": number == len(groups), "checks": [one._asdict() for one in outcomes]}
            paths.write_atomically(file, json.dumps(content, indent=1) + "\n")
    failed = [one for one in outcomes if not one.passed]
    print(f"\n{len(outcomes)} checks, {len(failed)} failed; all of them: {file}")
    return 1 if failed else 0


def _run_group(group: Checks, kind: str) -> list[Outcome]:
    """The outcomes of a group, printed as they come, and its seconds."""
    before, outcomes = time.monotonic(), []
    for check in group(kind):
        one = outcome(check)
        print(f"{' ' if one.passed else '!'} {one.check:<58}{one.said}", flush=True)
        outcomes.append(one)
    print(f"  ({time.monotonic() - before:.0f} s)", flush=True)
    return outcomes
