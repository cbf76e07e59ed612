"""A visit to the report in a real browser: what it asks for, what it complains about, what it shows."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCREEN = 800  # pixels
MOST_SCREENS = 40  # the height of the page at most


class Visit:
    """The page in a window, with what it asked for and complained about. `slower`: so many times as slow a CPU."""

    def __init__(
        self, browser: Any, file: Path, fragment: str = "", slower: int = 1, before: str = "", **window: Any
    ) -> None:
        self.context = browser.new_context(**window)
        self.context.set_default_timeout(120_000)  # of a machine that trains beside
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if before:
            self.page.add_init_script(before)
        self.context.new_cdp_session(self.page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
        self.page.goto(f"file://{file}{fragment}")

    def of(self, script: str) -> Any:
        return self.page.evaluate(script)

    def lay_out_rows(self) -> "Visit":
        """Studies out of sight, which are otherwise laid out when they are reached, have their real heights."""
        self.page.add_style_tag(content="section.study { content-visibility: visible !important }")
        return self

    def violations(self, within: str = "document") -> list[dict[str, Any]]:
        """What axe-core finds there, of any weight; the test is skipped without axe-core."""
        axe = pytest.importorskip("axe_playwright_python", reason="needs `pip install axe-playwright-python`")
        self.page.add_script_tag(path=f"{axe.__path__[0]}/axe.min.js")
        found: list[dict[str, Any]] = self.of(
            f"axe.run({within}, {{resultTypes: ['violations']}}).then(found => found.violations)"
        )
        return found

    def without_insides(self) -> "Visit":
        """Of a picture only its name and description stay: the many elements inside would be walked by axe."""
        self.of("document.querySelectorAll('svg > :not(desc)').forEach(one => one.remove())")
        return self


def started() -> Iterator[Any]:
    """A running Chromium; the test is skipped without one."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs `pip install playwright`")
    if BROWSER is None:
        pytest.skip("needs Chromium: `apt install chromium`")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


def visits(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Open the committed page; windows of one size are reused."""
    visits: dict[str, Visit] = {}

    def opened(width: int = 1280, fragment: str = "", fresh: bool = False, **window: Any) -> Visit:
        key = json.dumps([width, fragment, window], sort_keys=True)
        if fresh or key not in visits:
            size = {"width": width, "height": SCREEN}
            visits[key] = Visit(browser, PROJECT / "results/report.html", fragment, viewport=size, **window)
        return visits[key]

    yield opened
    for one in visits.values():
        one.context.close()
