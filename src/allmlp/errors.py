"""The one exception that a user is meant to read."""


class UserError(Exception):
    """Something that the user can mend. Names the file, the value and the way out, in one message.

    The command line prints it without a traceback and exits with status 2.
    """
