"""Rules on hand-coded and on trained angles (003-own-3, 003-own-4)."""

import numpy as np

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding
from allmlp.studies.quadrature.hand_coded import fitted_law
from allmlp.studies.quadrature.verdicts.common import by_seed, heavy, times
from allmlp.studies.rules import exact


def hand_coded_law(evidence: Evidence) -> Finding:
    """003-own-3: no error exactly where the wobble is below pi/p, and the wobble is about 3/n^3."""
    rows, margin = evidence.table("hand_coded_law"), evidence.margin
    wrong = rows["perfect"].astype(bool) != rows["predicted_perfect"].astype(bool)
    law = fitted_law(rows)
    off = max(law.constant / 3, 3 / law.constant)
    disagree = f"{int(wrong.sum())} of {len(rows)} (n, offset, p) disagree"
    exponent = f"{law.exponent:.3f} by least squares, allowed -3 +- {margin['exponent_1']:g}"
    constant = f"{law.constant:.3f} by least squares, allowed a factor of {margin['factor_1']:g} from 3"
    parts = {
        "(a) perfect where the wobble is below pi/p": exact(not wrong.any(), float(wrong.sum()), "", disagree),
        "(b) exponent -3": exact(abs(law.exponent + 3) <= margin["exponent_1"], law.exponent, "", exponent),
        "(c) constant 3": exact(off <= margin["factor_1"], law.constant, "", constant),
    }
    return whole(parts)


def angle_spacing(evidence: Evidence) -> Finding:
    """003-own-4: trained angles between random ones and a regular grid, by the error of their sums."""
    rows, limit = evidence.table("angle_controls"), evidence.margin["ratio_1"]
    keys = heavy(rows, evidence.margin)
    logarithms = keys.assign(
        chance=np.log(keys["random_error_1"] / keys["abs_error_1"]),
        grid=np.log(keys["abs_error_1"] / keys["regular_error_1"]),
    )
    of_seed = logarithms.groupby("seed")[["chance", "grid"]].mean()
    parts = {
        "(a) error of random angles over the trained one": times(by_seed(rows, of_seed["chance"]), limit),
        "(b) trained error over that of a regular grid": times(by_seed(rows, of_seed["grid"]), limit),
    }
    return whole(parts)
