"""The one exception that a user is meant to read."""

import sys


class UserError(Exception):
    """Something that the user can mend. Names the file, the value and the way out, in one message.

    The command line prints it without a traceback and exits with status 2.
    """


def warn(message: str) -> None:
    """Say what the user should know, and go on: a limit that is met after the work takes no result away."""
    print(f"warning: {message}", file=sys.stderr)
