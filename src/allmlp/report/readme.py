"""The numbers of README.md: its pieces between <!-- mark --> and <!-- /mark -->, from paper/readme.md.j2.

A block of the template is a piece; `allmlp report` writes them all.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from allmlp import paths, studies
from allmlp.layered import SCALES
from allmlp.report import answer, badges, claims, counting, render, selection
from allmlp.report.tabulate import TABLES

README = Path("README.md")
TEMPLATE = "readme.md.j2"
AGAIN = "laptop"  # the scale of `make reproduce`


def content() -> dict[str, Any]:
    """The values of the template."""
    entries, of_studies = claims.read()["claims"], selection.read()["studies"]
    of_papers = [entry for entry in entries if not studies.is_own(entry["id"]) and not entry.get("same_as")]
    judged = [entry for entry in of_papers if entry.get("runs")]
    again = counting.measured(of_studies, AGAIN)
    rows = pd.read_csv(TABLES / "runs.csv", dtype=str, keep_default_na=False)
    return {
        "papers": [{"number": studies.STUDIES[study], **about} for study, about in _papers().items()],
        "counts": {name: badges.counts(of, render.VERDICTS) for name, of in _rows(entries).items()},
        "claims": len(of_papers),
        "crossing": answer.crossing({entry["id"]: entry for entry in entries}),
        "before": badges.before_result(of_papers),
        "judged": len(judged),
        "retrained": sum(set(entry["runs"]) <= again for entry in judged),
        "again": len(again),
        "scales": answer.scales(of_studies, rows, SCALES),
    }


def _papers() -> dict[str, dict[str, Any]]:
    found = {study: studies.about(study) for study in studies.STUDIES}
    return {study: about for study, about in found.items() if about["authors"]}


def _rows(entries: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the table of verdicts: a paper's claims, and those of this project."""
    papers = {study: f"{studies.STUDIES[study]} {about['paper']}" for study, about in _papers().items()}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in (*papers.values(), "own claims")}
    for entry in entries:
        found["own claims" if studies.is_own(entry["id"]) else papers[entry["study"]]].append(entry)
    return found


def pieces() -> dict[str, str]:
    """mark -> its text."""
    template = render.templates().get_template(TEMPLATE)
    context = template.new_context(content())
    return {mark: "".join(block(context)).strip("\n") for mark, block in template.blocks.items()}


def written(text: str) -> str:
    """README with these pieces, wherever it has their marks."""
    for mark, piece in pieces().items():
        before, opening, rest = text.partition(f"<!-- {mark} -->\n")
        _, closing, after = rest.partition(f"\n<!-- /{mark} -->")
        if closing:
            text = f"{before}{opening}{piece}{closing}{after}"
    return text


def write() -> None:
    """Write README's pieces again."""
    text = README.read_text(encoding="utf-8") if README.is_file() else ""
    if (new := written(text)) != text:
        paths.write_whole(README, new)
