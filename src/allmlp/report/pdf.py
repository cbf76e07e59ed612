"""results/report.pdf: the page as Chromium or Chrome prints it; what is folded stays folded."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from allmlp.common.errors import UserError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 600  # seconds


def print_page(page: Path, pdf: Path) -> None:
    """Print a page. UserError where no browser is installed, or where it wrote nothing; an older PDF is then gone."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise UserError(
            f"{pdf}: none of {', '.join(BROWSERS)} is installed: `apt install chromium`, or print {page} from a browser"
        )
    pdf.unlink(missing_ok=True)
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses its sandbox to root
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        printing = ["--headless", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
        written = f"--print-to-pdf={pdf.resolve()}"
        asked = [browser, *printing, *alone, written, page.resolve().as_uri()]
        try:
            ended = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise UserError(f"{pdf}: {browser} did not print {page} within {PATIENCE} s. Run it again.") from None
    if ended.returncode or not pdf.is_file():
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"{pdf}: {browser} did not print {page} (exit {ended.returncode}): {last}")
