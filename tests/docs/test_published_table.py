"""What docs/development.md says of steps beside the published code is what the benchmark measured. To renew it, copy
what the failure prints."""

import json
from statistics import median
from typing import Any

from tests.conftest import PROJECT
from tests.docs.quoted import assert_quoted


def expected(found: dict[str, Any]) -> str:
    """A row for each step."""
    heads = "step | types | supervised | published | fused | compiled | ours | ours compiled"
    lines = [
        f"{found['hardware']}, one core; milliseconds, and how many times as long the peer's three forms take as the",
        "better of ours. Products: the share of the compiled peer's time, and of ours, in matrix products.",
        "",
        f"| {heads} | times | products |",
        f"| --- |{' ---: |' * 9}",
    ]
    for name, one in found["steps"].items():
        work = f"{one['vocabulary']:,} | {one['supervised']:.0%}"
        ms = " | ".join(
            f"{one['ms'][form]:,.1f}" for form in ("published", "fused", "compiled", "ours", "ours compiled")
        )
        ratios, products = one["ratios"], one["products"]
        times = ", ".join(f"{ratios[form]:.2f}" for form in ("published", "fused", "compiled"))
        shares = f"{products['compiled']:.0%}, {products[one['better']]:.0%}"
        lines.append(f"| {name} | {work} | {ms} | {times} | {shares} |")
    compiled = [one["ratios"]["compiled"] for one in found["steps"].values()]
    slower = sum(ratio < 1 for ratio in compiled)
    lines += [
        "",
        f"Against the compiled peer: {median(compiled):.2f} in the median of {len(compiled)} rows, {slower} below 1.",
    ]
    return "\n".join(lines)


def test_the_page_quotes_the_benchmark() -> None:
    measured = json.loads((PROJECT / "benchmarks/published.json").read_text(encoding="utf-8"))
    assert_quoted("docs/development.md", "published", expected(measured))
