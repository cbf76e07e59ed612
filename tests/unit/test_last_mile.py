"""The last mile needs no PyTorch: judging, drawing, tabulating and rendering start without it."""

import subprocess
import sys

LOADS_ALL = """
import sys
from allmlp import studies
from allmlp.report import draw, exhibits, judge, render, select, tabulate
for study in studies.STUDIES:
    exhibits.of(study, "figures"), exhibits.of(study, "tables")
    for claim in studies.ledger(study):
        claim["test"] and studies.verdict(study, claim["test"])
print("torch" in sys.modules)
"""


def test_the_last_mile_starts_without_torch() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS_ALL], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
