"""The costs of larger scales in docs/machines.md are the plan's. To renew them, copy what the failure prints."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks import rates

from allmlp.plan import costs
from allmlp.plan.device_types import FARTHEST, StepTime, find_type
from allmlp.plan.plan import load_plan
from allmlp.spec import catalogue
from tests.conftest import PROJECT, call
from tests.docs.quoted import assert_quoted

HEADS = ("scale", "open runs", "hours of an H100", "hours until done on 8", "disk of checkpoints, weights released")
MIXER = "flat-d512-n8-b16-tinystories-seed0-"


def plan(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(PROJECT, "allmlp", "plan", *words, "--format", "json").stdout)
    return found


def row(planned: dict[str, Any]) -> str:
    """What a scale has open on the first device of the plan, to two digits."""
    device = planned["devices"][0]
    assert device["device"] == "H100"
    hours, on_eight = (float(f"{of:.2g}") for of in (device["hours"], device["hours_until_done"]["8"]))
    disk = float(f"{device['peak_disk_bytes']['8']['released'] / 1e9:.2g}")
    runs = sum(study["open"] for study in planned["studies"])
    return f"| `{planned['scale']}` | {runs:,} | {hours:,.0f} | {on_eight:,.0f} | {disk:.0f} GB |"


PAPERS = [  # study, which of its cards and hours, the card's name in the plan, the run's name, of the longest such run
    ("mixers", 0, "RTX 3060", MIXER, "flat mixer of width 512"),
    ("mixers", 1, "V100", MIXER, "the same"),
    ("copying", 0, "A100", "causal-rn-string", "CausalRN, longest string"),
    ("language", 0, "H100", "", "longest training"),
]


def paper_row(study: str, number: int, card: str, begins: str, said: str) -> str:
    """What the paper says of its hours, and what the plan says of such a run on one such card."""
    about = catalogue.read_about(study)["ran"]
    hours, device = (about[key].split(", or ")[number] for key in ("hours", "device"))
    runs = plan("--scale", "paper", "--on", card, "--study", study)["runs"]
    longest = max(run["estimated_s"] for run in runs if run["run"].startswith(begins)) / 3600
    return f"| {study} | {said} | {hours}, {device} | {longest:.2g}, one {card} |"


def hours_at_most() -> float:
    """Of `paper` on an H100, if all seconds of an architecture with one measured size grow with its operations."""
    kind, (points, _) = find_type("H100", "cuda"), rates.of_gpu()
    sizes = points.groupby("architecture")["flops"].nunique()
    single = {name: points[points["architecture"] == name].iloc[0] for name in sizes[sizes == 1].index}
    grown = {name: StepTime(0.0, of["seconds"] / of["flops"], 0.0, of["flops"]) for name, of in single.items()}
    other = kind._replace(measured={**kind.measured, **grown})
    opened = [run for batch in load_plan([], {"scale": "paper"}).batches_to_train for run in batch.to_train]
    return sum(costs.seconds(run, run.steps, other) for run in opened) / 3600


@pytest.mark.usefixtures("in_project")
def test_the_page_has_the_plans_hours() -> None:
    of_gpu, of_paper = (plan("--scale", scale) for scale in ("gpu", "paper"))
    device = of_paper["devices"][0]
    far = device["extrapolated"]
    share, error = far["hours"] / device["hours"], device["error"]
    at_most = float(f"{hours_at_most():.2g}")
    one_size = int((rates.of_gpu()[0].groupby("architecture")["flops"].nunique() == 1).sum())
    said = (
        f"Of the hours of `paper`, {share:.0%} are of steps over {FARTHEST} times larger than any that was measured. "
        f"At sizes that were not fitted, seconds are off by {error['median']:.2g} times in the median, nine of ten by "
        f"{error['p90']:.2g} at most. Of {one_size} architectures one size alone was timed: if all their seconds "
        f"grew with the operations, `paper` would take {at_most:,.0f} hours. Beside what the papers say:"
    )
    lines = [
        f"| {' | '.join(HEADS)} |",
        f"| --- |{' ---: |' * (len(HEADS) - 1)}",
        row(of_gpu),
        row(of_paper),
        "",
        said,
        "",
    ]
    lines += ["| study | run | the paper's hours | the plan's |", "| --- | --- | --- | --- |"]
    assert_quoted("docs/machines.md", "larger", "\n".join([*lines, *(paper_row(*one) for one in PAPERS)]))


@pytest.mark.usefixtures("in_project")
def test_more_seeds_are_all_that_the_example_of_the_page_opens(tmp_path: Path) -> None:
    page = (PROJECT / "docs/verdicts.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(# my\.yaml.*?)```", page, re.DOTALL)
    (tmp_path / "my.yaml").write_text(example)
    runs = load_plan([tmp_path / "my.yaml"], {"study": "triangular"}).runs
    committed = {run.id for run in load_plan([], {"study": "triangular", "scale": "workstation"}).runs}
    assert {run.seed for run in runs if run.id not in committed} == {5, 6, 7, 8, 9}
    assert committed <= {run.id for run in runs}
