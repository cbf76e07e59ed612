"""The exception for users."""

import sys


class UserError(Exception):
    """A fault that the user can correct. One message names the file, the value and the way out.

    The command line prints it without a traceback and exits with status 2.
    """


def warn(message: str) -> None:
    """Print a warning and go on: a limit met after the work does not cost its results."""
    print(f"warning: {message}", file=sys.stderr)
