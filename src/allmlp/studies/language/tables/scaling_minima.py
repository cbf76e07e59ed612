"""The best size of each budget by the parabola, beside the best run tried (000-2, 000-3)."""

import numpy as np
import pandas as pd

from allmlp.studies.language.isoflop import BUDGET, SIZE, minima, pooled
from allmlp.studies.seeds import over_seeds

MEASURES = ["scaling"]
PARTS = ["scaling"]
PAPER = "Figure 1, left, and Figure 3"
CLAIMS = ["000-1", "000-2", "000-3"]
TITLE = "The best size of each budget"
CAPTION = (
    "For each budget C = 6 N D: the sizes tried, the vertex of the parabola in log N through the means over seeds "
    "and on which side of these sizes it lies (a vertex outside is no measurement, and left out of every power law; "
    "nowhere: the parabola opens downwards), the share of seeds whose own vertex lies inside, the lowest mean loss "
    "with its 95 % t interval over seeds, the size that has it, how often it saw each sequence, and the operations "
    "counted for it over C. The paper gives drawings, no numbers."
)


def _cell(rows: pd.DataFrame) -> dict[str, object]:
    """One row of the table, of the runs of one model and budget."""
    mean = minima(pooled(rows)).iloc[0]
    each = minima(rows)
    losses = over_seeds(rows, [SIZE], "validation_nats").sort_values("mean").iloc[0]
    best = rows[rows[SIZE] == losses[SIZE]]
    return {
        "model": mean["model"],
        "budget_flops": mean[BUDGET],
        "seeds": rows["seed"].nunique(),
        "sizes": rows[SIZE].nunique(),
        "smallest": rows[SIZE].min(),
        "largest": rows[SIZE].max(),
        "vertex": mean["n_opt"],
        "vertex_is": mean["side"],
        "seeds_inside_1": (each["side"] == "inside").mean(),
        "lowest_nats": losses["mean"],
        "low": losses["low"],
        "high": losses["high"],
        "at_weights": int(losses[SIZE]),
        "epochs": best["epochs_1"].mean(),
        "counted_over_budget": float(np.mean(best["counted_flops"] / best[BUDGET])),
    }


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model and budget; interval ends are empty for a single seed."""
    return pd.DataFrame([_cell(rows) for _, rows in tables["scaling"].groupby(["model", BUDGET])])
