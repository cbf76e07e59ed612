"""What docs/corpora.md says of large text is what the benchmark measured. To renew it, copy what the failure prints."""

import json

from tests.conftest import PROJECT
from tests.docs.quoted import assert_quoted

MEASURED = PROJECT / "benchmarks/gigabytes.json"
PAPER_TOKENS = 160e9  # study 000 at the paper's scale: 10 billion windows of 16 tokens, one of each supervised
HEADS = ("text", "tokens", "MB/s", "MB per core-second", "peak memory", "tokens on disk")


def expected() -> str:
    """A row per size, and what the largest one says of the paper's scale."""
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    lines = [f"| {' | '.join(HEADS)} |", f"|{' ---: |' * len(HEADS)}"]
    for one in found["sizes"]:
        megabytes = one["bytes"] / 1e6
        cells = (
            f"{megabytes / 1e3:.2f} GB",
            f"{one['tokens'] / 1e6:.0f} million",
            f"{megabytes / one['seconds']:.1f}",
            f"{megabytes / one['processor_seconds']:.1f}",
            f"{one['peak_mb']:,} MB",
            f"{one['bytes_on_disk'] / 1e9:.2f} GB",
        )
        lines.append(f"| {' | '.join(cells)} |")
    last, times = found["sizes"][-1], PAPER_TOKENS / found["sizes"][-1]["tokens"]
    cores = last["processor_seconds"] / last["of_the_first_thread"]
    return "\n".join(
        [
            *lines,
            "",
            f"One thread reads, hashes and writes. It takes 1/{cores:.0f} of the time, so more than {cores:.0f} cores "
            "gain nothing.",
            f"The {PAPER_TOKENS / 1e9:.0f} billion tokens of study 000 at the paper's scale need at this rate",
            f"{last['processor_seconds'] * times / 3600:.0f} core-hours, {last['bytes'] * times / 1e9:,.0f} GB of text "
            f"and {last['bytes_on_disk'] * times / 1e9:,.0f} GB of disk for the tokens.",
        ]
    )


def test_the_page_quotes_the_benchmark() -> None:
    assert_quoted("docs/corpora.md", "gigabytes", expected())
    sizes = json.loads(MEASURED.read_text(encoding="utf-8"))["sizes"]
    assert sizes[-1]["bytes"] > 9 * sizes[0]["bytes"]
    assert sizes[-1]["peak_mb"] < 1.15 * sizes[0]["peak_mb"], "the page says that memory does not grow"
