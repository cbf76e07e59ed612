"""A file from a URL, fetched once. A broken transfer is continued, a file with another sha256 or too large refused."""

import hashlib
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

from filelock import FileLock

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.data.corpora import addresses
from allmlp.data.corpora.local import remembered_sha256

CHUNK = 1 << 20  # bytes read at once
TRIES = 5
TIMEOUT = 60  # seconds without a byte
LARGEST = 1 << 35  # bytes of a file


class _SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect to an address that parameters may name, and to no other."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        try:
            return super().redirect_request(req, fp, code, msg, headers, addresses.check_url(newurl))
        except ValueError as error:
            raise UserError(f"{req.full_url}: leads to an address that {error}. Correct the URL.") from None


def fetch(url: str, sha256: str | None, root: Path) -> Path:
    """The file, in the folder work/downloads of `root`; fetched if it is not there.

    UserError when the server cannot be reached or ends early several times, the disk is full, or the file has another
    sha256; such a file is removed.
    """
    name = f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{url.rstrip('/').rpartition('/')[2][-100:]}"
    path = root / "work" / "downloads" / name
    if not path.is_file():
        partial = path.with_name(f"{name}.part")
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(partial.with_suffix(".lock")):  # one process fetches, others wait
            if not path.is_file():
                _fetch_missing(url, partial)
                _check(url, partial, sha256, remembered=None)
                partial.replace(path)
            return path
    _check(url, path, sha256, remembered=root)
    return path


def _fetch_missing(url: str, partial: Path) -> None:
    """Fetch the missing bytes; continue up to TRIES times where the connection breaks."""
    reason: object = ""
    for _ in range(TRIES):
        try:
            if _fetch_rest(url, partial):
                return
            reason = "the connection ended early"
        except urllib.error.HTTPError as error:
            raise UserError(f"{url}: the server says {error.code} {error.reason}. Correct the URL.") from error
        except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", None) or error
        except OSError as error:
            raise UserError(
                f"{partial}: cannot be written ({error.strerror or error}). Make room and run again."
            ) from error
    there = partial.stat().st_size if partial.is_file() else 0
    raise UserError(
        f"{url}: cannot be fetched ({reason}); {there:,} bytes are there. "
        "Run again with a network: it goes on from there."
    )


def _fetch_rest(url: str, partial: Path) -> bool:
    """Append the bytes after those that are there. Is the file whole now, by the server's length?"""
    have = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.build_opener(_SecureRedirects).open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # no byte follows: it was whole
            return True
        raise
    with response:
        continues = response.status == 206
        length = response.headers.get("Content-Length")
        whole = None if length is None else int(length) + (have if continues else 0)
        with partial.open("ab" if continues else "wb") as file:
            while piece := response.read(CHUNK):
                if file.tell() + len(piece) > LARGEST:
                    raise UserError(f"{url}: has more than {LARGEST:,} bytes. Correct the URL.")
                file.write(piece)
    return whole is None or partial.stat().st_size == whole


def _check(url: str, path: Path, expected: str | None, remembered: Path | None) -> None:
    if expected is None:
        return
    found = remembered_sha256(path, remembered) if remembered is not None else paths.file_sha256(path)
    if found != expected:
        path.unlink()
        raise UserError(
            f"{url}: has sha256 {found}, its entry in config/corpora.yaml says {expected}. The file was removed. "
            "Correct `sha256:`, or run again if the transfer was at fault."
        )
