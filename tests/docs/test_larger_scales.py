"""The costs of larger scales in docs/machines.md are the plan's. To renew them, copy what the failure prints."""

import json

from tests.conftest import PROJECT, call
from tests.docs.quoted import assert_quoted

HEADS = ("scale", "open runs", "hours of an H100", "until done on 8", "disk, weights released")


def row(scale: str) -> str:
    """Its open runs on the first device of the plan, to two digits."""
    plan = json.loads(call(PROJECT, "allmlp", "plan", "--scale", scale, "--format", "json").stdout)
    device = plan["devices"][0]
    assert device["device"] == "H100"
    hours, on_eight = (float(f"{of:.2g}") for of in (device["hours"], device["hours_until_done"]["8"]))
    disk = float(f"{device['peak_disk_bytes']['8']['released'] / 1e9:.2g}")
    runs = sum(study["open"] for study in plan["studies"])
    return f"| `{scale}` | {runs:,} | {hours:,.0f} | {on_eight:,.0f} | {disk:.0f} GB |"


def test_the_page_has_the_plans_hours() -> None:
    lines = [f"| {' | '.join(HEADS)} |", f"| --- |{' ---: |' * (len(HEADS) - 1)}", *map(row, ("gpu", "paper"))]
    assert_quoted("docs/machines.md", "larger", "\n".join(lines))
