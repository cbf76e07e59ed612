"""Tables of study 003: every cell is text, or empty."""

import math
import re
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from allmlp.judging.statistics import Interval, prediction_interval, t_interval
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import Paper, table
from allmlp.studies.quadrature import operations
from allmlp.studies.quadrature.certificate import NAMES, order_levels
from allmlp.studies.quadrature.frequencies import FADING_SHARE
from allmlp.studies.quadrature.hand_coded import regular_wobble
from allmlp.studies.quadrature.integrals import INTEGRALS
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND
from allmlp.studies.quadrature.verdicts.logits import OF_PAPER, r2_by_seed


def mean_text(values: pd.Series, digits: int = 3, interval: Callable[[np.ndarray], Interval] = t_interval) -> str:
    """The mean, and in brackets its interval if there is one."""
    found = interval(values.to_numpy(dtype=float))
    ends = f" [{found.low:.{digits}g}, {found.high:.{digits}g}]" if math.isfinite(found.low) else ""
    return f"{found.mean:.{digits}g}{ends}"


def numbers_by_frequency(stated: Mapping[str, float]) -> dict[int, dict[str, float]]:
    """frequency -> column -> the paper's number, from keys such as 'abs_error_k12_1'."""
    found: dict[int, dict[str, float]] = {}
    for key, value in stated.items():
        if match := re.fullmatch(r"(\w+)_k(\d+)_1", key):
            found.setdefault(int(match[2]), {})[f"{match[1]}_1"] = value
    return dict(sorted(found.items()))


def lasting_keys(rows: pd.DataFrame) -> pd.DataFrame:
    """The key frequencies that are not fading out."""
    return rows[rows["weight_share_1"] >= FADING_SHARE]


NEURONS = 128  # of one frequency: a quarter of the paper's 512, as it has four


@table(
    "Growth of the cost with p and with neurons",
    where="Section 4",
    claims=["003-8"],
    values={"p": operations.P, "timed_from": operations.TIMED_FROM, "neurons": NEURONS},
)
def bound_cost(bound_cost: pd.DataFrame, paper: Paper) -> Rows:
    """Exponents by least squares through the logarithms: over p at the most neurons counted at every p, over neurons at
    p = {p}. Counts are multiplications and comparisons; time is the shortest of several on one core (over neurons from
    {timed_from:,} on). Last three columns: {neurons} neurons of one frequency, about the paper's size; operations and
    time at p = {p}, and the least p from which brute force takes more operations than the bound. The paper states the
    exponents of its bound and of brute force; the sorting, which it leaves out, is counted here (E003-9).
    """
    printed = paper["003-8"]
    stated = {PAPER_BOUND: printed["bound_exponent_1"], BRUTE_FORCE: printed["brute_force_exponent_1"]}
    for procedure in (PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND):
        own = bound_cost[bound_cost["procedure"] == procedure]
        by_p, by_neurons = operations.rows_over_p(own), operations.rows_over_neurons(own)
        size = own[(own["p"] == operations.P) & (own["neurons"] == NEURONS)].iloc[0]
        yield {
            "procedure": procedure,
            "p_exponent_paper_1": f"{stated[procedure]:g}" if procedure in stated else "",
            "p_exponent_counted_1": _slope(by_p, "p", "operations_1"),
            "p_exponent_timed_1": _slope(by_p, "p", "time_s"),
            "neurons_exponent_paper_1": "1" if procedure in stated else "",
            "neurons_exponent_counted_1": _slope(by_neurons, "neurons", "operations_1"),
            "neurons_exponent_timed_1": _slope(by_neurons, "neurons", "time_s"),
            "operations_1": f"{size['operations_1']:,}",
            "time_ms": f"{1e3 * size['time_s']:.3g}",
            "cheaper_from_p": "" if procedure == BRUTE_FORCE else str(least_cheaper_p(int(size["operations_1"]))),
        }


def least_cheaper_p(count: int) -> int:
    """The least p at which brute force takes more operations than `count`, for NEURONS neurons."""
    p = 1
    while operations.brute_force(p, NEURONS).operations <= count:
        p += 1
    return p


def _slope(rows: pd.DataFrame, by: str, value: str) -> str:
    return f"{operations.exponent(operations.fitted_rows(rows, by, value), by, value) + 0.0:.3f}".replace(
        "-0.000", "0.000"
    )


@table("A certificate for the whole network, level by level", claims=["003-own-2", "003-own-6"])
def certificates(certificate: pd.DataFrame) -> Rows:
    """Proved lower bounds on the margin of every pair (x, y) of the whole network, rounding included. Share of pairs
    certified; smallest and mean bound; largest bound minus true margin over all pairs and seeds (never above 0);
    operations as a share of brute force; seconds of one core, brute force in ball arithmetic too. Operations assume
    fast transforms; this code uses plain products. Means over seeds with 95 % t intervals. Terms: the number of kept
    Fourier frequencies |m| of the sum over neurons, in the order 2, 0, 1, 3, 4, ...; all others are bounded. One term
    is |m| = 2, the moment of the integral; only the story replaces it by the integral. The last structured level keeps
    all terms, so only the error of its model of the neurons remains.
    """
    for (level, terms), rows in order_levels(certificate).groupby(["level", "terms"], observed=True):
        yield {
            "level": NAMES[str(level)],
            "terms": str(terms or ""),
            "certified_accuracy_1": mean_text(rows["certified_accuracy_1"]),
            "smallest_bound_nats": mean_text(rows["smallest_bound_nats"]),
            "mean_bound_nats": mean_text(rows["mean_bound_nats"]),
            "largest_excess_nats": f"{rows['largest_excess_nats'].max():.2g}",
            "operations_of_brute_1": mean_text(rows["operations"] / rows["brute_operations"]),
            "seconds_s": f"{rows['seconds'].mean():.2g}",
            "seeds": str(rows["seed"].nunique()),
        }


@table("The integrals behind the quadrature", where="Section 3 and Appendix B", claims=["003-3"])
def closed_forms(closed_forms: pd.DataFrame) -> Rows:
    """Each integral over φ from -π to π: its value by hand, its printed value (with the t that the paper leaves out,
    E003-3), and the largest difference of each from numerical integration over the angles kt = 2πt/p, t = 0 .. p-1.
    Appendix B swaps the results of the identity and of the absolute part (E003-1).
    """
    for integral in INTEGRALS:
        own = closed_forms[closed_forms["integral"] == integral.name]
        by_hand, printed = ((own["value_1"] - own[name]).abs().max() for name in ("closed_form_1", "paper_1"))
        yield {
            "integral": integral.name,
            "where": integral.where,
            "by_hand": integral.closed_form.text,
            "as_printed": integral.paper.text,
            "by_hand_difference_1": f"{by_hand:.1e}",
            "as_printed_difference_1": f"{printed:.2g}" if printed > 1e-6 else f"{printed:.1e}",
        }


COEFFICIENTS = {
    "abs_coefficient_nats": "C_nats",
    "predicted_abs_nats": "predicted_C_nats",
    "identity_coefficient_nats": "D_nats",
    "ratio_1": "-D/C_1",
    "ov_cosine_nats": "id1_nats",
    "embed_cosine_nats": "id2_nats",
    "joint_abs_nats": "joint_C_nats",
    "joint_identity_nats": "joint_D_nats",
}


@table("Coefficients of the logits, per key frequency", where="Table in Appendix B", claims=["003-10"])
def coefficients(coefficients: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """C: of |cos k(x-y)/2| cos k(x+y-z) in the absolute part's logits; predicted: (2/3) R / 2π, if the sum were its
    integral. D: of cos k(x-y) cos k(x+y-z) in the identity part's logits, as in Appendix B's last expression. There it
    comes from logit_id1 = W_out OV / 2 twice, as cos A + cos B = 2 cos cos, and once from logit_id2 = W_out embed / 2
    (amplitudes of cos(kz - 2kx) in the columns id1 and id2); the paper loses the 2 and calls both D (E003-6). joint:
    both coefficients fitted to the whole logits at once. Last row: mean over a seed's keys, then over all seeds,
    with the 95 % prediction interval; 003-10 compares the paper's with accurate networks alone, and C with alike ones.
    """
    rows = []
    for k, of_k in numbers_by_frequency(paper["003-10"]).items():
        C, D = of_k["abs_coefficient_1"], of_k["identity_coefficient_1"]
        shown = {"C_nats": f"{C:g}", "D_nats": f"{D:g}", "-D/C_1": f"{-D / C:.3g}"}
        rows.append({"source": "paper", "frequency": str(k), **shown})
    for row in coefficients.sort_values(["seed", "frequency"]).to_dict("records"):
        shown = {"weight_share_1": f"{row['weight_share_1']:.3g}"}
        shown |= {name: f"{row[column]:.3g}" for column, name in COEFFICIENTS.items()}
        rows.append({"source": f"seed {row['seed']}", "frequency": str(row["frequency"]), **shown})
    means = coefficients.groupby("seed")[list(COEFFICIENTS)].mean()
    shown = {name: mean_text(means[column], interval=prediction_interval) for column, name in COEFFICIENTS.items()}
    rows.append({"source": "mean over seeds", **shown})
    return pd.DataFrame(rows, columns=["source", "frequency", "weight_share_1", *COEFFICIENTS.values()]).fillna("")


ERRORS = [
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


@table(
    "Errors and bounds of the quadrature, per key frequency",
    where="Table in Section 4",
    claims=["003-5", "003-6", "003-own-1"],
    values={"fading": FADING_SHARE},
)
def error_table(error_table: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """Largest error over x + y of the sum over one frequency's neurons, absolute and identity part. Its bound: the
    smaller of the box bounds over the whole and over half the period, plus the angle term. Two bounds of this project
    from the Fourier moments of the phases, which hold at every angle (moment: sum of the terms' sizes; peak: largest
    size of their sum), and the naive bound. Widths sum to 2π, and the parts come without the factor 1/2 of ReLU(x) =
    x/2 + |x|/2, in the paper as here. Key frequencies differ between seeds, so no row of a seed has a partner in the
    paper. Last row: mean over a seed's keys, then over seeds, with 95 % t interval, without the keys of less than
    {fading:.0%} of the weight, which are fading out. The paper gives the angle term of one frequency only, and its
    naive bound does not follow from its definition (E003-7).
    """
    stated, terms, rows = paper["003-5"], paper["003-6"], []
    for k, of_k in numbers_by_frequency(stated).items():
        numbers = {**of_k, "naive_bound_1": stated["naive_bound_1"]}
        if of_k["total_bound_1"] == terms["total_bound_1"]:
            numbers["angle_bound_1"] = terms["angle_bound_1"]  # stated for one frequency only
        shown = {name: f"{value:.3g}" for name, value in numbers.items()}
        rows.append({"source": "paper", "frequency": str(k), **shown})
    for row in error_table.sort_values(["seed", "frequency"]).to_dict("records"):
        shown = {name: str(row[name]) for name in ("frequency", "neurons")}
        shown |= {name: f"{row[name]:.3g}" for name in ("weight_share_1", *ERRORS)}
        rows.append({"source": f"seed {row['seed']}", **shown})
    means = lasting_keys(error_table).groupby("seed")[ERRORS].mean()
    rows.append({"source": "mean over seeds", **{name: mean_text(means[name]) for name in ERRORS}})
    return pd.DataFrame(rows, columns=["source", "frequency", "neurons", "weight_share_1", *ERRORS]).fillna("")


@table("Largest prime that n hand-coded angles add", claims=["003-own-3"])
def hand_coded_law(hand_coded_law: pd.DataFrame) -> pd.DataFrame:
    """n equally spaced angles of equal widths at one frequency: the wobble of the phase, measured and by its closed
    form (from 5 angles on); the p that it allows (π/wobble); the largest prime up to which every prime was added
    without an error at every offset; the smallest with an error; and in how many cases (offset, prime) the law and the
    network disagree.
    """
    return pd.DataFrame([_angle_row(rows) for _, rows in hand_coded_law.groupby("n")])


def _angle_row(rows: pd.DataFrame) -> dict[str, str]:
    n, perfect = int(rows["n"].iloc[0]), rows["perfect"].astype(bool)
    wobble, failing = float(rows["wobble_rad"].mean()), rows.loc[~perfect, "p"]
    added = rows.loc[rows["p"] < failing.min(), "p"] if len(failing) else rows["p"]
    return {
        "n": str(n),
        "wobble_rad": f"{wobble:.4g}",
        "closed_form_rad": f"{regular_wobble(n):.4g}" if n >= 5 else "",
        "pi_by_wobble_1": f"{math.pi / wobble:.1f}",
        "perfect_up_to": str(int(added.max())) if len(added) else "none",
        "error_from": str(int(failing.min())) if len(failing) else f"none up to {int(rows['p'].max())}",
        "disagreements": f"{int((perfect != rows['predicted_perfect'].astype(bool)).sum())} of {len(rows)}",
    }


MATRICES = {"OV": "logit_id1", "embed(y)": "logit_id2"}
OF_RELU = {"abs": "Equation 1, |u|/2", "identity": "Equation 1, u/2", "relu": "Equation 1, ReLU(u)"}


@table("The identity part of ReLU", where="Appendix B and Equation 1", claims=["003-11"])
def identity_part(identity_shares: pd.DataFrame, sign_inside: pd.DataFrame) -> pd.DataFrame:
    """First two rows, logit_id1 = W_out OV / 2 and logit_id2 = W_out embed / 2: root mean square about the mean, share
    of the energy at (k, -2k) of the key frequencies and mirror images, and share of the imaginary parts in the moduli
    there. Other rows, the single-frequency sum of Equation 1 with the sign of cos k(x-y)/2 inside the ReLU: its root
    mean square over x, y, z, and the share of it that changes if the sign is left out (E003-4); mean over a seed's key
    frequencies. Means over seeds with 95 % t intervals.
    """
    columns, rows = ["rms_nats", "energy_share_1", "imaginary_share_1"], []
    for name, shown in MATRICES.items():
        own = identity_shares[identity_shares["matrix"] == name].set_index("seed")
        rows.append({"of": shown, **{column: mean_text(own[column]) for column in columns}})
    for name, shown in OF_RELU.items():
        own = sign_inside[sign_inside["part"] == name].groupby("seed")[["rms_nats", "difference_1"]].mean()
        sizes = {"rms_nats": mean_text(own["rms_nats"]), "sign_difference_1": mean_text(own["difference_1"])}
        rows.append({"of": shown, **sizes})
    return pd.DataFrame(rows, columns=["of", *columns, "sign_difference_1"]).fillna("")


@table(
    "Printed numbers and formulas, worked out again", where="throughout", claims=["003-7", "003-9", "003-10", "003-13"]
)
def printed_numbers(printed_numbers: pd.DataFrame) -> pd.DataFrame:
    """Without training. printed: the paper's number, or one that its text implies, such as a difference of 0 between
    the two sides of an equation; empty if there is neither. Errata that need trained networks, or only reading, are not
    here.
    """
    rows = printed_numbers[printed_numbers["run"] == printed_numbers["run"].iloc[0]]  # all runs have the same numbers
    shown = rows.assign(printed=rows["printed_1"].map(four_digits), value=rows["value_1"].map(four_digits))
    return shown[["item", "quantity", "printed", "value", "how"]].reset_index(drop=True)


def four_digits(value: float) -> str:
    """Empty for NaN, and 0 for a number within float64 rounding of 0."""
    if math.isnan(value):
        return ""
    return "0" if abs(value) < 1e-12 else f"{value:.4g}"


LOGITS = {"logits": "whole", "mlp": "MLP alone", "abs": "absolute part", "identity": "identity part"}
LAWS = {
    "abs": "|cos k(x-y)/2| cos k(x+y-z)",
    "cosine": "cos k(x+y-z)",
    "double": "cos k(x-y) cos k(x+y-z)",
    "both": "first and third",
}


@table("R2 of the logits on the laws of Appendix B", where="Appendix B", claims=["003-9"])
def regressions(regressions: pd.DataFrame, paper: Paper) -> Rows:
    """Least squares of all p³ logits on the regressors of each key frequency and an intercept: mean over seeds, the 95
    % prediction interval for one more seed, and the smallest and largest seed. The first two laws are the paper's. The
    last ends Appendix B: the share of the logits that it misses is what the printed coefficients cannot explain
    (E003-8).
    """
    printed = {of: f"{paper['003-9'][key]:.2f}" for key, of in OF_PAPER.items()}
    for (part, part_name), (law, law_name) in product(LOGITS.items(), LAWS.items()):
        values = r2_by_seed(regressions, part, law)
        interval = prediction_interval(values)
        bounds = f"{interval.low:.3f} to {interval.high:.3f}" if math.isfinite(interval.low) else ""
        yield {
            "part": part_name,
            "law": law_name,
            "paper_r2_1": printed.get((part, law), ""),
            "r2_1": f"{interval.mean:.3f}",
            "prediction_interval": bounds,
            "range": f"{values.min():.3f} to {values.max():.3f}",
        }


@table(
    "The sums over one frequency's neurons, per seed",
    where="Figures 3 and 4, Section 2",
    claims=["003-4", "003-7", "003-12"],
    values={"fading": FADING_SHARE},
)
def sums(sums: pd.DataFrame) -> pd.DataFrame:
    """Over a seed's key frequencies: mean of the median distance from a phase to the centre of its rectangle (best
    shift, in mean widths); largest true error minus bound, over all sums x + y and a grid of real angles, and its
    ceiling between them; and, without frequencies of less than {fading:.0%} of the weight, smallest R2 of G on cos kt
    and of H on -sin kt, no intercept. The paper has sin; its definitions give -sin with ψ = +2φ (E003-2). Last row:
    mean over seeds with 95 % t interval. The paper gives no numbers.
    """
    of_seed, of_lasting = sums.groupby("seed"), lasting_keys(sums).groupby("seed")
    found = pd.DataFrame(
        {
            "keys": of_seed.size(),
            "centre_distance_widths": of_seed["centre_distance_widths"].mean(),
            **{name: of_seed[name].max() for name in ("excess_1", "ceiling_1")},
            **{name: of_lasting[name].min() for name in ("cosine_r2_1", "sine_r2_1")},
        }
    )
    mean = {"seed": "mean", **{str(name): mean_text(values, digits=4) for name, values in found.items()}}
    rows = found.reset_index().to_dict("records")
    return pd.DataFrame([*({name: f"{value:.4g}" for name, value in row.items()} for row in rows), mean])
