"""allmlp: every experiment of five papers on all-MLP sequence models, run again and judged.

For notebooks: `allmlp.load(RUN)`, a trained run, and `allmlp.table(STUDY, MEASURE)`, its measurements.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allmlp.pipeline.notebook import load as load
    from allmlp.pipeline.notebook import table as table

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`load` and `table`, imported when they are used: most users of this package need neither."""
    if name in ("load", "table"):
        from allmlp.pipeline import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'allmlp' has no attribute {name!r}")
