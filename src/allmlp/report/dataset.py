"""`allmlp report --export DIR`: the verdicts as a small data set, a Data Package (datapackage.org) that others load.

Its files:

    datapackage.json     the files, their columns with types and meanings, the licence
    claims, verdicts, claim_runs, runs, power    each as .parquet and as .json, a list of rows
    rules.json           the rows of each claims.yaml: statistic, limits and margin, written before the result
    rules.schema.json    their JSON schema
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.io.json import build_table_schema
from pydantic import TypeAdapter

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.judging.planned_power import POWER
from allmlp.report.citation import citation
from allmlp.report.render import read_content
from allmlp.report.tabulate import TABLES
from allmlp.spec import catalogue
from allmlp.spec.claims_yaml import Claim, RepeatedClaim

PACKAGE, RULES = "datapackage.json", "rules"
OF_CLAIM = {
    "claim": "the claim's id: its paper's number and its own",
    "study": "the study that judges it",
    "paper": "the paper's title; empty for a claim of this project",
    "says": "what the paper claims",
    "where": "where it stands in the paper",
    "blind": "was the rule written before any of its results was known?",
    "same_as": "the claim whose number this one is, too; it is not counted twice",
}
OF_VERDICT = {
    "claim": "the claim's id",
    "scale": "the budget of the runs that were judged",
    "decides": "does this scale decide the claim? It is the one with the largest budget",
    "part": "the part of the claim; empty for the whole of it",
    "verdict": "reproduced, partly, contradicted, corrected, undecided, not testable at this scale, or not run",
    "value": "the statistic over seeds, in `unit`",
    "low": "lower end of its interval of 95 %",
    "high": "upper end of it",
    "unit": "the unit of value, low and high",
    "n": "seeds that it stands on",
    "mean": "mean over seeds of the difference that is tested, where it is one",
    "spread": "standard deviation of it over seeds",
    "p": "p value of the test that reproduces, before the correction for many tests",
    "p_against": "p value of the test that contradicts",
    "text": "the verdict in words, with margins and learning rates",
    "reach_parameters": "parameters here over the paper's",
    "reach_tokens": "tokens here over the paper's",
    "reach_operations": "operations here over the paper's, both as 6 x parameters x tokens",
    "small_scale": "is any ratio to the paper's size below a tenth? Only of claims on trainings.",
    "levelled": "did the losses of the judged runs level off: all, some, none",
    "corpora": "the corpora that it stands on, with a blank between",
    "origin_known": "runs whose sources are in this repository's history",
    "origin_runs": "runs that it stands on",
    "rule_changed_since": "did the rule change after the measurements were made?",
}
OF_CLAIM_RUN = {
    "claim": "the claim's id",
    "scale": "the budget",
    "run": "the id of a run that the verdict stands on, as in `runs`",
}
OF_POWER = {
    "claim": "the claim's id",
    "part": "the part; empty for the whole claim",
    "scale": "the scales that plan so many seeds",
    "n": "seeds that are planned",
    "spread": "standard deviation over seeds that is expected, from measured ones",
    "from": "the scale that it was measured at",
    "from_n": "the seeds that it was measured on",
    "if_true": "how likely it is decided as reproduced if the paper's number is true",
    "if_not": "how likely it is decided as contradicted if it is not",
    "true": "the number that is assumed if the claim is true; empty for several, for a printed one and for a share",
    "not": "the number that is assumed if it is not",
    "needs": "seeds that would decide, or why none do",
    "enough": "how many seeds would decide with a chance of 80 %, where more than planned do",
    "never": "does no number of seeds up to 128 decide, if the claim is true?",
    "guards": "what withholds the verdict, whatever comes out",
}
OF_RUN = {
    "study": "the study that plans it",
    "scale": "the budget",
    "run": "its id: the digest at its end is that of its settings",
    "architecture": "the model",
    "task": "what it is trained for",
    "corpus": "the text, the pairs or the images; empty for made-up data",
    "steps": "steps planned",
    "seed": "the seed of weights and batches",
    "device": "cpu or cuda",
    "threads": "threads of the training",
    "last_quarter_nats": "mean loss over the last quarter of the steps",
    "slope_nats_per_doubling": "change of the loss for twice the steps, over that quarter",
    "slope_error_nats": "standard error of that slope",
    "levelled": "did the loss level off there: levelled, moving, or unknown; empty where no claim asks",
}


def export(folder: Path) -> list[Path]:
    """Write the data set of the working folder's results. Returns its files. UserError for a folder of other files."""
    if (folder.is_dir() and any(folder.iterdir()) and not (folder / PACKAGE).is_file()) or folder.is_file():
        raise UserError(f"{folder}: is there, and no data set of allmlp. Name a new folder.")
    judged = formats.read_json(paths.CLAIMS)
    about = {
        "claims": (_frame(_claims(judged["claims"]), OF_CLAIM), OF_CLAIM),
        "verdicts": (_frame(_verdicts(judged["claims"]), OF_VERDICT), OF_VERDICT),
        "claim_runs": (_frame(_claim_runs(judged), OF_CLAIM_RUN), OF_CLAIM_RUN),
        "runs": (pd.read_csv(TABLES / "runs.csv"), OF_RUN | _of_costs()),
        "power": (_frame(_power(), OF_POWER), OF_POWER),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (frame, _) in about.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)
        paths.write_atomically(folder / f"{name}.json", frame.to_json(orient="records", indent=1) + "\n")
    schema = TypeAdapter(list[Claim | RepeatedClaim]).json_schema()
    rules = [_written(row) for study in catalogue.STUDIES for row in catalogue.ledger(study)]
    package = _package([_resource(folder, name, *of) for name, of in about.items()])
    for name, content in ((f"{RULES}.json", rules), (f"{RULES}.schema.json", schema), (PACKAGE, package)):
        paths.write_atomically(folder / name, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return sorted(folder.iterdir())


def _of_costs() -> dict[str, str]:
    """What the columns mean that the measure `cost` gives each run."""
    return {name: column.meaning for name, column in catalogue.measure("language", "cost").columns.items()}


def _written(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as claims.yaml has it: one on another claim's number has no rule of its own."""
    return {key: row[key] for key in RepeatedClaim.model_fields} if "same_as" in row else dict(row)


def _frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(columns)).convert_dtypes()


def _claims(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        rule = next(row for row in catalogue.ledger(entry["study"]) if row["id"] == entry["id"])
        own = catalogue.is_project_claim(entry["id"])
        yield {
            "claim": entry["id"],
            "study": entry["study"],
            "paper": "" if own else catalogue.read_about(entry["study"])["paper"],
            "says": entry["claim"],
            "where": rule.get("where", ""),
            "blind": entry["blind"],
            "same_as": entry.get("same_as") or "",
        }


def _verdicts(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row for each claim, scale and part; a claim that was never judged has one row without a scale."""
    for entry in entries:
        for scale, found in (entry["at"] or {"": entry}).items():
            reach, origin = found.get("reach") or {}, found.get("origin") or {}
            shared = {"claim": entry["id"], "scale": scale, "decides": scale == (entry["scale"] or "")}
            yield {
                **{key: found.get(key) for key in ("verdict", "value", "low", "high", "unit", "n", "text")},
                **shared,
                **_tested(found, ""),
                "p": found.get("p"),
                "p_against": found.get("p_against"),
                "part": "",
                "reach_parameters": reach.get("parameters"),
                "reach_tokens": reach.get("tokens"),
                "reach_operations": reach.get("operations"),
                "small_scale": reach.get("small_scale"),
                "levelled": reach.get("levelled"),
                "corpora": " ".join(found.get("corpora") or []),
                "origin_known": origin.get("known"),
                "origin_runs": origin.get("runs"),
                "rule_changed_since": found.get("rule_changed_since"),
            }
            for part in found.get("parts") or []:
                said = {key: part.get(key) for key in ("verdict", "text", "p", "p_against")}
                yield {**shared, **said, **_tested(found, part["name"]), "part": part["name"]}


def _tested(found: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Mean and spread of the one difference that a verdict, or a part of it, rests on; none if there are several."""
    of = (found.get("rests") or {}).get(part, {}).get("of", [])
    return {key: of[0][key] for key in ("mean", "spread", *(("n",) if part else ()))} if len(of) == 1 else {}


def _claim_runs(judged: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in judged["claims"]:
        for scale, found in entry["at"].items():
            for run in judged["sets"].get(found.get("runs"), []):
                yield {"claim": entry["id"], "scale": scale, "run": run}


def _power() -> Iterator[dict[str, Any]]:
    for claim, parts in read_content("power", POWER).items():
        for part in parts:
            yield {**part, "claim": claim}


def _resource(folder: Path, name: str, frame: pd.DataFrame, meanings: Mapping[str, str]) -> dict[str, Any]:
    fields: Any = build_table_schema(frame, index=False, version=False)["fields"]
    path = folder / f"{name}.parquet"
    return {
        "name": name,
        "path": path.name,
        "format": "parquet",
        "bytes": path.stat().st_size,
        "hash": f"sha256:{paths.file_sha256(path)}",
        "schema": {"fields": [{**field, "description": meanings[field["name"]]} for field in fields]},
    }


def _package(resources: list[dict[str, Any]]) -> dict[str, Any]:
    cited = citation()
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "allmlp-verdicts",
        "title": cited["title"],
        "version": str(cited["version"]),
        "licenses": [{"name": cited["license"]}],
        "contributors": [{"title": cited["by"]}],
        "resources": [*resources, {"name": RULES, "path": f"{RULES}.json", "format": "json"}],
    }
