"""Growth exponents of the bounds and of brute force beside the paper's, and what each costs at its size (003-8)."""

import pandas as pd

from allmlp.studies.quadrature import growth, operations
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND

MEASURES = ["bound_cost"]
PAPER = "Section 4"
CLAIMS = ["003-8"]
TITLE = "Growth of the cost with p and with neurons"
NEURONS = 128  # of one frequency: a quarter of the paper's 512, as it has four
CAPTION = (
    "Exponents by least squares through the logarithms: over p at the most neurons taken at every p, over neurons "
    f"at p = {growth.P}; counts are multiplications and comparisons, time is the shortest of several on one core (over "
    f"neurons from {growth.TIMED_FROM:,} on). The last three columns are for {NEURONS} neurons of one "
    f"frequency, about the paper's size: operations and time at p = {growth.P}, and the least p from which "
    "brute force takes more operations than the bound. The paper states the exponents of its bound "
    "and of brute force; the sorting, which it leaves out, is in the counts here (E003-9)."
)

COLUMNS = [
    "procedure",
    "p_exponent_paper_1",
    "p_exponent_counted_1",
    "p_exponent_timed_1",
    "neurons_exponent_paper_1",
    "neurons_exponent_counted_1",
    "neurons_exponent_timed_1",
    "operations_1",
    "time_ms",
    "cheaper_from_p",
]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """COLUMNS as text, one row per procedure; empty where the paper states nothing."""
    rows, paper = tables["bound_cost"], tables["paper"]
    of_claim = paper[paper["claim"] == "003-8"].set_index("key")["value"]
    stated = {PAPER_BOUND: of_claim.get("bound_exponent_1"), BRUTE_FORCE: of_claim.get("brute_force_exponent_1")}
    table = []
    for procedure in (PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND):
        own = rows[rows["procedure"] == procedure]
        by_p, by_neurons = growth.over_p(own), growth.over_neurons(own)
        size = own[(own["p"] == growth.P) & (own["neurons"] == NEURONS)].iloc[0]
        table.append(
            {
                "procedure": procedure,
                "p_exponent_paper_1": f"{stated[procedure]:g}" if stated.get(procedure) is not None else "",
                "p_exponent_counted_1": _slope(by_p, "p", "operations_1"),
                "p_exponent_timed_1": _slope(by_p, "p", "time_s"),
                "neurons_exponent_paper_1": "1" if procedure in stated else "",
                "neurons_exponent_counted_1": _slope(by_neurons, "neurons", "operations_1"),
                "neurons_exponent_timed_1": _slope(by_neurons, "neurons", "time_s"),
                "operations_1": f"{size['operations_1']:,}",
                "time_ms": f"{1e3 * size['time_s']:.3g}",
                "cheaper_from_p": "" if procedure == BRUTE_FORCE else str(cheaper_from(int(size["operations_1"]))),
            }
        )
    return pd.DataFrame(table, columns=COLUMNS)


def cheaper_from(count: int) -> int:
    """The least p at which brute force takes more operations than `count`, for NEURONS neurons."""
    p = 1
    while operations.brute_force(p, NEURONS).operations <= count:
        p += 1
    return p


def _slope(rows: pd.DataFrame, by: str, value: str) -> str:
    return f"{growth.exponent(growth.fitted(rows, by, value), by, value) + 0.0:.3f}".replace("-0.000", "0.000")
