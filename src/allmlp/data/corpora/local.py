"""A corpus made of the user's own files.

    corpora:
      tinystories:
        source: local
        files: [data/tinystories/*.txt.xz]
        separator: "<|endoftext|>"

.txt: with `separator`, the text between separators, stripped, is a document. Without one a file is one text, cut into
passages, each a document: memory stays flat, and one long text has a validation split too.
.md is read as .txt. .jsonl, .csv, .tsv and .parquet: one document per row. Blank documents are left out, and rows that
are null, which are counted. The name shows the compression.
"""

import contextlib
import glob
import hashlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Literal

from pydantic import Field

from allmlp.common import paths as places
from allmlp.common.errors import LONGEST, UserError, format_value
from allmlp.common.schema import StrictModel
from allmlp.data.corpora import reading, rows

RECIPE = 1
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm")
PASSAGE = 1 << 16  # characters of a passage of a text without separators
LONGEST_NAME = 255  # bytes, on every usual file system


class LocalCorpus(StrictModel):
    """Files of the user, in the order given (a glob's matches in sorted order), each file once."""

    source: Literal["local"] = "local"
    files: list[str] | str = Field(description="paths, folders or globs, relative to the project folder")
    field: str | None = Field(None, description=".jsonl: the field that holds the text")
    column: str | None = Field(None, description=".parquet, .csv, .tsv: the column that holds the text")
    separator: str | None = Field(None, min_length=1, description=".txt: what stands between two documents")
    drop_last: bool = Field(False, description="leave out what follows a file's last separator: it was cut off")
    passage: int | None = Field(None, ge=100, description="cut documents into passages of so many characters")
    limit: int | None = Field(None, ge=1, description="use only the first so many documents")

    def paths(self, root: Path) -> list[Path]:
        """The files. Raises UserError for a pattern that matches none, or a setting that does not fit."""
        found = matches(self.files, root)
        self._check_settings(found)
        return found

    def _check_settings(self, paths: list[Path]) -> None:
        """Check that each kind of file has its setting, and that no setting is unused."""
        kinds = {reading.kind(path): path for path in paths}
        settings = {"field": ((".jsonl",), self.field), "column": ((".parquet", ".csv", ".tsv"), self.column)}
        for name, (of, value) in settings.items():
            having = [path for kind, path in kinds.items() if kind in of]
            if having and value is None:
                raise UserError(f"{having[0]}: set `{name}:` to the {name} that holds the text.")
            if not having and value is not None:
                said = " or ".join(of)
                raise UserError(
                    f"{name}: {format_value(value)} is set, but the corpus has no {said} file. Remove `{name}:`."
                )
        if self.separator is not None and ".txt" not in kinds:
            raise UserError("separator: is set, but the corpus has no .txt file. Remove `separator:`.")
        if self.drop_last and self.separator is None:
            raise UserError("drop_last: needs `separator:`; without one there is no last document to drop.")

    def documents(self, root: Path) -> Iterator[str]:
        """The documents, one after the other; memory holds one document or a MB of text.

        UserError for a file that is not of the kind of its name, and a corpus without any text.
        """
        paths = self.paths(root)
        texts = (text for path in paths for text in self._full_texts(path))
        message = f"files: no text in {', '.join(map(str, paths[:5]))}. A corpus needs a document."
        return reading.require_texts(islice(texts, self.limit), message)

    def _full_texts(self, path: Path) -> Iterator[str]:
        """Without blank ones. A file that has no other is named."""
        empty = True
        for text in self._texts(path):
            if text and not text.isspace():
                empty = False
                yield text
        if empty:
            print(f"{path}: has no text and is skipped", file=sys.stderr, flush=True)

    def _texts(self, path: Path) -> Iterator[str]:
        kind = reading.kind(path)
        if kind == ".txt" and self.separator is None:
            yield from reading.passages(reading.text(path), self.passage or PASSAGE)
            return
        if kind == ".txt":
            documents = self._split_documents(path)
        elif kind == ".jsonl":
            documents = rows.json_rows(path, str(self.field))
        elif kind == ".parquet":
            documents = rows.parquet_rows(path, str(self.column))
        else:
            documents = rows.csv_rows(path, str(self.column), "\t" if kind == ".tsv" else ",")
        if self.passage is None:
            yield from documents
            return
        for document in documents:
            yield from reading.passages(iter([document]), self.passage)

    def _split_documents(self, path: Path) -> Iterator[str]:
        """Stripped; yielded one late, because the last one is known only at the end of the file."""
        before: str | None = None
        for document in reading.split_texts(path, str(self.separator)):
            if before is not None:
                yield before
            before = document.strip()
        if before is not None and not self.drop_last:
            yield before

    def sha256(self, root: Path) -> str:
        """Digest of the stored bytes: of one line `<sha256>  <kind, such as .txt>` per file.

        Paths and times do not change it.
        """
        lines = [f"{remembered_sha256(path, root)}  {reading.kind(path)}\n" for path in self.paths(root)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def matches(files: list[str] | str, root: Path, kinds: Collection[str] = reading.KINDS) -> list[Path]:
    """The files of paths, folders and globs relative to `root`, each once; of a folder those of `kinds`, at any depth.

    UserError for a pattern without a match.
    """
    patterns = [files] if isinstance(files, str) else files
    if not patterns:
        raise UserError("files: the list is empty. Name at least one file of this corpus.")
    found: dict[Path, None] = {}
    for pattern in patterns:
        where = root / Path(pattern).expanduser()
        if any(len(os.fsencode(part)) > LONGEST_NAME for part in where.parts):
            raise UserError(f"files: no file has a name as long as {format_value(pattern)}. Name one that is there.")
        if where.is_file():
            paths = [where]
        elif where.is_dir():
            paths = [path for path in sorted(where.rglob("*")) if reading.has_ending(path, kinds)]
        else:
            paths = _glob(pattern, root)
        paths = [path for path in paths if path.is_file()]
        if not paths and "[" in pattern and _glob(escaped := pattern.replace("[", "[[]"), root):
            raise UserError(f"files: nothing matches {pattern!r}: [ ] is a pattern there. Write {escaped!r}.")
        if not paths:
            raise UserError(f"files: nothing matches {format_value(pattern)}. {_advice(where, kinds)}")
        found.update(dict.fromkeys(paths))
    return list(found)


def _glob(pattern: str, root: Path) -> list[Path]:
    # the clone's own path may have brackets
    base = "" if Path(pattern).expanduser().is_absolute() else glob.escape(f"{root}{os.sep}")
    return [Path(name) for name in sorted(glob.glob(base + os.path.expanduser(pattern), recursive=True))]


def _advice(where: Path, kinds: Collection[str]) -> str:
    """What there is instead."""
    folder = where if where.is_dir() else next(parent for parent in where.parents if parent.is_dir())
    pictures = (path for path in folder.rglob("*") if path.suffix.lower() in PICTURES)
    if ".npz" in kinds and where.is_dir() and (picture := next(pictures, None)):
        return f"It has pictures, such as {picture.relative_to(folder)}: docs/corpora.md makes a Parquet file of them."
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    few = names[: max(1, sum(1 for end in accumulate(len(name) + 2 for name in names) if end <= LONGEST))]
    found = f"has {', '.join(few)}{' and others' * (len(names) > len(few))}" if names else "is empty"
    if names and (where.is_dir() or glob.has_magic(str(where))):
        found += f"; a folder is searched for {', '.join(kinds)}"
    return f"{folder} {found}. Put the file there, or name its place in corpora.local.yaml."


def remembered_sha256(path: Path, root: Path, unseen: Callable[[Path], None] | None = None) -> str:
    """sha256 of a file's bytes, cached in `root/work/sources.json` until its size or time differs.

    `unseen` is called with a file that is not cached, and may refuse it. UserError when the file cannot be read.
    """
    memory = root / "work" / "sources.json"
    try:
        status = path.stat()
        key = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}"
        known = _read(memory)
        if key in known:
            return known[key]
        if unseen:
            unseen(path)
        known[key] = places.file_sha256(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}).") from error
    # the cache only saves time, so a read-only folder is not an error
    with contextlib.suppress(UserError, OSError):
        places.write_atomically(memory, json.dumps(known, indent=0, sort_keys=True))
    return known[key]


def _read(path: Path) -> dict[str, str]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
