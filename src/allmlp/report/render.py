"""The report: claims, figures and tables -> results/report.html, one self-contained page, from paper/'s templates."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from allmlp import artifacts, paths, studies
from allmlp.errors import UserError, warn
from allmlp.paths import REPORT
from allmlp.report import claims, selection
from allmlp.report.draw import FIGURES
from allmlp.report.moved import before, moved
from allmlp.report.planned_power import POWER
from allmlp.report.saving import element
from allmlp.report.tabulate import TABLES
from allmlp.studies.levelling import LIMIT

PDF = Path("results/report.pdf")
LARGEST = 4_000_000  # bytes: git keeps every version, compressed to a sixth
VERDICTS = ("reproduced", "partly", "contradicted", "undecided", "not testable at this scale", "not run")
LONGEST = 20  # rows of a table that are shown before it is unfolded


def kept(kind: str, path: Path) -> dict[str, Any]:
    """The content of a file of the last mile, empty without one."""
    return (
        artifacts.read(kind, path, f"`dvc repro` makes it again, or `git checkout {path}`.") if path.is_file() else {}
    )


def _figures(study: str) -> list[dict[str, Any]]:
    index, found = kept("exhibits", FIGURES / study / "index.json"), []
    place = list(studies.STUDIES).index(study)
    for number, (name, about) in enumerate(index.items()):
        svg = Markup(element(FIGURES / study / f"{name}.svg", f"f{place}-{number}"))
        found.append({"name": name, **about, "again": _again(name, index), "svg": svg})
    return found


def _tables(study: str) -> list[dict[str, Any]]:
    index = kept("exhibits", TABLES / study / "index.json")
    found = []
    for name, about in index.items():
        rows = _csv(TABLES / study / f"{name}.csv")
        found.append({"name": name, **about, "again": _again(name, index), "rows": rows, "brief": brief(rows)})
    return found


def _again(name: str, index: dict[str, Any]) -> bool:
    """Is it an overlay's, right after the plan's own? Then the caption need not be repeated."""
    recorded = index[name]["recorded"]
    return bool(recorded) and name.removesuffix(f"-{recorded}") in index


def brief(rows: pd.DataFrame) -> pd.DataFrame | None:
    """The rows of a long table that stay in sight: those that are not of a single seed. None: all rows stay."""
    if len(rows) <= LONGEST or "source" not in rows:
        return None
    return rows[~rows["source"].str.startswith("seed ")]


def _csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _spent(study: str, runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Per scale of a study: runs, seeds, time, FLOPs and hardware."""
    rows = []
    of_study = runs[runs.study == study] if len(runs) else runs
    for scale, group in of_study.groupby("scale", sort=False) if len(of_study) else []:
        numbers = group[["seconds", "counted_flops", "six_nd_flops"]].astype(float)
        rows.append(
            {
                "scale": scale,
                "runs": len(group),
                "seeds": group.seed.nunique(),
                "diverged": int((group.diverged == "True").sum()),
                "seconds": numbers.seconds.sum(),
                "counted_flops": numbers.counted_flops.sum(),
                "six_nd_flops": numbers.six_nd_flops.sum(),
                "hardware": sorted(set(group.hardware) - {""}),
                "versions": sorted(set(group.versions) - {""}),
            }
        )
    return rows


def content() -> dict[str, Any]:
    """The values of the templates."""
    selected, judged, power = selection.read(), claims.read(), kept("power", POWER)
    runs = _csv(TABLES / "runs.csv")
    verdicts = {entry["id"]: entry for entry in judged["claims"]}
    shown, total, rows = [], Counter[str](), []
    for study, number in studies.STUDIES.items():
        ledger = [
            {**row, "verdict": verdicts[row["id"]], "power": power.get(row["id"], [])} for row in studies.ledger(study)
        ]
        rows += ledger
        own = [row for row in ledger if studies.is_own(row["id"])]
        ledger = [row for row in ledger if row not in own]
        counts = Counter(row["verdict"]["verdict"] for row in ledger)
        total += counts
        about = {
            "name": study,
            "number": number,
            **studies.about(study),
            "errata": studies.ledger(study, "errata"),
        }
        made = {"figures": _figures(study), "tables": _tables(study), "spent": _spent(study, runs)}
        said = {"claims": ledger, "own": own, "counts": {verdict: counts[verdict] for verdict in VERDICTS}}
        shown.append({**about, **said, **made})
    return {
        "studies": shown,
        "verdicts": VERDICTS,
        "total": {verdict: total[verdict] for verdict in VERDICTS},
        "moved": moved(rows, before()),
        "limit": LIMIT,
        "overlays": selected.get("overlays", []),
        "scale": selected["scale"],
        "plan": selected["plan"],
        "corpora": selected["corpora"],
        "recipes": selected["recipes"],
        "trained_on": _trained_on(selected),
    }


def _trained_on(selected: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    """study -> corpus -> the scales and recorded overlays with measured trainings on it."""
    found: dict[str, dict[str, list[str]]] = {}
    for study, scales in selected["studies"].items():
        for scale, at in scales.items():
            measured = {run for runs in at["measurements"].values() for run in runs}
            trained = [at["runs"][run] for run in measured if at["runs"][run]["steps"]]
            for corpus in sorted({run["corpus"] for run in trained if run["corpus"]}):
                found.setdefault(study, {}).setdefault(corpus, []).append(scale)
    return found


def duration(seconds: float) -> str:
    """`3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    return (
        f"{whole // 60} min {whole % 60:02d} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    )


def number(value: float | None) -> str:
    """A number to three or four digits, a dash for none."""
    return "–" if value is None or value != value else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def rounded(cell: str) -> str:
    """A number in a cell of a table to four digits; a dash for an empty cell."""
    if cell == "nan":
        return "-"
    try:
        return f"{float(cell):.4g}" if "." in cell else cell
    except ValueError:
        return cell


def templates() -> Environment:
    """The templates of paper/, with the filters that they use."""
    environment = Environment(
        loader=FileSystemLoader(paths.project() / "paper"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "duration": duration,
        "number": number,
        "rounded": rounded,
        "scientific": lambda value: f"{value:.2e}",
        "slug": lambda text: text.replace(" ", "-"),
    }
    return environment


def render(pdf: bool = False) -> Path:
    """Write the report, and the PDF beside it if asked."""
    shown = content()
    try:
        page = templates().get_template("report.html.j2").render(shown)
    except TemplateError as error:
        raise UserError(f"paper/: a template cannot be rendered ({error.message}). No report was written.") from error
    if (size := len(page.encode())) > LARGEST:
        warn(f"{REPORT}: {size:,} bytes, more than {LARGEST:,}; git keeps every version. Draw fewer points.")
    paths.write_whole(REPORT, page)
    if pdf:
        _write_pdf(page)
    return REPORT


def _write_pdf(page: str) -> None:
    try:
        from weasyprint import HTML
    except ImportError:
        raise UserError("results/report.pdf: needs the weasyprint package: pip install weasyprint") from None
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    HTML(string=page).write_pdf(PDF)
