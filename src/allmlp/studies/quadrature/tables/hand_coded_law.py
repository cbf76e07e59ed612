"""The law of the hand-coded family, a line per number of angles (003-own-3)."""

import math

import pandas as pd

from allmlp.studies.quadrature.hand_coded import regular_wobble

MEASURES = ["hand_coded_law"]
PAPER = ""  # not in the paper
CLAIMS = ["003-own-3"]
TITLE = "Largest prime that n hand-coded angles add"
CAPTION = (
    "n equally spaced angles of equal widths at one frequency: the wobble of the phase, measured and by its closed "
    "form (from 5 angles on), the p that it allows (π/wobble), the largest prime below which every prime was added "
    "without an error at every offset, the smallest with an error, and in how many cases (offset, prime) the law and "
    "the network disagree."
)
COLUMNS = ["n", "wobble_rad", "closed_form_rad", "pi_by_wobble_1", "perfect_up_to", "error_from", "disagreements"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """COLUMNS, all as text."""
    rows = tables["hand_coded_law"]
    return pd.DataFrame([_line(rows[rows["n"] == n], int(n)) for n in sorted(rows["n"].unique())], columns=COLUMNS)


def _line(rows: pd.DataFrame, n: int) -> dict[str, str]:
    perfect = rows["perfect"].astype(bool)
    wobble, failing = float(rows["wobble_rad"].mean()), rows.loc[~perfect, "p"]
    added = rows.loc[rows["p"] < failing.min(), "p"] if len(failing) else rows["p"]
    largest = int(rows["p"].max())
    return {
        "n": str(n),
        "wobble_rad": f"{wobble:.4g}",
        "closed_form_rad": f"{regular_wobble(n):.4g}" if n >= 5 else "",
        "pi_by_wobble_1": f"{math.pi / wobble:.1f}",
        "perfect_up_to": str(int(added.max())) if len(added) else "none",
        "error_from": str(int(failing.min())) if len(failing) else f"none up to {largest}",
        "disagreements": f"{int((perfect != rows['predicted_perfect'].astype(bool)).sum())} of {len(rows)}",
    }
