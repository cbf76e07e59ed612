"""Rules, figures and tables that fail on the measurements that they are given."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from allmlp.common import paths
from allmlp.common.errors import UserError, error_line


class UnsuitedError(UserError):
    """The measurements are not what a rule, a figure or a table was written for, for example all NaN.

    For the project's own that is a fault of the code. For a user's it must not cost the rest of the report.
    """


@contextmanager
def named(what: str, said: type[Exception] = UserError) -> Iterator[None]:
    """UnsuitedError, with `what` failed and the line, for any error but a UserError and one that is `said` already."""
    try:
        yield
    except (UserError, said):
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in at if paths.PACKAGE in Path(frame.filename).parents] or at
        why = f"{type(error).__name__}: {error_line(error)[:200]}"
        raise UnsuitedError(f"{what} ({own[-1].filename}:{own[-1].lineno}): {why}") from error
