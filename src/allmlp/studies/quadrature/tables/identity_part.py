"""The identity part of ReLU: spectra of its matrices, and the sign that Equation 1 leaves out (003-11)."""

import math

import pandas as pd

from allmlp.report.statistics import t_interval

MEASURES = ["identity_shares", "sign_inside"]
PAPER = "Appendix B and Equation 1"
CLAIMS = ["003-11"]
TITLE = "The identity part of ReLU"
CAPTION = (
    "First two rows, of logit_id1 = W_out OV / 2 and logit_id2 = W_out embed / 2: root mean square about the mean, "
    "share of the energy at (k, -2k) of the key frequencies and mirror images, and share of the imaginary parts in "
    "the moduli there. Others, of the single-frequency sum that Equation 1 writes for a key frequency, with the sign "
    "of cos k(x-y)/2 left inside the ReLU where it belongs: its root mean square over x, y, z, and what taking the "
    "sign out changes, as a share of it (E003-4); mean over a seed's key frequencies. Means over seeds with 95 % t "
    "intervals."
)

MATRICES = {"OV": "logit_id1", "embed(y)": "logit_id2"}
PARTS = {"abs": "Equation 1, |u|/2", "identity": "Equation 1, u/2", "relu": "Equation 1, ReLU(u)"}
COLUMNS = ["of", "rms_nats", "energy_share_1", "imaginary_share_1", "sign_difference_1"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """COLUMNS as text, empty where a number has no meaning."""
    shares, signs = tables["identity_shares"], tables["sign_inside"]
    table = []
    for name, shown in MATRICES.items():
        own = shares[shares["matrix"] == name].set_index("seed")
        table.append({"of": shown} | {column: _mean(own[column]) for column in COLUMNS[1:4]})
    for name, shown in PARTS.items():
        own = signs[signs["part"] == name].groupby("seed")[["rms_nats", "difference_1"]].mean()
        numbers = {"rms_nats": _mean(own["rms_nats"]), "sign_difference_1": _mean(own["difference_1"])}
        table.append({"of": shown, **numbers})
    return pd.DataFrame(table, columns=COLUMNS).fillna("")


def _mean(values: pd.Series) -> str:
    interval = t_interval(values.to_numpy(dtype=float))
    bounds = f" [{interval.low:.3g}, {interval.high:.3g}]" if math.isfinite(interval.low) else ""
    return f"{interval.mean:.3g}{bounds}"
