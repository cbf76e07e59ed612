"""The last mile needs no PyTorch: judging, drawing, tabulating and rendering start without it."""

import subprocess
import sys

LOADS_ALL = """
import sys
from allmlp import studies
from allmlp.report import draw, judge, render, select, tabulate
for study in studies.STUDIES:
    for kind in ("figures", "tables"):
        for name in studies.names(study, kind):
            studies.module(study, f"{kind}.{name}")
    if studies.has_runs(study):
        studies.module(study, "verdicts")
print("torch" in sys.modules)
"""


def test_the_last_mile_starts_without_torch() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS_ALL], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
