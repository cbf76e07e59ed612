"""`allmlp doctor --gpu`: does everything that trains here compute on this GPU what it computes on a CPU?

    exact       every architecture and kernel, forward and backward, against float64 on the CPU
    training    50 steps in single precision, compiled and in bfloat16, against single precision on the CPU
    surviving   a killed training, a second job for a leased device, and too large a batch
    device      the device under test

Without a GPU the same checks run on the CPU, where the lease is of a device that is made up.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from allmlp import paths
from allmlp.gpu_check.device import Outcome
from allmlp.training.devices import lease
from allmlp.training.gpus import machine

FOUND = Path("work/gpu-check.json")


def show() -> int:
    """Print a line per check; keep all in FOUND. Returns 1 if one fails."""
    kind = "cuda" if machine() and not os.environ.get("ALLMLP_FAKE_DEVICES") else "cpu"
    with lease(kind):
        from allmlp.gpu_check import exact, surviving, training  # import torch: once the device is chosen
        from allmlp.training.environment import provenance

        about = provenance(kind)
        print(f"{about['hardware']}; {about['versions']}", flush=True)
        if kind == "cpu":
            print("no GPU here: the checks run on the CPU", flush=True)
        checks: list[Callable[[str], Iterator[Outcome]]] = [
            surviving.of_a_kill,
            surviving.of_a_lease,
            surviving.of_too_large_a_batch,
            exact.of_architectures,
            exact.of_relations,
            exact.of_the_loss,
            training.of_modes,
        ]
        outcomes = [said for check in checks for said in _taken(check, kind)]
    failed = [one for one in outcomes if not one.passed]
    paths.write_whole(FOUND, json.dumps({**about, "checks": [asdict(one) for one in outcomes]}, indent=1) + "\n")
    print(f"\n{len(outcomes)} checks, {len(failed)} failed; all of them: {FOUND}")
    return 1 if failed else 0


def _taken(check: Callable[[str], Iterator[Outcome]], kind: str) -> Iterator[Outcome]:
    """The outcomes of one kind of check, printed as they come; an error in it is one that failed."""
    before, outcomes = time.monotonic(), check(kind)
    while True:
        try:
            one = next(outcomes)
        except StopIteration:
            break
        except Exception as error:  # the checks after it are worth their minutes too
            one = Outcome(f"{check.__module__}.{check.__name__}", False, f"{type(error).__name__}: {error}"[:600])
        print(f"{' ' if one.passed else '!'} {one.check:<58}{one.said}", flush=True)
        yield one
    print(f"  ({time.monotonic() - before:.0f} s)", flush=True)
