"""The report: claims, figures and tables -> results/report.html, one self-contained page, from paper/'s templates."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup, escape

from allmlp.common import formats, paths
from allmlp.common.errors import UserError, warn
from allmlp.common.paths import REPORT
from allmlp.judging import claims_json, origins, selection
from allmlp.judging.levelling import LIMIT
from allmlp.judging.planned_power import POWER
from allmlp.judging.state_comparison import MOVED
from allmlp.judging.statistics import BELOW, CORRECTED
from allmlp.measurements.origins import software
from allmlp.plan.merge import SCALES
from allmlp.report import badges, citation, first_screen, headlines, open_claims, own, run_counts
from allmlp.report.ascii import to_ascii
from allmlp.report.draw import FIGURES
from allmlp.report.headings import format_table
from allmlp.report.inline import VIEW_BOX, data, element, sheet
from allmlp.report.open_claims import Lack
from allmlp.report.pdf import print_page
from allmlp.report.runs_piece import runs_piece
from allmlp.report.tabulate import TABLES
from allmlp.report.verdict_by_scale import all_flips, course
from allmlp.spec import catalogue, labels

PDF, HERE = Path("results/report.pdf"), Path()
PIECES: dict[str, Any] = {"curves": [], "networks": [], "neurons": {}, "memory": {}}  # of a figure, by its study
LARGEST = 8_000_000  # bytes: a page that opens at once; git keeps every version, compressed to a sixth
VERDICTS = ("reproduced", "partly", BELOW, "contradicted", CORRECTED, "undecided", *badges.UNTESTED)
NARROW, ENLARGED = 460, 1.3  # units of a view box: a figure below is shown at most so much larger than it was drawn
LONGEST = 20  # rows of a table that are shown before it is unfolded


def read_content(kind: str, path: Path) -> dict[str, Any]:
    """The content of a file of the last mile, empty without one."""
    return formats.read(kind, path, f"`dvc repro` makes it again, or `git checkout {path}`.") if path.is_file() else {}


def _figures(study: str, corpora: dict[str, Any], looks: dict[str, str], folder: Path) -> list[dict[str, Any]]:
    """The figures of a study in a folder of results, each with one variant per text; their styles join `looks`."""
    index = read_content("exhibits", folder / FIGURES / study / "index.json")
    place = f"{'f' if folder == HERE else 'c'}{list(catalogue.STUDIES).index(study)}"
    for number, (name, about) in enumerate(index.items()):
        file = folder / FIGURES / study / f"{name}.svg"
        svg = element(file, f"{place}-{number}", about["title"], looks)
        index[name] = {**about, "svg": Markup(svg), "widest": page_width(svg), "data": data(file)}
    return _group_by_text(index, corpora)


def page_width(svg: str) -> int | None:
    """How wide the page shows a narrow figure at most, in pixels; None of one that may fill its column."""
    drawn = VIEW_BOX.search(svg)
    return round(ENLARGED * float(drawn[1])) if drawn and float(drawn[1]) < NARROW else None


def _tables(study: str, corpora: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    index = read_content("exhibits", folder / TABLES / study / "index.json")
    for name, about in index.items():
        file = folder / TABLES / study / f"{name}.csv"
        rows = _csv(file)
        index[name] = {**about, "rows": rows, "brief": brief(rows), "csv": file.read_text(encoding="utf-8")}
    return _group_by_text(index, corpora)


SWITCHED = ("text", "scale", "steps")  # what may differ between the variants of a figure or table


def _group_by_text(index: dict[str, Any], corpora: dict[str, Any]) -> list[dict[str, Any]]:
    """What is drawn of the plan's own texts and of recorded ones, as variants of one figure or table."""
    found: dict[str, dict[str, Any]] = {}
    for name, about in index.items():
        first = name.removesuffix(f"-{about['recorded']}") if about["recorded"] else name
        text = ", ".join(first_screen.texts(about["corpora"], corpora)) or first_screen.NO_TEXT
        trained = about.get("levelled")
        steps = f"{first_screen.span(trained['steps'])} steps" if trained else ""
        variant = {**about, "name": name, "text": text, "steps": steps}
        found.setdefault(first, {**about, "name": first, "variants": []})["variants"].append(variant)
    return [{**item, **switch(item["variants"])} for item in found.values()]


def switch(variants: list[dict[str, Any]]) -> dict[str, Any]:
    """`switched`: all that differs between variants; and the variants, each with a `label` that says it.

    Variants of one text at one scale differ by the overlay that recorded them.
    """
    differing = [name for name in SWITCHED if len({variant[name] for variant in variants}) > 1]
    labels = [", ".join(filter(None, (one[name] for name in differing or ["text"]))) for one in variants]
    if len(set(labels)) < len(labels):
        labels = [
            ", ".join(filter(None, (label, one["recorded"]))) for label, one in zip(labels, variants, strict=True)
        ]
    labelled = [{**one, "label": label} for one, label in zip(variants, labels, strict=True)]
    return {"switched": ", ".join(differing) or "text", "variants": labelled}


def brief(rows: pd.DataFrame) -> pd.DataFrame | None:
    """The rows of a long table that stay in sight: those that are not of a single seed. None: all rows stay."""
    if len(rows) <= LONGEST or "source" not in rows:
        return None
    return rows[~rows["source"].str.startswith("seed ")]


def _csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _study_costs(study: str, runs: pd.DataFrame, selected: dict[str, Any]) -> list[dict[str, Any]]:
    """Per scale of a study: what was run, FLOPs and versions."""
    rows = []
    of_study = runs[runs.study == study] if len(runs) else runs
    for scale, group in of_study.groupby("scale", sort=False) if len(of_study) else []:
        flops = group[["counted_flops", "six_nd_flops"]].astype(float).sum()
        rows.append(
            {
                "scale": scale,
                **first_screen.project_setup(
                    group, selected["corpora"], run_counts.measured_runs(selected["studies"], str(scale), study)
                ),
                "diverged": int((group.diverged == "True").sum()),
                "counted_flops": flops.counted_flops,
                "six_nd_flops": flops.six_nd_flops,
                "versions": sorted(set(map(software, group.versions)) - {""}),
            }
        )
    return rows


def _what_decides(row: dict[str, Any], entry: dict[str, Any], lacks: list[Lack]) -> dict[str, str]:
    """Commands for a claim that was not tested: what its study costs at the scale that it needs, what trains that. None
    where that would not decide either.
    """
    if entry["verdict"] not in badges.UNTESTED or any(lack.kind == "rule" for lack in lacks):
        return {}
    if not entry["scale"] and not open_claims.missing_runs(row, entry)[0]:
        return {}
    scale, study = row["needs"]["scale"], entry["study"]
    return {
        "cost": f"allmlp plan --scale {scale} --study {study}",
        "train": f"snakemake --cores all --config scale={scale} study={study}",
    }


def _run_counts(row: dict[str, Any], scales: dict[str, Any]) -> dict[str, Any]:
    """What an untested claim would cost: the runs that its scale plans, and those of them that are measured."""
    at = scales.get(row["needs"]["scale"], {"planned": {}, "measurements": {}})
    planned = {run for measure in row["measures"] for run in at["planned"].get(measure, [])}
    measured = {run for measure in row["measures"] for run in at["measurements"].get(measure, {})} & planned
    return {**row, "planned": len(planned), "measured": len(measured)}


def _claims(study: str, selected: dict[str, Any], verdicts: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims of a study with their verdicts, texts, and what these stand on."""
    power, corpora, found = read_content("power", POWER), selected["corpora"], []
    for row in catalogue.ledger(study):
        entry, chances = verdicts[row["id"]], power.get(row["id"], [])
        lacks = open_claims.lacks(row, entry, chances)
        more = {
            **{key: labels.fill_names(row[key], row["margin"]) for key in labels.RULE if key in row},
            "margins": [
                (labels.find_label(key).words, labels.find_label(key).amount(value))
                for key, value in row["margin"].items()
            ],
            "printed": compare_printed(row["paper"], entry.get("here", {})),
            "verdict": entry,
            "power": chances,
            "lacks": lacks,
            "rerun": "" if "overlays" in selected else f"allmlp verify --rerun --claim {row['id']}",
            "decide": _what_decides(row, entry, lacks) if "overlays" not in selected else {},
            "basis": first_screen.basis(entry),
            "texts": first_screen.texts(entry.get("corpora") or [""], corpora) if entry["scale"] else [],
            "marks": badges.marks(entry),
            "elsewhere": [first_screen.text(name, corpora) for name in entry.get("elsewhere", {})],
        }
        found.append({**row, **more})
    return found


def compare_printed(paper: Mapping[str, float], here: Mapping[str, float | None]) -> list[dict[str, Any]]:
    """The numbers that a paper prints, each with the one that was compared with it here, if any."""
    found = []
    for key, value in paper.items():
        ours = here.get(key)
        difference = None if ours is None else ours - value
        found.append({**labels.find_label(key)._asdict(), "paper": value, "here": ours, "difference": difference})
    return found


def _inventory(study: str, figures: list[dict[str, Any]], tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the paper shows, each with what shows the same on this page: titles by anchor."""
    anchors = {
        item["name"]: {f"{kind}-{study}-{item['name']}": item["title"]}
        for kind, items in (("table", tables), ("figure", figures))
        for item in items
    }
    both = {item["name"] for item in figures} & {item["name"] for item in tables}
    for name in both:
        anchors[name] |= {f"table-{study}-{name}": next(item["title"] for item in tables if item["name"] == name)}
    return [
        {**row, "anchors": {at: title for name in row["here"] for at, title in anchors.get(name, {}).items()}}
        for row in catalogue.inventory(study)
    ]


def _study(
    study: str, number: str, selected: dict[str, Any], verdicts: dict[str, Any], looks: dict[str, str]
) -> dict[str, Any]:
    """What the page shows of a study."""
    corpora, runs = selected["corpora"], _csv(TABLES / "runs.csv")
    rows, scales = _claims(study, selected, verdicts), selected["studies"].get(study, {})
    ledger = [row["id"] for row in rows]
    figures = first_screen.order_exhibits(_figures(study, corpora, looks, HERE), ledger)
    tables = first_screen.order_exhibits(_tables(study, corpora, HERE), ledger)
    page = catalogue.Page(study)
    if "overlays" in selected:
        figures = own.beside(figures, _figures(study, corpora, looks, paths.project()))
        tables = own.beside(tables, _tables(study, corpora, paths.project()))
    for item in figures:
        item |= PIECES | page.enlarge(item["name"], corpora)
        ours = not item["paper"] and all(map(catalogue.is_project_claim, item["claims"]))
        item["beyond"] = ours and not any(item[piece] for piece in PIECES)  # what a reader steers stays in sight
    for row in rows:
        row["figures"] = [item for item in figures if row["id"] in item["claims"]]
    counts = claims_json.counts(row["verdict"] for row in rows if not catalogue.is_project_claim(row["id"]))
    return {
        "name": study,
        "number": number,
        "called": f"{number} {study}" if catalogue.read_about(study)["authors"] else study,
        **catalogue.read_about(study),
        "errata": catalogue.ledger(study, "errata"),
        "inventory": _inventory(study, figures, tables),
        "claims": [row for row in rows if not catalogue.is_project_claim(row["id"])],
        "own": [row for row in rows if catalogue.is_project_claim(row["id"])],
        "counts": {verdict: counts[verdict] for verdict in VERDICTS},
        "badges": badges.counts(
            (row["verdict"] for row in rows if not catalogue.is_project_claim(row["id"])), VERDICTS
        ),
        "bars": first_screen.bars(row["verdict"] for row in rows if not catalogue.is_project_claim(row["id"])),
        "untested": [_run_counts(row, scales) for row in rows if row["verdict"]["verdict"] in badges.UNTESTED],
        "headlines": headlines.study_headlines(study, verdicts, corpora),
        "ran": first_screen.paper_setup(study),
        "here": first_screen.project_setup(runs, corpora, run_counts.measured_runs(selected["studies"], study=study)),
        "figures": figures,
        "tables": tables,
        "lead": page.lead(tables),
        "spent": _study_costs(study, runs, selected),
    }


def content() -> dict[str, Any]:
    """The values of the templates."""
    selected, judged = selection.read(), claims_json.read()
    verdicts = {entry["id"]: entry for entry in judged["claims"]}
    looks: dict[str, str] = {}
    mine = "overlays" in selected
    shown = own.touched_studies(selected["studies"]) if mine else list(catalogue.STUDIES)
    of_studies = [_study(study, catalogue.STUDIES[study], selected, verdicts, looks) for study in shown]
    runs = _csv(TABLES / "runs.csv")
    of_papers = [row["verdict"] for study in of_studies for row in study["claims"]]
    badged, crossing = badges.counts(of_papers, VERDICTS), first_screen.crossing(verdicts)
    return {
        "looks": Markup(sheet(looks)),
        "studies": of_studies,
        "papers": [study for study in of_studies if study["authors"]],
        "verdicts": VERDICTS,
        "bar_names": first_screen.BARS,
        "bases": first_screen.BASES,
        "synthetic": first_screen.SYNTHETIC,
        "crossing": crossing,
        "crossing_rule": headlines.rule(crossing) if crossing else {},
        "scales": first_screen.scales(selected["studies"], runs, [*SCALES, *selected.get("recorded", {})]),
        "all_runs": len(everything := run_counts.measured_runs(selected["studies"])),
        "all_hours": first_screen.format_hours(run_counts.hours(runs, everything)),
        "total": {verdict: sum(study["counts"][verdict] for study in of_studies) for verdict in VERDICTS},
        "total_bars": first_screen.bars(of_papers),
        "small": {verdict: badged[f"{verdict} {badges.SMALL}"] for verdict in badges.SIZED},
        "before": badges.rule_age_counts(of_papers),
        "lacks": open_claims.LACKS,
        "open": open_claims.rows(of_studies),
        "flipped": all_flips(judged["claims"]),
        "moved": formats.read_json(MOVED) if MOVED.is_file() else {},
        "limit": LIMIT,
        "citation": citation.citation(),
        "runs": runs_piece(runs, judged["claims"]),
        "overlays": selected.get("overlays", []),
        **(own.content(of_studies, selected, runs) if mine else {}),
        "scale": selected["scale"],
        "plan": selected["plan"],
        "corpora": selected["corpora"],
        "recipes": selected["recipes"],
        "origin": origins.report_origins(selected),
        "trained_on": _training_corpora(selected),
    }


def _training_corpora(selected: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
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


def effect(entry: dict[str, Any]) -> str:
    """`0.0181 [-0.288, 0.325] nats, n = 3`; `2 of 3 parts`; empty where nothing was measured."""
    value, low, high = (entry.get(name) for name in ("value", "low", "high"))
    if value is None:
        return ""
    if low is None:
        found = f"{number(value)} {entry['unit']}"
    else:
        within = "" if low == high else f" [{number(low)}, {number(high)}]"
        found = f"{number(value)}{within} {entry['unit']}"
    return found.strip() + (f", n = {entry['n']}" if entry["n"] else "")


def prose(text: str) -> Markup:
    """Text as HTML, with what stands between backticks as code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # one without its other
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(one) if n % 2 else one for n, one in enumerate(pieces))


def templates() -> Environment:
    """The templates of paper/, with the filters that they use."""
    environment = Environment(
        loader=FileSystemLoader(paths.project() / "paper"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.filters |= {
        "duration": duration,
        "number": number,
        "prose": prose,
        "shown": format_table,
        "effect": effect,
        "label": claims_json.label,
        "show": lambda run: own.show_command(run, selection.read()),
        "badge": badges.words,
        "ratios": badges.ratios,
        "reached": badges.reach_text,
        "scientific": lambda value: f"{value:.2e}",
        "course": course,
        "slug": lambda text: text.replace(" ", "-"),
    }
    return environment


def _link_to_committed_page(page: str, committed: str) -> str:
    """A user's own page with the links to what it does not show, such as errata, leading to the committed page."""
    ids = set(re.findall(r'\bid="([^"]+)"', page))

    def lead(link: re.Match[str]) -> str:
        return link[0] if link[1] in ids else f'href="{committed}#{link[1]}'

    return re.sub(r'href="#([^"?]+)', lead, page)


def render(pdf: bool = False) -> Path:
    """Write the report, and the PDF beside it if asked."""
    found = content()
    try:
        page = to_ascii(templates().get_template("report.html.j2").render(found))
    except TemplateError as error:
        raise UserError(f"paper/: a template cannot be rendered ({error.message}). No report was written.") from error
    if (size := len(page)) > LARGEST:
        warn(f"{REPORT}: {size:,} bytes, more than {LARGEST:,}; git keeps every version. Draw fewer points.")
    if "committed_page" in found:
        page = _link_to_committed_page(page, found["committed_page"])
    paths.write_atomically(REPORT, page)
    if pdf:
        print_page(REPORT, PDF)
    return REPORT
