"""What docs/development.md says of the page in a browser is what the benchmark measured. To renew it, copy what the
failure prints."""

import json
from typing import Any

from allmlp.report.render import LARGEST
from tests.conftest import PROJECT
from tests.docs.quoted import assert_quoted
from tests.workflow.visiting import MOST_SCREENS

MEASURED = PROJECT / "benchmarks/page.json"


def expected(found: dict[str, Any]) -> str:
    """Where it was measured, a row for each number, and the first use of each piece."""
    rows = {
        "file": f"{found['bytes'] / 1e6:.1f} MB",
        "requests, its own among them": found["requests"],
        "findings of axe-core, of any weight": found["axe_findings"],
        "pixels scrolled sideways at a width of 360": found["sideways_pixels"],
        "screens of 1,280 x 800 pixels, folded": found["screens"],
        "sheets of A4, folded sections folded": found["printed_pages"],
        f"interactive, the CPU slowed down {found['slower']} times": seconds(found["interactive_ms"]),
        **{f"first use of {name}, slowed down as well": seconds(ms) for name, ms in found["first_use_ms"].items()},
    }
    cores = f"{found['cores']} core{'s' * (found['cores'] != 1)}"
    return "\n".join(
        [
            f"Chromium {found['chromium'].split('.')[0]} on {cores} of {found['hardware']}, with a load of "
            f"{found['load']}:",
            "",
            "| of the page | measured |",
            "| --- | ---: |",
            *(f"| {name} | {value} |" for name, value in rows.items()),
        ]
    )


def seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 100 else f"{milliseconds} ms"


def test_the_page_quotes_the_benchmark() -> None:
    assert_quoted("docs/development.md", "page", expected(json.loads(MEASURED.read_text(encoding="utf-8"))))


def test_the_measured_page_keeps_to_the_limits() -> None:
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    limits = ("requests", "complaints", "axe_findings", "sideways_pixels")
    assert [found[name] for name in limits] == [1, 0, 0, 0]
    assert found["bytes"] <= LARGEST
    assert found["screens"] <= MOST_SCREENS
    assert len(found["interactive_ms_of_visits"]) == 5
