"""The exception for users."""

import errno
import os
import re
import sys

DISK = {
    getattr(errno, name)
    for name in ("EACCES", "EDQUOT", "EFBIG", "EIO", "ENOLCK", "ENOSPC", "ENOTDIR", "EPERM", "EROFS", "ESTALE")
}
CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
LONGEST = 72  # characters of a value, or of a list of names, in a message
BEGINNING, END = 10, 7  # characters of a longer value: with file, line and key a message has at most 200


class UserError(Exception):
    """A fault that the user can correct. One message names the file, the value and the way out.

    The command line prints it without a traceback and exits with status 2. `key`: the parameter that is wrong, where
    who raises it does not know in which file it stands.
    """

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def format_value(value: object) -> str:
    """A value as messages show it, without passwords: of one longer than LONGEST characters its two ends.

    >>> format_value({"rate": "fast"}), format_value("a" * 5000)
    ("{'rate': 'fast'}", "'aaaaaaaaa ... aaaaaa'")
    """
    said = redact_secrets(repr(value))
    return said if len(said) <= LONGEST else f"{said[:BEGINNING]} ... {said[-END:]}"


def parameter_error(key: str, value: object, why: str) -> UserError:
    """The error of one parameter."""
    return UserError(f"{key}={format_value(value)}: {why}", key)


def disk_error(error: OSError) -> UserError | None:
    """A full, read-only or failing disk as an error of the user's; None for any other fault."""
    if error.errno is None or error.errno not in DISK:
        return None
    place = error.filename or "the output of this command"
    return UserError(
        f"{place}: {os.strerror(error.errno)}. Make room, or let it be read and written, and run the same command "
        "again; what was finished before is there."
    )


def error_line(error: Exception) -> str:
    """What a library's error says, as part of a message: pyarrow's may have several lines."""
    return " ".join(str(error).split())


def redact_secrets(text: object, *secrets: str | None) -> str:
    """The text, for a message or a log, without names and passwords in URLs and without these secrets."""
    said = CREDENTIALS.sub("...@", str(text))
    for secret in filter(None, secrets):
        said = said.replace(secret, "...")
    return said


def warn(message: str) -> None:
    """Print a warning and go on: a limit met after the work does not cost its results."""
    print(f"warning: {message}", file=sys.stderr)
