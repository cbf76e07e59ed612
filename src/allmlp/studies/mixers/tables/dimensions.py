"""Johnson-Lindenstrauss estimates, with the slip shown (001-2, E001-1)."""

import pandas as pd

MEASURES = ["dimensions"]
PAPER = "Background"
CLAIMS = ["001-2"]
TITLE = "Dimensions for m points"
CAPTION = (
    "8 ln(m), the number of dimensions that hold m points by the Johnson-Lindenstrauss lemma, beside the number that "
    "the paper prints. For English sentences it prints ln(m), without the 8: its conclusion, that so many hidden "
    "nodes suffice for any English sentence, falls with the slip. The lemma bounds what a random projection keeps of "
    "distances (here at an error of 1, that is, hardly any of them), not what a network needs."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per number of points."""
    rows, paper = tables["dimensions"].drop_duplicates("points"), tables["paper"]
    printed = paper[paper["claim"].isin(CLAIMS)].set_index("key")["value"].astype(float)
    said = rows["key"].map(printed)
    return pd.DataFrame(
        {
            "points": rows["points"],
            "log10_points": rows["log10_points"].round(2),
            "logarithm": rows["logarithm_nats"].round(1),
            "8_logarithm": rows["dimensions"].round(1),
            "paper": said,
            "paper_over_8_logarithm": (said / rows["dimensions"]).round(3),
            "paper_over_logarithm": (said / rows["logarithm_nats"]).round(3),
        }
    )
