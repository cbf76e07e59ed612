"""Streams of bytes and text from files: plain or as .xz, .gz, .zst.

No whole file is in memory: bytes come in pieces of about a MB, and a caller keeps one document.
Every fault of a file (truncated, corrupt, not UTF-8, a bomb) is a `UserError` that names the place.
"""

import codecs
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from allmlp.common.errors import UserError, format_value

CHUNK = 1 << 20  # bytes read at once
COMPRESSIONS = (".xz", ".gz", ".zst")
KINDS = (".txt", ".md", ".jsonl", ".csv", ".tsv", ".parquet")
LONGEST = 1 << 26  # characters of one document; more means a wrong separator
UNQUESTIONED = 1 << 24  # bytes that any file may expand to
EXPANSION = 200  # times its size that a larger one may; English has 3 to 5, a log of equal lines 50


def kind(path: Path) -> str:
    """One of KINDS by the file's name, without its compression; `.txt` for .md, which is read as text.

    UserError for any other name, and for a compressed .parquet (its pages are compressed already).
    """
    compressed = path.suffix in COMPRESSIONS
    name = path.with_suffix("") if compressed else path
    if name.suffix not in KINDS or (compressed and name.suffix == ".parquet"):
        raise UserError(
            f"{path}: cannot tell what this is. A corpus is made of {', '.join(KINDS[:-1])} files, plain or as "
            f".xz, .gz or .zst, and of .parquet files. Rename or convert it, or leave it out of `files:`."
        )
    return ".txt" if name.suffix == ".md" else name.suffix


def has_ending(path: Path, kinds: Collection[str]) -> bool:
    """Has a file's name one of these endings, before that of its compression?"""
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix in kinds


def _zst(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of all frames; unlike the library's reader, a truncated last frame is an error."""
    import zstandard

    frame = zstandard.ZstdDecompressor().decompressobj()
    while piece := file.read(1 << 10):  # small: 4 bytes may become 128 kB
        while piece:
            if frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
            if data := frame.decompress(piece):  # a block comes whole or not yet
                yield data
            piece = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise EOFError("compressed file ended before its last frame did")


def refuse_bomb(path: Path, size: int) -> None:
    """UserError if the file has expanded to so many bytes that it must be a bomb."""
    if size > UNQUESTIONED and size > EXPANSION * path.stat().st_size:
        raise UserError(
            f"{path}: expands to more than {EXPANSION} times its {path.stat().st_size:,} bytes. No text is so regular. "
            f"If you trust it, decompress it yourself, or write it again."
        )


def chunks(path: Path) -> Iterator[bytes]:
    """The decompressed bytes, no piece empty. Raises UserError for a truncated, corrupt or unreadable one."""
    size = 0
    for piece in _pieces(path):
        size += len(piece)
        refuse_bomb(path, size)
        yield piece


def _pieces(path: Path) -> Iterator[bytes]:
    import gzip
    import lzma

    import zstandard

    try:
        if path.suffix == ".zst":
            with path.open("rb") as raw:
                yield from _zst(raw)
            return
        opener: Any = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
        with opener(path, "rb") as file:
            while piece := file.read(CHUNK):
                yield piece
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise UserError(
            f"{path}: truncated or corrupt {path.suffix} file ({error}). Fetch or compress it again."
        ) from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}).") from error


def utf8_error(path: Path, offset: int, byte: int) -> UserError:
    """The error for a byte that is not UTF-8; `offset` in bytes of the uncompressed text."""
    return UserError(
        f"{path}: not UTF-8: byte 0x{byte:02x} at offset {offset:,} of the uncompressed text. "
        f"Convert the file (for example `iconv -f WINDOWS-1252 -t UTF-8`, or from UTF-16) and try again."
    )


def text(path: Path) -> Iterator[str]:
    """The text of a .txt file, in pieces of about a MB; a byte order mark at the start is dropped."""
    rest, offset = b"", 0
    pieces = chunks(path)
    ended = False
    while not ended:
        piece = next(pieces, b"")
        ended = not piece
        data = rest + piece
        try:
            decoded, used = codecs.utf_8_decode(data, "strict", ended)
        except UnicodeDecodeError as error:
            raise utf8_error(path, offset + error.start, data[error.start]) from None
        if "\0" in decoded:
            raise UserError(
                f"{path}: a NUL byte at offset {offset + data.index(0):,} of the uncompressed text, so it is no text. "
                f"Convert it if it is UTF-16 (`iconv -f UTF-16LE -t UTF-8`), or leave it out."
            )
        yield decoded.removeprefix("\ufeff") if offset == 0 else decoded
        rest, offset = data[used:], offset + used


def split_texts(path: Path, separator: str) -> Iterator[str]:
    """The texts before, between and after the separators of a .txt file, unstripped; the last may be empty.

    UserError when the separator never occurs, or not within 64 M characters.
    """
    rest, found = "", False
    for piece in text(path):
        start = max(0, len(rest) - len(separator) + 1)
        rest += piece
        position = 0
        while (end := rest.find(separator, max(start, position))) >= 0:
            found = True
            yield rest[position:end]
            position = end + len(separator)
        rest = rest[position:]
        if len(rest) > LONGEST:
            break
    if rest and (not found or len(rest) > LONGEST):
        crlf = "\n" in separator and "\r\n" in rest
        raise UserError(
            f"{path}: no separator {format_value(separator)} in {len(rest):,} characters. "
            + ("Its lines end in \\r\\n, which is kept: write so in `separator:`, " * crlf or "Correct `separator:`, ")
            + "or leave it out to read the file as one text."
        )
    yield rest


def require_texts(texts: Iterable[str], message: str) -> Iterator[str]:
    """The texts. UserError with that message if there is none."""
    empty = True
    for text in texts:
        empty = False
        yield text
    if empty:
        raise UserError(message)


def passages(pieces: Iterator[str], size: int) -> Iterator[str]:
    """A text cut into passages of `size / 2` to `size` characters, after a line end if possible, else a space.

    The joined passages are the text. Their ends do not depend on the ends of `pieces`.
    """
    rest = ""
    for piece in pieces:
        rest += piece
        start = 0
        while len(rest) - start >= size:
            stop = start + size
            middle = stop - size // 2
            end = rest.rfind("\n", middle, stop) + 1 or rest.rfind(" ", middle, stop) + 1 or stop
            yield rest[start:end]
            start = end
        rest = rest[start:]
    if rest:
        yield rest
