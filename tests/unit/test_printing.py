"""`allmlp render --pdf`: the page on paper, with what is folded on the screen."""

import shutil
import subprocess
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.report.pdf import BROWSERS, print_page

FOLDED = "<title>t</title><p>seen at once<details><summary>more</summary><p>first folded</details>"


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="needs Chromium: `apt install chromium`")
@pytest.mark.skipif(not shutil.which("pdftotext"), reason="needs pdftotext: `apt install poppler-utils`")
def test_what_is_folded_is_printed(tmp_path: Path) -> None:
    style = (
        "<style>@media print { details::details-content { content-visibility: visible; block-size: auto; } }</style>"
    )
    (tmp_path / "page.html").write_text(style + FOLDED)
    print_page(tmp_path / "page.html", tmp_path / "page.pdf")
    said = subprocess.run(["pdftotext", tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True).stdout
    assert "seen at once" in said
    assert "first folded" in said


def test_without_a_browser_the_way_out_is_said_and_no_pdf_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"report\.pdf: none of chromium.*apt install chromium"):
        print_page(tmp_path / "report.html", tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_fails_is_named_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "chromium"
    failing.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    failing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (tmp_path / "report.pdf").write_text("an older one")
    with pytest.raises(UserError, match=r"did not print .*exit 3.*no display"):
        print_page(tmp_path / "report.html", tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()
