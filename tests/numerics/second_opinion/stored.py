"""The measurements of the runs that judge a claim, as rows: dictionaries of a run's labels and measured columns."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).parents[3]
STUDIES = ROOT / "src/allmlp/studies"
Row = dict[str, Any]
BySeed = dict[int, float]


@cache
def _json(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / path).read_text(encoding="utf-8"))
    return found


def judged() -> dict[str, dict[str, Any]]:
    """claim -> its entry in results/claims.json."""
    return {entry["id"]: entry for entry in _json("results/claims.json")["claims"]}


@cache
def ledger() -> dict[str, dict[str, Any]]:
    """claim -> its entry in its study's claims.yaml, with the study's name; none for `same_as` another."""
    files = sorted(STUDIES.glob("*/claims.yaml"))
    return {
        claim["id"]: {**claim, "study": file.parent.name}
        for file in files
        for claim in yaml.safe_load(file.read_text(encoding="utf-8"))
        if "same_as" not in claim
    }


@cache
def step_seconds() -> dict[str, list[float]]:
    """model -> seconds per step in each round of the benchmark on a CPU."""
    times = json.loads((STUDIES / "mixers/step_times.json").read_text(encoding="utf-8"))["cpu"]["models"]
    return {name: of["seconds"] for name, of in times.items()}


class Measured:
    """What was measured for one claim: the rows of its measures (`tables`), and the numbers of its rule."""

    def __init__(self, claim: str, tables: Mapping[str, list[Row]]) -> None:
        said = ledger()[claim]
        self.margin: dict[str, float] = said.get("margin") or {}
        self.paper: dict[str, Any] = said.get("paper") or {}
        self.seeds: int = said["needs"]["seeds"]
        self._tables = tables

    def every(self, measure: str) -> Iterable[Row]:
        """All rows of a measure."""
        return self._tables[measure]

    def rows(self, measure: str, **labels: Any) -> list[Row]:
        """The rows of a measure whose labels or columns have these values; a tuple: one of these."""
        return [
            row
            for row in self.every(measure)
            if all(row.get(key) in (of if isinstance(of, tuple) else (of,)) for key, of in labels.items())
        ]


class Stored(Measured):
    """What is in the store for one claim at one scale."""

    def __init__(self, claim: str, scale: str) -> None:
        super().__init__(claim, {})
        said = ledger()[claim]
        self.scale, self.study, self.measures = scale, said["study"], said["measures"]
        self._parts: list[str] = said.get("runs") or []
        self._selected = _json("results/selected.json")["studies"][self.study][scale]

    def every(self, measure: str) -> Iterable[Row]:
        """All rows of a measure."""
        return _rows(self.study, self.scale, measure, self._runs(measure))

    def _runs(self, measure: str) -> tuple[int, ...]:
        """The places of its runs: all that the plan has or, where some are missing, the last complete set."""
        selected = self._selected
        sets = [number for number, of in enumerate(selected["measures"]) if measure in of]
        places = [place for place, run in enumerate(selected["runs"]) if run[3] in sets]
        if self._parts:
            labels = selected["about"]
            places = [p for p in places if labels[selected["runs"][p][1]]["labels"].get("part") in self._parts]
        if any(set(selected["lacking"].get(one, ())) & set(places) for one in self.measures):
            of_parts = f" of {'+'.join(self._parts)}" if self._parts else ""
            places = selected["standing"]["+".join(self.measures) + of_parts][measure]
        return tuple(places)


@cache
def _rows(study: str, scale: str, measure: str, places: tuple[int, ...]) -> list[Row]:
    selected = _json("results/selected.json")["studies"][study][scale]
    recipe, older = selected["recipes"][measure], selected["older"].get(measure, {})
    runs = [selected["runs"][place] for place in places]
    stored = {tuple(older.get(run[0], (run[0], recipe))): run for run in runs}
    found: list[Row] = []
    for run, of_run in _stored(study, measure, frozenset(stored)).items():
        name, about, seed, _ = stored[run]
        labels = selected["about"][about]["labels"]
        found += [{**labels, **row, "run": name, "seed": seed} for row in of_run]
    return found


@cache
def _stored(study: str, measure: str, wanted: frozenset[tuple[str, int]]) -> dict[tuple[str, int], list[Row]]:
    """(run, recipe of the measure) -> its rows. A run in several parts of the store is read once."""
    names, found = pa.array(sorted({run for run, _ in wanted})), {}
    for file in sorted((ROOT / "results/measurements" / study / measure).glob("*.parquet")):
        table = pq.read_table(file)
        table = table.filter(pc.is_in(table["run"].cast(pa.string()), value_set=names))
        of_file: dict[tuple[str, int], list[Row]] = {}
        for row in table.to_pylist():
            key = row["run"], int(row["recipes"].rpartition(".")[2])
            if key in wanted:
                of_file.setdefault(key, []).append(row)
        found |= {key: rows for key, rows in of_file.items() if key not in found}
    return found


def by_seed(rows: Iterable[Row], column: str) -> BySeed:
    """seed -> the number of its one row; nan for none."""
    found: BySeed = {}
    for row in rows:
        assert row["seed"] not in found, f"two rows of seed {row['seed']}: {column}"
        found[row["seed"]] = number(row[column])
    return found


def number(value: Any) -> float:
    """A measured value; nan for a missing one."""
    return float("nan") if value is None else float(value)


def last(rows: Iterable[Row], by: str = "step") -> list[Row]:
    """Of each run the row of its last step."""
    ends: dict[str, Row] = {}
    for row in rows:
        if row["run"] not in ends or row[by] >= ends[row["run"]][by]:
            ends[row["run"]] = row
    return list(ends.values())


def grouped(rows: Iterable[Row], *keys: str) -> dict[Any, list[Row]]:
    """Values of these keys (one key: its value) -> the rows with them."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        key = tuple(row[one] for one in keys)
        found.setdefault(key[0] if len(keys) == 1 else key, []).append(row)
    return found


def minus(first: BySeed, second: BySeed) -> np.ndarray:
    """first - second by seed, for the seeds that both have, (n,)."""
    return np.array([first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())])


def values(of: BySeed) -> np.ndarray:
    """The numbers in the order of their seeds, (n,)."""
    return np.array([of[seed] for seed in sorted(of)])


def per_seed(rows: Iterable[Row], column: str, count: Callable[[np.ndarray], float]) -> np.ndarray:
    """A number of each seed from a column over its rows, (n,)."""
    of_seeds = grouped(rows, "seed").items()
    return values({seed: float(count(np.array([row[column] for row in of]))) for seed, of in of_seeds})
