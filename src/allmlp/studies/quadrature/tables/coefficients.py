"""The table of Appendix B: the paper's four frequencies, every seed's, and their mean (003-10)."""

import math

import pandas as pd

from allmlp.report.statistics import prediction_interval

MEASURES = ["coefficients"]
PAPER = "Table in Appendix B"
CLAIMS = ["003-10"]
TITLE = "Coefficients of the logits, per key frequency"
CAPTION = (
    "C: of |cos k(x-y)/2| cos k(x+y-z) in the absolute part's logits; predicted: (2/3) R / 2π, were the sum its "
    "integral. D: of cos k(x-y) cos k(x+y-z) in the identity part's logits, as in Appendix B's last expression. "
    "There it comes from logit_id1 = W_out OV / 2 twice, as cos A + cos B = 2 cos cos, and once from logit_id2 = "
    "W_out embed / 2 (amplitudes of cos(kz - 2kx) in the columns id1 and id2); the paper loses the 2 and calls both "
    "D (E003-6). joint: both coefficients fitted to the whole logits at once. Last row: mean over a seed's keys, then "
    "over seeds, with the 95 % prediction interval that the paper's mean is held against."
)

VALUES = {
    "abs_coefficient_nats": "C_nats",
    "predicted_abs_nats": "predicted_C_nats",
    "identity_coefficient_nats": "D_nats",
    "ratio_1": "-D/C_1",
    "ov_cosine_nats": "id1_nats",
    "embed_cosine_nats": "id2_nats",
    "joint_abs_nats": "joint_C_nats",
    "joint_identity_nats": "joint_D_nats",
}
COLUMNS = ["source", "frequency", "weight_share_1", *VALUES.values()]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """COLUMNS as text, empty where the paper gives nothing."""
    rows = tables["coefficients"].sort_values(["seed", "frequency"])
    measured = [
        {"source": f"seed {row['seed']}", "frequency": str(row["frequency"])}
        | {"weight_share_1": f"{row['weight_share_1']:.3g}"}
        | {shown: f"{row[name]:.3g}" for name, shown in VALUES.items()}
        for row in rows.to_dict("records")
    ]
    return pd.DataFrame([*_paper(tables["paper"]), *measured, _means(rows)], columns=COLUMNS).fillna("")


def _paper(paper: pd.DataFrame) -> list[dict[str, str]]:
    """The paper's rows, from claim 003-10's keys such as 'abs_coefficient_k12_1'."""
    stated = paper[paper["claim"] == "003-10"].set_index("key")["value"].astype(float)
    rows = []
    for key, C in stated.items():
        start, _, rest = str(key).partition("_k")
        if start == "abs_coefficient":
            D = stated[f"identity_coefficient_k{rest}"]
            shown = {"C_nats": f"{C:g}", "D_nats": f"{D:g}", "-D/C_1": f"{-D / C:.3g}"}
            rows.append({"source": "paper", "frequency": rest.removesuffix("_1"), **shown})
    return rows


def _means(rows: pd.DataFrame) -> dict[str, str]:
    per_seed, means = rows.groupby("seed")[list(VALUES)].mean(), {"source": "mean over seeds"}
    for name, shown in VALUES.items():
        interval = prediction_interval(per_seed[name].to_numpy())
        bounds = f" [{interval.low:.3g}, {interval.high:.3g}]" if math.isfinite(interval.low) else ""
        means[shown] = f"{interval.mean:.3g}{bounds}"
    return means
