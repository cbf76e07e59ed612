"""Finished shards of a folder of tokens that is not whole yet: kept through a kill, and not made again.

    .c4-3f2a9c1b.unfinished/       train-00000.arrow, validation-00000.arrow, ...
    .c4-3f2a9c1b.unfinished.json   a span per full shard of training tokens, in their order
    .c4-3f2a9c1b.unfinished.lock   held by the process whose spans these are

A span is what one full shard of training tokens and the validation documents between them take. Its record holds the
place after its last document, the counts so far, and the size and sha256 of its files. Spans whose files are as they
were written are taken over by the next call; from the first damaged one on they are made again. If two processes
make the same tokens, only the one with the lock keeps spans; the other writes a folder of its own.
The lock lies beside the folder, which is renamed in the end.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from filelock import FileLock

from allmlp.common import formats, locks, paths
from allmlp.common.atomic import sync
from allmlp.common.errors import UserError


class FinishedSpans:
    """The finished spans of one folder. `made_from`: a digest of all that determines their bytes."""

    def __init__(self, folder: Path, made_from: str) -> None:
        self.of, self.made_from = folder, made_from
        self.folder = folder.with_name(f".{folder.name}.unfinished")
        self._records, self._lock_file = (
            self.folder.with_name(f"{self.folder.name}.{end}") for end in ("json", "lock")
        )
        self._lock: FileLock | None = None
        self._belongs_to_another = False
        self.spans: list[dict[str, Any]] = []
        if any(path.exists() for path in (self._records, self.folder, self._lock_file)) and self._is_owner():
            self.spans = self._intact_spans()
            if not self.spans:
                self.clear()

    def _is_owner(self) -> bool:
        """Is this the process that keeps spans here?"""
        if not self._belongs_to_another:
            self._lock = self._lock or locks.take(self._lock_file)
            self._belongs_to_another = self._lock is None
        return not self._belongs_to_another

    def _intact_spans(self) -> list[dict[str, Any]]:
        try:
            content = formats.parse_json(self._records.read_text(encoding="utf-8"))
            spans = content["spans"] if content["made_from"] == self.made_from else []
            good = [self._is_intact(span) for span in spans]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{self._records}: damaged ({error!r}). Delete it and run again.") from error
        return spans[: good.index(False)] if False in good else spans

    def _is_intact(self, span: dict[str, Any]) -> bool:
        for name, (size, digest) in span["files"].items():
            path = self.folder / name
            if not path.is_file() or path.stat().st_size != size or paths.file_sha256(path) != digest:
                return False
        return True

    @property
    def files(self) -> list[Path]:
        """The finished files, in the order in which they were made."""
        return [self.folder / name for span in self.spans for name in span["files"]]

    def keep(self, partial: Path, names: list[str], state: dict[str, Any]) -> None:
        """Take these files of `partial` over as the next span; `state` is what the next call goes on from."""
        if not self._is_owner():
            return
        self.folder.mkdir(exist_ok=True)
        files = {name: ((partial / name).stat().st_size, paths.file_sha256(partial / name)) for name in names}
        for name in names:
            sync(partial / name)
            (partial / name).rename(self.folder / name)
        sync(self.folder)
        spans = [*self.spans, {**state, "files": files}]
        paths.write_atomically(
            self._records, json.dumps({"made_from": self.made_from, "spans": spans}, indent=1) + "\n"
        )
        self.spans = spans

    def gather(self, partial: Path) -> Path:
        """The folder that holds all files: `partial`, or the finished ones with those of `partial` added.

        UserError where finished files have gone: another process has made the folder meanwhile.
        """
        if not self.spans:
            return partial
        finished = set(self.files)
        for path in set(self.folder.iterdir()) - finished if self.folder.is_dir() else ():
            path.unlink()
        if gone := sorted(path for path in finished if not path.is_file()):
            raise UserError(f"{gone[0]}: is gone. If another process has made {self.of}, all is well; else run again.")
        for path in partial.iterdir():
            path.rename(self.folder / path.name)
        self._records.unlink()
        return self.folder

    def clear(self) -> None:
        """Remove the finished spans, if they are this process's."""
        if self._lock:
            self._records.unlink(missing_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)
            self._lock_file.unlink(missing_ok=True)
            self.close()

    def close(self) -> None:
        """Leave the spans to the next call."""
        if self._lock:
            self._lock.release()
            self._lock = None

    def explain(self, error: UserError) -> UserError:
        """The error, with what is kept of the work before it."""
        if not self.spans:
            return error
        shards = "1 shard is" if len(self.spans) == 1 else f"{len(self.spans):,} shards are"
        return UserError(f"{error} {shards} finished and kept in {self.folder}: the same command goes on after them.")
