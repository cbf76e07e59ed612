"""allmlp: every experiment of five papers on all-MLP sequence models, run again and judged.

For notebooks: `allmlp.load(RUN)`, a trained run, and `allmlp.measurements(STUDY, MEASURE)`, a table.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allmlp.notebook import load as load
    from allmlp.notebook import measurements as measurements

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`load` and `measurements`, imported when they are used: most users of this package need neither."""
    if name in ("load", "measurements"):
        from allmlp import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'allmlp' has no attribute {name!r}")
