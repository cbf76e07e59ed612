"""The report in a real browser, as a reader on a slow machine has it.

    python benchmarks/page.py            about 3 minutes; needs Chromium, `pip install playwright axe-playwright-python`
    python benchmarks/page.py --write    and keep in benchmarks/page.json, which docs/development.md quotes

Chromium slows its CPU down four times (`Emulation.setCPUThrottlingRate`). Interactive: the end of the last task of
50 ms or more after which none came for two seconds, not before the page has loaded; median of five visits. First use:
from unfolding a piece to its drawn picture, or from choosing a filter to the next frame. `load`: the mean number of
processes that wanted a core meanwhile. Exits with 1 where a limit is missed, and with 0 and a word where there is no
browser.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from allmlp.common import paths
from allmlp.report.pdf import print_page
from allmlp.training.environment import provenance

sys.path.append(str(Path(__file__).parents[1]))  # the visits of the tests

from tests.workflow.visiting import MOST_SCREENS, SCREEN, Visit, started

KEPT = Path(__file__).with_suffix(".json")
SLOWER, VISITS, QUIET = 4, 5, 2000  # times, visits, milliseconds
WIDTH, NARROWEST = 1280, 360
TASKS = (
    "window.tasks = []; new PerformanceObserver(list => tasks.push(...list.getEntries())).observe({type: 'longtask'})"
)
INTERACTIVE = """Math.max(performance.getEntriesByType('navigation')[0].loadEventEnd,
  ...tasks.map(one => one.startTime + one.duration))"""
UNFOLD = """async piece => {
  const details = document.querySelector(`details[data-piece=${piece}]`), start = performance.now();
  const isDrawn = () => details.querySelector(details.querySelector('.plot') ? '.plot svg' : '.piece > *');
  details.open = true;
  while (!isDrawn()) {  // a table has no plot
    if (performance.now() - start > 60000) throw new Error(`the piece ${piece} draws nothing`);
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
FILTER = """async () => {
  const select = document.querySelector('#filter select'), start = performance.now();
  select.selectedIndex = 1;
  select.dispatchEvent(new Event('change', {bubbles: true}));
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""


def visit(browser: Any, page: Path, width: int = WIDTH, **window: Any) -> Visit:
    return Visit(browser, page, viewport={"width": width, "height": SCREEN}, **window)


def slow(browser: Any, page: Path) -> tuple[float, dict[str, float]]:
    """Milliseconds until the page is interactive, and of the first use of each piece, on a slowed-down CPU."""
    at = visit(browser, page, slower=SLOWER, before=TASKS)
    while at.of(f"performance.now() - {INTERACTIVE}") < QUIET:
        at.page.wait_for_timeout(QUIET / 4)
    interactive = at.of(INTERACTIVE)
    names = at.of("[...new Set([...document.querySelectorAll('details.explore')].map(one => one.dataset.piece))]")
    uses = {"filter": at.of(f"({FILTER})()")} | {name: at.page.evaluate(UNFOLD, name) for name in names}
    at.context.close()
    return interactive, uses


def still(browser: Any, page: Path) -> dict[str, Any]:
    """What needs no clock: requests, complaints, heights, sideways scroll, and what axe-core finds."""
    wide, narrow = (visit(browser, page, width).lay_out_rows() for width in (WIDTH, NARROWEST))
    found = {
        "requests": len([url for url in wide.requests if not url.startswith("data:")]),
        "complaints": len(wide.complaints),
        "screens": round(wide.of("document.documentElement.scrollHeight") / SCREEN, 1),
        "sideways_pixels": narrow.of("document.documentElement.scrollWidth") - NARROWEST,
        "axe_findings": sum(len(at.without_insides().violations()) for at in (wide, narrow)),
    }
    for at in (wide, narrow):
        at.context.close()
    return found


def printed(page: Path) -> int:
    """Sheets of A4. Folded sections stay folded."""
    with tempfile.TemporaryDirectory() as folder:
        print_page(page, pdf := Path(folder) / "page.pdf")
        return pdf.read_bytes().count(b"/Type /Page\n")


def measured(page: Path) -> dict[str, Any]:
    for browser in started():
        found = {"bytes": page.stat().st_size, **still(browser, page)}
        times = [slow(browser, page) for _ in range(VISITS)]
        kept = {"chromium": browser.version, "hardware": provenance("cpu")["hardware"], "slower": SLOWER}
        kept |= {"cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[1], 1)}
    interactive, uses = zip(*times, strict=True)
    first = {name: round(statistics.median(one[name] for one in uses)) for name in uses[0]}
    return {
        **kept,
        **found,
        "printed_pages": printed(page),
        "interactive_ms": round(statistics.median(interactive)),
        "interactive_ms_of_visits": [round(one) for one in interactive],
        "first_use_ms": first,
    }


def main() -> int:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=Path, nargs="?", default=paths.project() / paths.REPORT)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    try:
        found = measured(asked.page.resolve())
    except pytest.skip.Exception as lacking:
        print(f"not measured: {lacking}")
        return 0
    print(text := json.dumps(found, indent=1))
    if asked.write:
        paths.write_atomically(KEPT, f"{text}\n")
    least = {"requests": 1, "complaints": 0, "sideways_pixels": 0, "axe_findings": 0}
    return 0 if {key: found[key] for key in least} == least and found["screens"] <= MOST_SCREENS else 1


if __name__ == "__main__":
    sys.exit(main())
