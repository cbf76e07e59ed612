"""Measurements in git, in parts: results/measurements/<study>/<measure>/<digest>.parquet.

A part has the rows of many runs and is named after its bytes. Parts are only added, so those of two machines never
conflict, and the same rows are the same file. A run in several parts is read once.

A part has the columns of `measurement.Measurement`, then those of the runs' own files. Its column `since` is empty
until `rewrite` merges parts; until then the commit that added the part counts.
"""

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from allmlp.common import formats, paths
from allmlp.common.errors import UserError, error_line
from allmlp.measurements import measurement, safe_parquet
from allmlp.measurements.measurement import Measurement
from allmlp.spec.run import Run

STORE = Path("results/measurements")
ABOUT = Measurement._fields
DIGITS = 16  # of the digest that names a part
TEXTS = pa.dictionary(pa.int32(), pa.string())
RECIPES = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
Key = tuple[str, int]  # run, recipe of the measure
A_MOMENT_NS = 2_000_000_000  # longer than a file system's clock ticks

_listed: dict[str, tuple[int, tuple[str, ...]]] = {}  # folder of a measure -> when it changed, and its parts


class Place(NamedTuple):
    """Where a measurement's rows lie."""

    part: Path
    start: int
    stop: int


@dataclass(frozen=True)
class StoredMeasurements:
    """The stored measurements of one measure of a study. `every`: including those in several parts."""

    every: tuple[tuple[Measurement, Place], ...] = ()
    _columns: dict[Path, list[Any]] = field(default_factory=dict, compare=False, repr=False)  # of parts, as numpy
    _digests: dict[Place, str] = field(default_factory=dict, compare=False, repr=False)
    _first_rows: dict[Key, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def places(self) -> dict[Key, tuple[Measurement, Place]]:
        """Each measurement once, sorted. Between two different ones, the choice depends only on their rows."""
        found: dict[Key, list[tuple[Measurement, Place]]] = defaultdict(list)
        for one in self.every:
            found[one[0].key].append(one)
        return {key: min(of, key=self._row_digest) if len(of) > 1 else of[0] for key, of in sorted(found.items())}

    @cached_property
    def measurements_by_settings(self) -> dict[str, list[Measurement]]:
        """settings -> their measurements, by all recipes."""
        found: dict[str, list[Measurement]] = defaultdict(list)
        for one, _ in self.places.values():
            found[one.settings].append(one)
        return found

    def rows(self, key: Key) -> pa.Table:
        """The rows of one run, as in its own file."""
        part, start, stop = self._place(key)
        return _rows(part).slice(start, stop - start)

    def first_row(self, key: Key) -> dict[str, Any]:
        """The first row of one run as Python values, remembered: searches are asked for theirs again and again."""
        if key not in self._first_rows:
            rows = self.rows(key)
            self._first_rows[key] = {name: rows[name][0].as_py() for name in rows.column_names}
        return self._first_rows[key]

    def _place(self, key: Key) -> Place:
        if key not in self.places:
            raise UserError(f"{STORE}: has no measurement of {key[0]} by recipe {key[1]}. Run `allmlp select`.")
        return self.places[key][1]

    def count(self, key: Key) -> int:
        """The number of rows of one run."""
        _, start, stop = self._place(key)
        return stop - start

    def table(self, keys: Iterable[Key]) -> pa.Table:
        """The rows of these runs, in this order."""
        return pa.concat_tables([self.rows(key) for key in keys], promote_options="permissive")

    def digest(self, keys: Iterable[Key]) -> str:
        """A digest of the rows of these runs, independent of the parts."""
        return paths.digest([[*key, self._row_digest(self.places[key])] for key in keys], DIGITS)

    def _row_digest(self, one: tuple[Measurement, Place]) -> str:
        if one[1] not in self._digests:
            self._digests[one[1]] = self._hash_rows(*one[1])
        return self._digests[one[1]]

    def _hash_rows(self, part: Path, start: int, stop: int) -> str:
        if part not in self._columns:
            whole = _rows(part).drop_columns("run")
            names = [f"{column.name} {column.type}".encode() for column in whole.schema]
            self._columns[part] = list(zip(names, (column.to_numpy() for column in whole.columns), strict=True))
        digest = sha256()
        for name, values in self._columns[part]:
            digest.update(name)
            some = values[start:stop]
            digest.update("\0".join(map(str, some)).encode() if some.dtype == object else some.tobytes())
        return digest.hexdigest()[:DIGITS]


def read_measure(study: str, measure: str) -> StoredMeasurements:
    """The stored measurements of a measure, in the working directory."""
    return _load_files(_files(study, measure))


def measures() -> list[tuple[str, str]]:
    """Study and measure of all stored measurements."""
    return [(folder.parent.name, folder.name) for folder in sorted(STORE.glob("*/*")) if folder.is_dir()]


def parts(study: str, measure: str) -> tuple[Path, ...]:
    """The files of a measure. UserError for one that is no part."""
    return tuple(map(Path, _files(study, measure)))


def part_digest(content: bytes) -> str:
    """The name of a part with these bytes."""
    return sha256(content).hexdigest()[:DIGITS]


def _files(study: str, measure: str) -> tuple[str, ...]:
    """Their absolute paths as text: they are asked for tens of thousands of times, and listed when the folder changed.

    A folder that changed a moment ago is listed each time, since a further change may leave it the same time.
    """
    folder = f"{os.getcwd()}/{STORE}/{study}/{measure}"
    try:
        changed = os.stat(folder).st_mtime_ns
    except FileNotFoundError:
        return ()
    if (known := _listed.get(folder)) and known[0] == changed:
        return known[1]
    files = tuple(_list_parts(folder, f"{study}/{measure}"))
    if time.time_ns() - changed > A_MOMENT_NS:
        _listed[folder] = changed, files
    return files


def _list_parts(folder: str, of: str) -> Iterator[str]:
    for name in sorted(os.listdir(folder)):
        if name[0] == ".":
            continue
        if len(name) != DIGITS + len(".parquet") or not name.endswith(".parquet"):
            raise UserError(
                f"{STORE}/{of}/{name}: is no part of the store, its name is no digest. A run's own file "
                f"belongs in work/measurements/{of}: move it there, and `allmlp select` takes it in."
            )
        yield f"{folder}/{name}"


@lru_cache(maxsize=512)
def _load_files(files: tuple[str, ...]) -> StoredMeasurements:
    """Files of the same names are the same files, because their names are digests."""
    return StoredMeasurements(tuple(one for file in files for one in _split(Path(file))))


def _split(part: Path) -> Iterator[tuple[Measurement, Place]]:
    """The measurements of a part: its rows, cut where their description changes."""
    table = _read(part, ABOUT)
    about = [column.combine_chunks() for column in table.select(ABOUT).unify_dictionaries().columns]
    codes = np.array([np.from_dlpack(column.indices) for column in about])  # to_numpy would import pandas
    starts = [0, *(np.flatnonzero((codes[:, 1:] != codes[:, :-1]).any(axis=0)) + 1).tolist()]
    texts = [column.dictionary.to_pylist() for column in about]
    for start, stop in zip(starts, [*starts[1:], len(table)], strict=True):
        run, settings, recipes, since = (of[code] for of, code in zip(texts, codes[:, start], strict=True))
        yield Measurement(run, settings, tuple(map(int, recipes.split("."))), since), Place(part, start, stop)


@lru_cache(maxsize=512)
def _read(part: Path, names: tuple[str, ...] | None = None) -> pa.Table:
    """A part's rows, or these columns of them. Its digest comes first: damaged Parquet may read as other numbers."""
    way_out = f"`git checkout {part}`, or delete it and measure again."
    try:
        content = part.read_bytes()
        if part_digest(content) != part.stem:
            raise UserError(f"{part}: its bytes are not those that its name is the digest of. {way_out}")
        table = safe_parquet.read(content, encoded=ABOUT, names=names)
        said = {"format": int((table.schema.metadata or {}).get(b"format", 1))}
        lacking = [name for name in ABOUT if name not in table.column_names]
        if not lacking and any(column.type != TEXTS or column.null_count for column in table.select(ABOUT).columns):
            raise ValueError("a description is no text")
        if not lacking:
            if not len(table):
                raise ValueError("it has no rows")
            if not all(map(RECIPES.fullmatch, table["recipes"].unique().to_pylist())):
                raise ValueError("recipes are no numbers")
    except (OSError, pa.ArrowException, ValueError) as error:
        raise UserError(f"{part}: cannot be read as a part of the store ({error_line(error)}). {way_out}") from error
    formats.check_format("measurement", part, said)
    if lacking:
        raise UserError(f"{part}: has no column {', '.join(lacking)}, so it is no part of the store. {way_out}")
    return table


@lru_cache(maxsize=512)
def _rows(part: Path) -> pa.Table:
    """A part's rows as in the runs' own files."""
    table = _read(part).drop_columns(list(ABOUT[1:]))
    return table.set_column(table.column_names.index("run"), "run", table["run"].cast(pa.string()))


def write(study: str, measure: str, taken: Iterable[tuple[Measurement, pa.Table]]) -> list[Path]:
    """Add measurements as a part, or as several if their columns or types differ. Returns the files."""
    groups: dict[str, list[pa.Table]] = defaultdict(list)
    for one, rows in sorted(taken, key=lambda of: of[0]):
        table = _part_table(one, rows)
        groups[str(table.schema)].append(table)
    files = []
    for tables in groups.values():
        content = measurement.parquet(pa.concat_tables(tables))
        files.append(STORE / study / measure / f"{part_digest(content)}.parquet")
        paths.write_atomically(files[-1], content)
    return files


def _part_table(one: Measurement, rows: pa.Table) -> pa.Table:
    said = one._replace(recipes=".".join(map(str, one.recipes)))  # type: ignore[arg-type]
    columns = {name: pa.repeat(pa.scalar(text, pa.string()), len(rows)) for name, text in zip(ABOUT, said, strict=True)}
    for name in rows.column_names:
        column = rows[name]
        columns.setdefault(name, column.cast(pa.string()) if column.type == pa.large_string() else column)
    return pa.table(columns)


def rewrite(
    study: str, measure: str, taken: Iterable[tuple[Measurement, pa.Table]], since: Mapping[str, str]
) -> list[Path]:
    """Replace all stored measurements of a measure by these. `since`: settings -> their first commit."""
    old = parts(study, measure)
    new = write(study, measure, ((one._replace(since=since.get(one.settings, "")), rows) for one, rows in taken))
    for path in {*old} - {path.absolute() for path in new}:
        path.unlink()
    return new


def replace(
    study: str, measure: str, taken: list[tuple[Measurement, pa.Table]], since: Mapping[str, str]
) -> list[Path]:
    """Add measurements, replacing those with the same key."""
    stored, new = read_measure(study, measure), {one.key for one, _ in taken}
    if not new & stored.places.keys():
        return write(study, measure, taken)
    kept = [(one, stored.rows(key)) for key, (one, _) in stored.places.items() if key not in new]
    return rewrite(study, measure, [*kept, *taken], since)


def unstored_files(run: Run) -> dict[str, str]:
    """measure -> own file, for measurements of a run that are not in the store."""
    return {
        measure: file
        for measure, file in run.measurements.items()
        if run.keys[measure] not in read_measure(run.study, measure).places
    }


def missing_files(run: Run) -> dict[str, str]:
    """measure -> own file, for measurements that are neither in the store nor in work/ and must still be taken."""
    return {measure: file for measure, file in unstored_files(run).items() if not os.path.isfile(file)}


def add_measurements(runs: Iterable[Run]) -> list[Path]:
    """Make parts of the measurements of these runs that are in work/ but not in the store. Returns the files."""
    found: dict[tuple[str, str], dict[str, tuple[Measurement, pa.Table]]] = defaultdict(dict)
    for run, measure, file in new_measurements(runs):
        found[run.study, measure][file] = measurement.read(Path(file))
    return [path for (study, measure), of in sorted(found.items()) for path in write(study, measure, of.values())]


def new_measurements(runs: Iterable[Run]) -> Iterator[tuple[Run, str, str]]:
    """Run, measure and file of the measurements of these runs that are in work/ but not in the store."""
    there = {str(file) for file in Path("work/measurements").glob("*/*/*.parquet")}
    for run in runs if there else ():
        if not there.isdisjoint(run.measurements.values()):
            yield from ((run, measure, file) for measure, file in unstored_files(run).items() if file in there)
