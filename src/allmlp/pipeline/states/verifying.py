"""`allmlp verify`: are all results the bytes that were recorded? Every file is read again.

Recorded are: for measurements, in each part's name the digest of its bytes, and in git which parts there are; in the
pointers of checkpoints and tokens, and in dvc.lock for everything up to the report, DVC's MD5. What is only in the
remote is not verified.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from allmlp.common.dvc import locked_digests, md5, pointer_digests
from allmlp.measurements import store
from allmlp.pipeline.states import repository

GONE = "is in git and not here"


class Mismatch(NamedTuple):
    """A file that is not as recorded, and how it differs."""

    file: Path
    how: str


class Verification(NamedTuple):
    """How many files and folders were read, how many checkpoints and tokens are not here, and which are wrong."""

    read: int
    absent: int
    wrong: list[Mismatch]


def verify() -> Verification:
    """Compare everything that is here with what was recorded."""
    parts = [part.relative_to(Path.cwd()) for of in store.measures() for part in store.parts(*of)]
    wrong = [
        Mismatch(part, _describe_difference(part))
        for part in parts
        if store.part_digest(part.read_bytes()) != part.stem
    ]
    wrong += [Mismatch(part, GONE) for part in _committed_files(store.STORE) if not part.exists()]
    kept, made = pointer_digests(), locked_digests()
    here = {path: digest for path, digest in (kept | made).items() if path.exists()}
    wrong += [Mismatch(path, GONE) for path in made.keys() - here.keys()]
    for path, digest in here.items():
        if md5(path) != digest:
            wrong += list(_differing_files(path)) or [Mismatch(path, "another digest than recorded")]
    return Verification(len(parts) + len(here), len(kept.keys() - here.keys()), sorted({*wrong}))


def _committed_files(place: Path) -> list[Path]:
    """The files of git's HEAD in a folder."""
    listed = repository.git("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", place.as_posix())
    return [Path(name) for name in listed.split("\0") if name]


def _differing_files(path: Path) -> Iterator[Mismatch]:
    """The files of a wrong output that differ from those of git's HEAD."""
    here = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    if not (then := _committed_files(path)):
        return  # only DVC has these
    for file in sorted({*here, *then}):
        if not file.exists():
            yield Mismatch(file, GONE)
        elif repository.content("HEAD", file) != file.read_bytes():
            yield Mismatch(file, _describe_difference(file))


def _describe_difference(file: Path) -> str:
    """How a file differs from that of git's HEAD, down to the first column or byte."""
    now, then = file.read_bytes(), repository.content("HEAD", file)
    if then is None:
        return "not in git's HEAD"
    if file.suffix in (".parquet", ".csv"):
        try:
            return first_column(_table(now, file.suffix), _table(then, file.suffix))
        except (ValueError, OSError) as error:
            return f"cannot be read: {str(error).splitlines()[0]}"
    same = next((at for at, (a, b) in enumerate(zip(now, then, strict=False)) if a != b), min(len(now), len(then)))
    return f"differs from byte {same:,} of {len(then):,}"


def _table(content: bytes, suffix: str) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(content)) if suffix == ".parquet" else pd.read_csv(io.BytesIO(content))


def first_column(now: pd.DataFrame, then: pd.DataFrame) -> str:
    """The first column that differs between two tables, and by how much at most, relative to the recorded value."""
    if list(now.columns) != list(then.columns) or len(now) != len(then):
        return f"{len(now)} rows of {len(now.columns)} columns, recorded {len(then)} of {len(then.columns)}"
    for name in then.columns:
        a, b = now[name], then[name]
        if rows := int((~((a == b) | (a.isna() & b.isna()))).sum()):
            return f"column {name} differs in {rows} of {len(b)} rows{_relative_difference(a, b)}"
    return "equal values in other bytes"


def _relative_difference(a: Any, b: Any) -> str:
    if not (pd.api.types.is_numeric_dtype(a) and pd.api.types.is_numeric_dtype(b)):
        return ""
    relative = ((a.astype(float) - b.astype(float)).abs() / b.astype(float).abs()).max()
    return f", by up to {relative:.2g} of the recorded value"


def show(found: Verification) -> int:
    """Print what is wrong and a summary. Returns 1 if anything is, else 0."""
    for file, how in found.wrong:
        print(f"{file}: {how}")
    absent = (
        f"; {found.absent} checkpoints and tokens are not here (`dvc pull --allow-missing` brings them)"
        if found.absent
        else ""
    )
    print(f"{found.read} files and folders read, {len(found.wrong) or 'none'} not as recorded{absent}")
    return int(bool(found.wrong))
