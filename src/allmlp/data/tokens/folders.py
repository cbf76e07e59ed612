"""Folders of prepared data: written beside their place and named in one step, and checked when they are read.

`meta.json` in each describes it, with the size and the sha256 of every other file.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from allmlp.common import formats, paths
from allmlp.common.atomic import sync, temporary_path
from allmlp.common.errors import UserError
from allmlp.data.tokens.shards import write_error

_verified: set[tuple[str, int, int]] = set()  # path, size, time of the files verified in this process


@contextmanager
def partial_folder(folder: Path) -> Iterator[Path]:
    """A hidden folder beside `folder` to write in; it is removed afterwards, after a failure too.

    Leftovers of killed processes are removed first, those of live processes are not.
    """
    try:
        partial = temporary_path(folder)
        partial.mkdir()
    except OSError as error:
        raise write_error(folder, 0, error) from error
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def seal(partial: Path, meta: dict[str, Any]) -> dict[str, Any]:
    """Write `meta.json` into `partial`, with the size and the sha256 of every file there; returns its content."""
    files = sorted(partial.iterdir())
    meta = {
        **meta,
        "sizes": {path.name: path.stat().st_size for path in files},
        "sha256": {path.name: paths.file_sha256(path) for path in files},
    }
    (partial / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for path in partial.iterdir():
        sync(path)
    return meta


def publish(partial: Path, folder: Path) -> None:
    """Give `partial` its name in one step, unless a folder with the same content is there already."""
    try:
        partial.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        there = folder / "meta.json"
        if not there.is_file():  # Snakemake removes it before it makes the folder again
            shutil.rmtree(folder)
            partial.rename(folder)
        elif there.read_bytes() != (partial / "meta.json").read_bytes():
            raise UserError(f"{folder}: is there already, with other tokens. Delete it and run again.") from None


class Folder:
    """A folder of prepared data, opened: its files are compared with the sha256 in `meta.json`, once per process.

    Raises UserError when the folder is not there, or a file in it is missing, truncated or changed.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        path = self.folder / "meta.json"
        try:
            content = formats.parse_json(path.read_text(encoding="utf-8"))
            self.meta: dict[str, Any] = formats.check_format("tokens", path, content)
            self._read_meta()
            expected = {name: (self.meta["sizes"][name], digest) for name, digest in self.meta["sha256"].items()}
        except FileNotFoundError:
            corpus = self.folder.name.rpartition("-")[0] or self.folder.name
            raise UserError(f"{self.folder}: is not here, or not whole. `allmlp tokenize {corpus}` makes it.") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}). {self._way_out()}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: damaged, or of other data ({error!r}). {self._way_out()}") from error
        for name in filter(self._is_read, sorted(expected)):
            self._check(self.folder / name, *expected[name])

    def _read_meta(self) -> None:
        """Take attributes from `meta`; may raise KeyError, ValueError or TypeError."""

    def _is_read(self, name: str) -> bool:
        """Is this file read, and so checked?"""
        return True

    def _way_out(self) -> str:
        corpus = self.folder.name.rpartition("-")[0] or self.folder.name
        return f"Delete the folder {self.folder} and run `allmlp tokenize {corpus}`."

    def _check(self, path: Path, size: int, expected: str) -> None:
        if not path.is_file():
            raise UserError(f"{path}: is missing. {self._way_out()}")
        status = path.stat()
        key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
        if status.st_size == size and key in _verified:
            return
        found = paths.file_sha256(path)
        if status.st_size != size or found != expected:
            raise UserError(
                f"{path}: not what was written: {status.st_size:,} bytes with sha256 {found}, "
                f"but meta.json has {size:,} bytes with sha256 {expected}. {self._way_out()}"
            )
        _verified.add(key)
