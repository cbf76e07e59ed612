"""The table of Section 4: the paper's four frequencies, every seed's, and the mean (003-5, 003-6, 003-own-1)."""

import math
import re

import pandas as pd

from allmlp.report.statistics import t_interval
from allmlp.studies.quadrature.frequencies import FADING_SHARE

MEASURES = ["error_table"]
PAPER = "Table in Section 4"
CLAIMS = ["003-5", "003-6", "003-own-1"]
TITLE = "Errors and bounds of the quadrature, per key frequency"
CAPTION = (
    "Largest error over x + y of the sum over one frequency's neurons, absolute and identity part, "
    "its bound (the smaller of the box bounds over the whole and over half the period, plus the angle "
    "term), two bounds of this project from the Fourier moments of the phases, which hold at every "
    "angle (moment: sum of the sizes of the terms; peak: largest size of their sum), and the naive "
    "bound. Widths sum to 2π and the parts come without the factor 1/2 of "
    "ReLU(x) = x/2 + |x|/2, in the paper as here. Key frequencies differ between seeds, so no row of "
    "a seed has a partner in the paper; the last row is the mean over a seed's keys, then over seeds, "
    f"with its 95 % t interval, without the keys of less than {FADING_SHARE:.0%} of the weight, which "
    "are fading out. The paper's rows hold its numbers; it gives the angle term of one "
    "frequency only, and its naive bound does not follow from its definition (E003-7)."
)

VALUES = [
    "abs_error_1",
    "identity_error_1",
    "box_bound_1",
    "folded_bound_1",
    "angle_bound_1",
    "total_bound_1",
    "moment_bound_1",
    "peak_bound_1",
    "naive_bound_1",
]
COLUMNS = ["source", "frequency", "neurons", "weight_share_1", *VALUES]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Columns source, frequency, neurons, weight_share_1, VALUES; all as text, empty where there is none."""
    rows = tables["error_table"].sort_values(["seed", "frequency"])
    measured = [
        {"source": f"seed {row['seed']}"} | {name: _shown(row[name]) for name in COLUMNS[1:]}
        for row in rows.to_dict("records")
    ]
    table = pd.DataFrame([*_paper(tables["paper"]), *measured, _means(rows)], columns=COLUMNS)
    return table.fillna("")


def printed(paper: pd.DataFrame) -> dict[int, dict[str, float]]:
    """frequency -> column -> the paper's number, from claim 003-5's keys such as 'abs_error_k12_1'."""
    found: dict[int, dict[str, float]] = {}
    of_claim = paper[paper["claim"] == "003-5"]
    for key, value in zip(of_claim["key"], of_claim["value"], strict=True):
        match = re.fullmatch(r"(\w+)_k(\d+)_1", key)
        if match:
            found.setdefault(int(match[2]), {})[f"{match[1]}_1"] = float(value)
    return found


def _paper(paper: pd.DataFrame) -> list[dict[str, str]]:
    """The paper's rows: one per frequency, with the naive bound that all of them share."""
    naive = paper.loc[(paper["claim"] == "003-5") & (paper["key"] == "naive_bound_1"), "value"]
    shared = {"source": "paper"} | ({"naive_bound_1": _shown(float(naive.iloc[0]))} if len(naive) else {})
    terms = paper[paper["claim"] == "003-6"].set_index("key")["value"].astype(float)
    rows = []
    for frequency, numbers in sorted(printed(paper).items()):
        row = {**shared, "frequency": str(frequency), **{name: _shown(v) for name, v in numbers.items()}}
        if "angle_bound_1" in terms and numbers.get("total_bound_1") == terms.get("total_bound_1"):
            row["angle_bound_1"] = _shown(terms["angle_bound_1"])  # stated for one frequency only
        rows.append(row)
    return rows


def _means(rows: pd.DataFrame) -> dict[str, str]:
    """Mean over a seed's keys, then over seeds, with the 95 % t interval in brackets where there is one."""
    lasting = rows[rows["weight_share_1"] >= FADING_SHARE]
    per_seed, means = lasting.groupby("seed")[VALUES].mean(), {"source": "mean over seeds"}
    for name in VALUES:
        interval = t_interval(per_seed[name].to_numpy())
        bounds = f" [{interval.low:.3g}, {interval.high:.3g}]" if math.isfinite(interval.low) else ""
        means[name] = f"{interval.mean:.3g}{bounds}"
    return means


def _shown(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}"
