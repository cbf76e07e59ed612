"""The numbers of README.md: its pieces between <!-- mark --> and <!-- /mark -->, from paper/readme.md.j2.

A block of the template is a piece; `allmlp report` writes them all, as does DVC's stage `render`.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from allmlp.common import paths
from allmlp.common.paths import CLAIMS, SELECTED
from allmlp.judging import claims_json, selection
from allmlp.plan.merge import SCALES
from allmlp.report import badges, first_screen, render, run_counts
from allmlp.report.tabulate import TABLES
from allmlp.spec import catalogue

README = Path("README.md")
TEMPLATE = "readme.md.j2"
AGAIN = "laptop"  # the scale of `make reproduce`


def content() -> dict[str, Any]:
    """The values of the template."""
    entries, of_studies = claims_json.read()["claims"], selection.read()["studies"]
    of_papers = [entry for entry in entries if not catalogue.is_project_claim(entry["id"]) and not entry.get("same_as")]
    judged = [entry for entry in of_papers if entry.get("runs")]
    again = run_counts.measured_runs(of_studies, AGAIN)
    rows = pd.read_csv(TABLES / "runs.csv", dtype=str, keep_default_na=False)
    return {
        "papers": [{"number": catalogue.STUDIES[study], **about} for study, about in _papers().items()],
        "counts": {name: badges.counts(of, render.VERDICTS) for name, of in _rows(entries).items()},
        "claims": len(of_papers),
        "crossing": first_screen.crossing({entry["id"]: entry for entry in entries}),
        "before": badges.rule_age_counts(of_papers),
        "judged": len(judged),
        "retrained": sum(set(entry["runs"]) <= again for entry in judged),
        "again": len(again),
        "scales": first_screen.scales(of_studies, rows, SCALES),
    }


def _papers() -> dict[str, dict[str, Any]]:
    found = {study: catalogue.read_about(study) for study in catalogue.STUDIES}
    return {study: about for study, about in found.items() if about["authors"]}


def _rows(entries: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the table of verdicts: a paper's claims, and those of this project."""
    papers = {study: f"{catalogue.STUDIES[study]} {about['paper']}" for study, about in _papers().items()}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in (*papers.values(), "own claims")}
    for entry in entries:
        found["own claims" if catalogue.is_project_claim(entry["id"]) else papers[entry["study"]]].append(entry)
    return found


def pieces() -> dict[str, str]:
    """mark -> its text."""
    template = render.templates().get_template(TEMPLATE)
    context = template.new_context(content())
    return {mark: "".join(block(context)).strip("\n") for mark, block in template.blocks.items()}


def insert_pieces(text: str) -> str:
    """README with these pieces, wherever it has their marks."""
    for mark, piece in pieces().items():
        before, opening, rest = text.partition(f"<!-- {mark} -->\n")
        _, closing, after = rest.partition(f"\n<!-- /{mark} -->")
        if closing:
            text = f"{before}{opening}{piece}{closing}{after}"
    return text


def correction() -> str | None:
    """README as it must be, where it is not; None where it is, and in a folder without it or without results."""
    if not all(file.is_file() for file in (README, CLAIMS, SELECTED, TABLES / "runs.csv")):
        return None
    text = README.read_text(encoding="utf-8")
    return new if (new := insert_pieces(text)) != text else None


def write() -> None:
    """Write README's pieces again."""
    if (new := correction()) is not None:
        paths.write_atomically(README, new)
