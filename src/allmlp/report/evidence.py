"""Measurements of one study at one scale as tables: what verdicts, figures and tables are made from."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from allmlp import paths, studies
from allmlp.errors import UserError
from allmlp.measuring import read
from allmlp.params import SCALES
from allmlp.report.select import SELECTED


def selected() -> dict[str, Any]:
    """results/selected.json."""
    if not SELECTED.is_file():
        raise UserError(
            f"{SELECTED}: is missing. Run `allmlp select` (Snakemake does so by itself) or `git checkout {SELECTED}`."
        )
    return json.loads(SELECTED.read_text(encoding="utf-8"))


@dataclass
class Evidence:
    """The selected measurements of one study at one scale.

    `margin` and `paper` are those of the claim being judged, empty elsewhere.
    """

    study: str
    scale: str
    content: dict[str, Any]
    margin: dict[str, float] = field(default_factory=dict)
    paper: dict[str, Any] = field(default_factory=dict)
    seeds: int = 1
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False)

    def planned(self, measure: str) -> list[str]:
        """The runs that should have this measurement."""
        return self.content["planned"].get(measure, [])

    def measured(self, measure: str) -> list[str]:
        """Those that have it."""
        return [run for run in self.planned(measure) if run in self.content["measurements"].get(measure, {})]

    def complete(self, measures: list[str]) -> bool:
        """Is every planned run of these measures there (and at least one planned)?"""
        return all(self.planned(m) and len(self.measured(m)) == len(self.planned(m)) for m in measures)

    def seeds_of(self, measure: str) -> int:
        """The number of training seeds behind a measure."""
        return len({self.content["runs"][run]["seed"] for run in self.measured(measure)})

    def files(self, measure: str) -> dict[str, dict[str, Any]]:
        """run -> {file, sha256, older_recipe}."""
        return {run: self.content["measurements"][measure][run] for run in self.measured(measure)}

    def table(self, measure: str) -> pd.DataFrame:
        """All rows of a measure, with the labels of their runs as columns."""
        if measure not in self._tables:
            parts = []
            for run, entry in self.files(measure).items():
                rows, _ = self._read(entry)
                labels = self.content["runs"][run]["labels"]
                parts.append(rows.assign(**{key: value for key, value in labels.items() if key not in rows}))
            self._tables[measure] = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
        return self._tables[measure].copy()

    def _read(self, entry: dict[str, Any]) -> tuple[pd.DataFrame, dict]:
        path = Path(entry["file"])
        if not path.is_file() or paths.file_sha256(path) != entry["sha256"]:
            raise UserError(
                f"{path}: is missing or not the file that {SELECTED} names. `git checkout {path}`, or run snakemake."
            )
        return read(path)

    def rules(self, measure: str) -> list[dict[str, str]]:
        """The rule digests that were stored when each run was measured."""
        return [self._read(entry)[1].get("rules", {}) for entry in self.files(measure).values()]


def by_scale(study: str, content: dict[str, Any] | None = None) -> dict[str, Evidence]:
    """scale -> evidence, from the smallest scale to the largest, of a study's planned scales."""
    scales = (content or selected())["studies"].get(study, {})
    return {scale: Evidence(study, scale, scales[scale]) for scale in SCALES if scale in scales}


def largest(study: str, measures: list[str], content: dict[str, Any] | None = None) -> Evidence | None:
    """The largest scale whose planned runs all have these measures; None where there is none."""
    complete = [evidence for evidence in by_scale(study, content).values() if evidence.complete(measures)]
    return complete[-1] if complete else None


def paper_values(study: str) -> pd.DataFrame:
    """Every number of the paper that the claims hold: claim, key, value."""
    rows = [
        (claim["id"], key, value)
        for claim in studies.ledger(study)
        for key, value in (claim.get("paper") or {}).items()
    ]
    return pd.DataFrame(rows, columns=["claim", "key", "value"])
