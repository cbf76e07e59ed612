"""Levels of the certificate, means over seeds: what each proves and what it costs (D.2)."""

import math

import pandas as pd

from allmlp.report.statistics import t_interval
from allmlp.studies.quadrature.certificate.describe import described, order

MEASURES = ["certificate"]
PAPER = ""  # Appendix D.2 asks for such a bound, and gives none
CLAIMS = ["003-own-2", "003-own-6"]
TITLE = "A certificate for the whole network, level by level"
CAPTION = (
    "Proved lower bounds on the margin of every pair (x, y), nothing of the network neglected and rounding included: "
    "share of pairs certified, smallest and mean bound, largest bound minus true margin over all pairs of all seeds "
    "(never above 0), operations as a share of brute force, and seconds of one core, brute force in ball arithmetic "
    "too. Operations are those of the procedure, with fast transforms; this code takes plain products there. Means "
    "over seeds with 95 % t intervals. Terms: the first so many Fourier frequencies |m| of 2, 0, 1, 3, 4, ... of the "
    "sum over neurons are kept and all others bounded; one term is |m| = 2, whose moment the integral would evaluate; "
    "only the story puts the integral in its place. The last structured level keeps all, so that only what its model "
    "of the neurons leaves out remains."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Columns level, terms, certified_accuracy_1, bounds, excess, operations, seconds; all as text."""
    rows = tables["certificate"]
    table = []
    kinds = {(str(level), int(terms)) for level, terms in zip(rows["level"], rows["terms"], strict=True)}
    for level, terms in sorted(kinds, key=lambda kind: order(*kind)):
        group = rows[(rows["level"] == level) & (rows["terms"] == terms)]
        table.append(
            {
                "level": described(level),
                "terms": str(terms or ""),
                "certified_accuracy_1": _mean(group["certified_accuracy_1"]),
                "smallest_bound_nats": _mean(group["smallest_bound_nats"]),
                "mean_bound_nats": _mean(group["mean_bound_nats"]),
                "largest_excess_nats": f"{group['largest_excess_nats'].max():.2g}",
                "operations_of_brute_1": _mean(group["operations"] / group["brute_operations"]),
                "seconds_s": f"{group['seconds'].mean():.2g}",
                "seeds": str(group["seed"].nunique()),
            }
        )
    return pd.DataFrame(table)


def _mean(values: pd.Series) -> str:
    """Mean with its 95 % t interval, where there is one."""
    interval = t_interval(values.to_numpy(dtype=float))
    bounds = f" [{interval.low:.3g}, {interval.high:.3g}]" if math.isfinite(interval.low) else ""
    return f"{interval.mean:.3g}{bounds}"
