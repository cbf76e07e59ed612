"""The first screen of the report: what the verdicts stand on, what the papers ran and what was run here."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from allmlp.common import paths, yaml_file
from allmlp.common.errors import UserError
from allmlp.judging import claims_json
from allmlp.judging.statistics import BELOW
from allmlp.report import run_counts
from allmlp.report.badges import SIZED, SMALL, is_small_scale
from allmlp.spec import catalogue

TRAINED, DERIVED = "trained", "derived"
BASES = {TRAINED: "what was trained", DERIVED: "what follows from a formula, a count or the code"}
OF_SMALL = {verdict: f"{verdict} {SMALL}" for verdict in SIZED}
BARS = {
    f"reproduced {DERIVED}": f"reproduced: {BASES[DERIVED]}",
    f"reproduced {TRAINED}": f"reproduced: {BASES[TRAINED]}",
    OF_SMALL["reproduced"]: OF_SMALL["reproduced"],
    "partly": "partly",
    OF_SMALL["partly"]: OF_SMALL["partly"],
    BELOW: "below margin: in the claimed direction, by less than the rule's margin",
    OF_SMALL[BELOW]: OF_SMALL[BELOW],
    "contradicted": "contradicted",
    OF_SMALL["contradicted"]: OF_SMALL["contradicted"],
    "corrected": "corrected: the paper's number is wrong, and the right one is known",
    "undecided": "undecided",
    "not testable at this scale": "not testable at this scale",
    "not run": "not run",
}
SYNTHETIC = "synthetic stories"
GENERATED = ("stories", "stories-pairs")  # sources whose texts a program writes
SPELT = {"tinystories": "TinyStories"}
NO_TEXT = "no text"
PRINTED = re.compile(r"\{([\w-]+):(\w+)\}")  # {004-1:parameters_millions}, a number that the paper prints
PLANNED = "plan"  # {plan:steps}, a number of config/<study>/paper.yaml
CROSSING = ("all-own-4", "001-own-12")  # the claims on where attention overtakes a mixer, the widest first
NUMBERED = re.compile(r"(?:Figure|Figures|Table|Equation|Section|Appendix)s? (\d+|[A-Z])")


def basis(entry: Mapping[str, Any]) -> str:
    """What a claim's verdict stands on: trained models, or a formula, a count or the code. Empty: nothing was run."""
    if not entry["scale"]:
        return ""
    return TRAINED if entry.get("levelled") else DERIVED


def bars(entries: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Bar -> how many claims: verdicts apart from those at small scale, `reproduced` by basis, in the order of BARS."""
    found = Counter(_bar(entry) for entry in entries if not entry.get("same_as"))
    return {bar: found[bar] for bar in BARS}


def _bar(entry: Mapping[str, Any]) -> str:
    if is_small_scale(entry):
        return OF_SMALL[entry["verdict"]]
    return f"reproduced {basis(entry)}" if entry["verdict"] == "reproduced" else claims_json.label(entry)


def text(corpus: str, corpora: Mapping[str, Any]) -> str:
    """How the page calls a corpus: all generated ones `synthetic stories`, the project's others by the first word of
    their name, a user's own by the whole of it."""
    if not corpus:
        return NO_TEXT
    about = corpora.get(corpus, {})
    if about.get("own"):
        return corpus
    if about.get("spec", {}).get("source", {}).get("source") in GENERATED:
        return SYNTHETIC
    name = corpus.split("-")[0]
    return SPELT.get(name, name.capitalize())


def texts(found: Iterable[str], corpora: Mapping[str, Any]) -> list[str]:
    """The texts of these corpora, each once. `no text` is named only where there is no other."""
    names = list(dict.fromkeys(text(corpus, corpora) for corpus in found))
    return [name for name in names if name != NO_TEXT] or names


def paper_setup(study: str) -> dict[str, str]:
    """What the paper ran: parameters, steps, texts, hours, device. Numbers in braces come from claims and plan.

    Without a plan of the paper's scale, what needs its numbers is left out.
    """
    printed = {row["id"]: row["paper"] for row in catalogue.ledger(study)}
    path = paths.project() / "config" / study / "paper.yaml"
    planned = yaml_file.parse_plain(path.read_text(encoding="utf-8"))["studies"][study] if path.is_file() else {}
    known = {**printed, PLANNED: planned}

    def number(found: re.Match[str]) -> str:
        try:
            return format_large(float(known[found[1]][found[2]]))
        except (KeyError, TypeError, ValueError):
            raise UserError(
                f"src/allmlp/studies/{study}/about.yaml, ran: {found[0]} is no number of claims.yaml (paper:) or of "
                f"config/{study}/paper.yaml. Write {{<claim>:<key>}} or {{{PLANNED}:<key>}}."
            ) from None

    about = catalogue.read_about(study)["ran"].items()
    there = {name: said for name, said in about if planned or f"{{{PLANNED}:" not in said}
    return {name: PRINTED.sub(number, said) for name, said in there.items()}


def format_large(value: float) -> str:
    """`36.3`, `16,384`, `33 thousand`, `2.1 million`, `10 billion`."""
    for size, word in ((1e9, " billion"), (1e6, " million"), (1e5, " thousand")):
        if float(f"{abs(value):.3g}") >= size:
            return f"{value / (1e3 if size == 1e5 else size):.3g}{word}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def span(values: Iterable[float]) -> str:
    """`800`, or `800 to 2,212`."""
    least, most = min(found := list(values)), max(found)
    return format_large(least) if least == most else f"{format_large(least)} to {format_large(most)}"


def _device(kind: str, threads: str, hardware: str) -> str:
    return f"one {hardware}" if kind == "cuda" else f"{threads} thread{'s' * (threads != '1')} of {hardware}"


def project_setup(rows: pd.DataFrame, corpora: Mapping[str, Any], runs: Collection[str]) -> dict[str, str]:
    """What was run here: the same keys as `paper_setup`, and runs and seeds. Empty without runs.

    runs: those that `run_counts` counts; rows: of runs.csv, which leaves out runs without training.
    """
    rows = rows[rows["run"].isin(set(runs))].drop_duplicates("run") if len(rows) else rows
    if not len(rows):
        return {}
    named = rows[rows["hardware"] != ""].drop_duplicates(["device", "threads", "hardware"])
    devices = sorted({_device(*row) for row in named[["device", "threads", "hardware"]].itertuples(index=False)})
    return {
        "parameters": span(pd.to_numeric(rows["parameters"])),
        "steps": span(pd.to_numeric(rows["steps_done"])),
        "texts": ", ".join(texts(sorted(set(rows["corpus"])), corpora)),
        "hours": format_hours(run_counts.hours(rows, runs)),
        "device": "; ".join(devices),
        "runs": f"{len(runs):,}",
        "seeds": str(rows["seed"].nunique()),
    }


def format_hours(hours: float) -> str:
    """`0.29`, `40`."""
    return f"{hours:.2g}" if hours < 10 else f"{hours:.0f}"


def scales(of_studies: run_counts.Studies, rows: pd.DataFrame, names: Iterable[str]) -> dict[str, str]:
    """Scale or recorded overlay -> what was run of it: `1,577 runs, 8.5 h`. Those without a run are left out."""
    found = {name: run_counts.measured_runs(of_studies, name) for name in names}
    return {
        name: f"{len(runs):,} run{'s' * (len(runs) != 1)}, {format_hours(run_counts.hours(rows, runs))} h"
        for name, runs in found.items()
        if runs
    }


def order_exhibits(found: list[dict[str, Any]], ledger: list[str]) -> list[dict[str, Any]]:
    """Figures or tables in the order of the paper: diagrams of models by their number in the paper, then the others by
    the first of the paper's claims that they show, then by their number. Those of own claims come last.

    ledger: the ids of the study's claims, in order.
    """
    place = {claim: number for number, claim in enumerate(ledger)}

    def key(item: dict[str, Any]) -> tuple[bool, bool, float, float, str]:
        measured = item.get("runs") != 0  # a diagram needs no run
        of_paper = [
            place[claim] for claim in item["claims"] if claim in place and not catalogue.is_project_claim(claim)
        ]
        number = NUMBERED.search(item["paper"])
        nth = int(number[1]) if number and number[1].isdigit() else math.inf
        first = min(of_paper, default=len(ledger))
        return not item["paper"], measured, *((first, nth) if measured else (nth, first)), item["name"]

    return sorted(found, key=key)


def crossing(entries: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The entry of the first claim of CROSSING that has a place; without one, of the last. Empty without an entry."""
    there = [entries[claim] for claim in CROSSING if claim in entries]
    return next((entry for entry in there if entry.get("value") is not None), there[-1] if there else {})
