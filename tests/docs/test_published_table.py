"""What docs/development.md says of steps beside the published code is what the benchmark measured. To renew it, copy
what the failure prints."""

import json
from typing import Any

from tests.conftest import PROJECT
from tests.docs.quoted import assert_quoted


def expected(found: dict[str, Any]) -> str:
    """A row for each step."""
    lines = [
        f"{found['hardware']}; times faster than the published step:",
        "",
        "| step | published | ours | times | in bfloat16 |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, one in found["steps"].items():
        times = f"{one['published_ms']:.1f} ms | {one['ours_ms']:.1f} ms | {one['ours_1']:.2f}"
        lines.append(f"| {name} | {times} | {one.get('bfloat16_1', '')} |")
    return "\n".join(lines)


def test_the_page_quotes_the_benchmark() -> None:
    measured = json.loads((PROJECT / "benchmarks/published.json").read_text(encoding="utf-8"))
    assert_quoted("docs/development.md", "published", expected(measured))
