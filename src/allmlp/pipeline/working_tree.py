"""Results are made from what git has: sources, settings and parameters that differ from HEAD are named first."""

from pathlib import Path

from allmlp.common import git
from allmlp.common.errors import UserError, warn
from allmlp.measurements import origins

PLACES = ("src", "config", "params.yaml")
NAMED = 8


def changed_files(root: Path) -> list[str]:
    """Files of PLACES that differ from git's HEAD, new ones too; none without a repository of this project."""
    if not origins.head_tree(root):
        return []
    words = ("status", "--porcelain", "--no-renames", "--untracked-files=all", "-z", "--", *PLACES)
    return [entry[3:] for entry in git.output(root, *words).decode().split("\0") if entry]


def changed_files_line(root: Path) -> str:
    """The changed files in a line; empty without any."""
    files = changed_files(root)
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return f"{', '.join(files[:NAMED])}{more}" if files else ""


def refuse(root: Path) -> None:
    """UserError where files differ."""
    if files := changed_files_line(root):
        raise UserError(
            f"{files}: not as in git's HEAD, so nobody could look up what made the results. Commit the change, or go "
            "on with `--dirty`."
        )


def caution(root: Path) -> None:
    """Warn where files differ."""
    if files := changed_files_line(root):
        warn(f"{files}: not as in git's HEAD, so nobody can look up what makes these results. Commit the change first.")
