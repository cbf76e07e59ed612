"""Freed memory stays with the process: the kernel is not asked for the same pages at every step."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, statistics, torch
from allmlp.training.memory import keep_freed_blocks
kept = keep_freed_blocks()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step():
    before = faults()
    a = torch.ones(7_000_000); b = a + 1; (a * b).sum().item()
    return faults() - before
print(kept, statistics.median([step() for _ in range(21)]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_freed_blocks_are_taken_again_without_page_faults() -> None:
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    kept, faults = said.split()
    if kept == "False":
        pytest.skip("not glibc")
    assert float(faults) < 100  # of a usual step, which writes 20,000 pages: a block that moves costs its pages once
