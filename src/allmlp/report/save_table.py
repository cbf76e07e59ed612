"""A table as a file: CSV with six digits."""

from pathlib import Path

import pandas as pd

from allmlp.common import paths


def save_table(table: pd.DataFrame, file: Path) -> None:
    """Write a CSV file."""
    shown = table.copy()
    for name in shown.select_dtypes("float"):
        shown[name] = shown[name].map(lambda value: f"{value:.6g}")
    paths.write_atomically(file, shown.to_csv(index=False))
