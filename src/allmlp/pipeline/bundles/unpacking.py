"""`allmlp unpack`: take the files of a bundle that are newer than those here. Everything in it is checked first."""

import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
from allmlp.measurements import store
from allmlp.pipeline.bundles.members import FORMAT, MANIFEST, check_form, check_name
from allmlp.pipeline.bundles.states import COMPLETE, newest_state

MOST_BYTES = 4 << 30  # bytes after unpacking
UNQUESTIONED, EXPANSION = 1 << 26, 200  # bytes that any bundle may unpack to; times its size that a larger one may
LONGEST_HEADER = 1 << 20  # bytes of a long name, which tarfile reads whole
FILE, EXTENDED = (tarfile.REGTYPE, tarfile.AREGTYPE), (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME)
NOTHING = "Nothing was unpacked."
AGAIN = "Copy it again, or pack it again."


class _Header(tarfile.TarInfo):
    """The header of a plain file, or of its long name. ValueError for any other, before tarfile reads what follows."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """The header in a block of 512 bytes."""
        found = super().frombuf(buf, encoding, errors)
        if found.type not in (*FILE, *EXTENDED) or (found.type in EXTENDED and found.size > LONGEST_HEADER):
            raise ValueError(
                f"{found.name[:200]!r} has {found.size:,} bytes of kind {found.type!r}, which no bundle has"
            )
        return found


def unpack(file: Path) -> None:
    """Take newer files. UserError, and nothing written, for a bundle with any fault."""
    manifest = {name: entry for name, entry, _ in check_members(file)}
    taken, notes = choose(manifest)
    with ExitStack() as stack:
        for run in sorted({name.split("/")[2] for name in taken if name.startswith("work/runs/")}):
            try:
                stack.enter_context(hold(Path("work/runs") / run / "lock", f"run {run}"))
            except UserError as error:
                notes.append(f"left: {error}")
                taken = {name for name in taken if not name.startswith(f"work/runs/{run}/")}
        for name, _, content in check_members(file):
            if name in taken:
                paths.write_atomically(Path(name), content)
    for note in notes:
        print(note)
    kinds = Counter("/".join(name.split("/")[:2]) for name in taken)
    said = ", ".join(f"{count} under {kind}" for kind, count in sorted(kinds.items())) or "nothing"
    print(f"{file}: took {said}, of {len(manifest)} files", flush=True)


def check_members(file: Path) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """(name, manifest entry, content) of each member, in order and checked; that none is missing comes last."""
    try:
        with (
            pa.input_stream(str(file), compression="zstd") as stream,
            tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as tar,
        ):
            manifest = _manifest(tar)
            _check_size(manifest, file.stat().st_size)
            waiting = dict(manifest)
            while (about := tar.next()) is not None:
                check_name(about.name)
                if not about.isreg() or about.name not in waiting:
                    raise UserError(
                        f"{about.name[:200]!r}: is no file of the manifest, or stands twice. {NOTHING} {AGAIN}"
                    )
                entry = waiting.pop(about.name)
                content = _content(tar, about, entry)
                check_form(about.name, content)
                yield about.name, entry, content
    except FileNotFoundError:
        raise UserError(f"{file}: no such file. Give the path of what `allmlp pack` wrote.") from None
    except (OSError, EOFError, ValueError, tarfile.TarError) as error:  # Arrow's errors are of these kinds
        raise UserError(f"{file}: is no whole bundle ({error}). {NOTHING} Copy it again.") from error
    if waiting:
        raise UserError(f"{file}: lacks {min(waiting)}. {NOTHING} Copy it again.")


def _manifest(tar: tarfile.TarFile) -> dict[str, dict[str, Any]]:
    """name -> {bytes, sha256}: the first member."""
    about = tar.next()
    if about is None or about.name != MANIFEST or not about.isreg() or about.size > MOST_BYTES >> 8:
        raise UserError(
            f"the first member is not {MANIFEST}: this is no bundle. {NOTHING} Give a file that `allmlp pack` wrote."
        )
    stream = tar.extractfile(about)
    found = formats.parse_json(stream.read() if stream else b"")
    formats.check_format("bundle", MANIFEST, found)
    try:
        if found["format"] != FORMAT:
            raise UserError(
                f"the bundle is of format {found['format']}, this code reads {FORMAT}. {NOTHING} "
                "Use one commit on both machines."
            )
        entries: dict[str, dict[str, Any]] = found["members"]
        for name, entry in entries.items():
            if not re.fullmatch("[0-9a-f]{64}", entry["sha256"]) or not 0 <= entry["bytes"] <= MOST_BYTES:
                raise ValueError(f"the entry of {name[:200]!r}")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{MANIFEST}: is damaged ({error!r}). {NOTHING} {AGAIN}") from error
    return entries


def _check_size(manifest: dict[str, dict[str, Any]], size: int) -> None:
    """UserError for what no bundle of this size unpacks to."""
    total = sum(entry["bytes"] for entry in manifest.values())
    if total > MOST_BYTES or total > max(UNQUESTIONED, EXPANSION * size):
        raise UserError(
            f"its {size:,} bytes would unpack to {total / 2**20:,.0f} MiB, which no bundle does. {NOTHING} {AGAIN}"
        )


def _content(tar: tarfile.TarFile, about: tarfile.TarInfo, entry: dict[str, Any]) -> bytes:
    if about.size != entry["bytes"]:
        raise UserError(f"{about.name}: has {about.size} bytes, {MANIFEST} says {entry['bytes']}. {NOTHING} {AGAIN}")
    stream = tar.extractfile(about)
    content = stream.read() if stream else b""
    if (found := sha256(content).hexdigest()) != entry["sha256"]:
        raise UserError(
            f"{about.name}: sha256 is {found[:8]}.., {MANIFEST} says {entry['sha256'][:8]}.. {NOTHING} {AGAIN}"
        )
    return content


def choose(manifest: dict[str, dict[str, Any]]) -> tuple[set[str], list[str]]:
    """The members to take, and why others are not: no older state replaces a newer one, nothing replaces finished
    work."""
    folders: dict[str, list[str]] = {}
    for name in manifest:
        folders.setdefault(name.rsplit("/", 1)[0], []).append(name)
    taken, notes = set(), []
    for folder, names in folders.items():
        if folder.startswith("work/runs/"):
            new, note = _state(Path(folder), names)
            notes += [note] if note else []
        elif folder.startswith("work/measurements/"):
            here = [name for name in names if Path(name).is_file()]
            new = [name for name in names if name not in here and not _is_stored(name)]
            other = [name for name in here if paths.file_sha256(Path(name)) != manifest[name]["sha256"]]
            notes += [f"left: {name}: another is here already" for name in other]
        elif folder.startswith("results/"):
            whole = "final.safetensors" if folder.startswith("results/checkpoints/") else "meta.json"
            new = [] if (Path(folder) / whole).is_file() else names
        else:  # timings of trainings, and the plan, of which the last one counts
            new = [name for name in names if name == "work/plan.json" or not Path(name).is_file()]
        taken |= set(new)
    return taken, notes


def _is_stored(name: str) -> bool:
    """Is the content of a run's own file in the store?"""
    study, measure, file = name.split("/")[-3:]
    run, recipe = file.removesuffix(".parquet").rsplit("-r", 1)
    return (run, int(recipe)) in store.read_measure(study, measure).places


def _state(folder: Path, names: list[str]) -> tuple[list[str], str]:
    """The files of a run's state if it is further than the one here; else the reason."""
    run = folder.name
    if (Path("results/checkpoints") / run / "final.safetensors").is_file():
        return [], f"left: {run}: is trained here"
    steps = [int(found[1]) for name in names if (found := re.search(r"/state-(\d+)\.json$", name))]
    brought = COMPLETE if f"{folder}/complete" in names else max(steps, default=-1)
    here = newest_state(run)[0]
    if brought > here:
        return names, ""
    return [], "" if brought == here else f"left: {run}: is at step {here} here, at {brought} in the bundle"
