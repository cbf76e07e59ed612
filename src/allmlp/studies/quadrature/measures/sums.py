"""The sum of each key frequency: rectangles, integral, errors, bounds."""

import numpy as np

from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.quadrature import bounds, circuits, laws, moments, spectrum
from allmlp.studies.quadrature.bounds import lay, total_bound
from allmlp.studies.quadrature.errors import (
    FACTOR,
    PARTS,
    Part,
    difference,
    error_at_any_angle,
    largest_error,
    naive_bound,
    proportions,
    trained_sum,
)
from allmlp.studies.quadrature.keys import OF_KEY, Key, key_rows, keys, run_keys

_ERROR = {"rtol": 5e-2, "atol": 5e-3}  # with another instruction set, errors differed by 1e-3, bounds by 3e-3


@measure(
    recipe=2,
    **OF_KEY,
    abs_error_1=numeric(
        "absolute part: max over t of |sum - integral| of both integrals as one complex number", **_ERROR
    ),
    identity_error_1=numeric("the same of the identity part, whose integral is 0", **_ERROR),
    abs_error_cosine_1=numeric("absolute part, the cosine integral alone", **_ERROR),
    identity_error_cosine_1=numeric("identity part, the cosine integral alone", **_ERROR),
    box_bound_1=numeric("rectangles over the whole period, best shift", **_ERROR),
    folded_bound_1=numeric("rectangles with the two halves overlapped, best shift", **_ERROR),
    angle_bound_1=numeric("sum of width times |psi - 2 phi|", **_ERROR),
    total_bound_1=numeric("the smaller of box and folded bound, plus the angle bound", **_ERROR),
    moment_bound_1=numeric("sum of the sizes of the Fourier terms of the error, plus tail: any theta", **_ERROR),
    peak_bound_1=numeric("largest sum of the same terms over theta, plus tail", **_ERROR),
    moment_terms=exact("terms |m| <= M of the two bounds above, 2 M + 1"),
    naive_bound_1=numeric("mean over t of |integral of the absolute part|", rtol=1e-9),
)
def error_table(trained: TrainedRun) -> Rows:
    """Section 4's table for every key frequency: errors by brute force, bounds, naive value (003-5, 003-6, 003-own-1).

    One row per key frequency of the last weights. UserError for an architecture without these circuits.
    """
    return key_rows(trained, _error_numbers)


def _error_numbers(key: Key) -> dict[str, float]:
    """Of one frequency's neurons."""
    rule, off = key.rule, {part: difference(part, key.theta, key.rule) for part in ("abs", "identity")}
    return {
        **{f"{part}_error_1": float(np.abs(values).max()) for part, values in off.items()},
        **{f"{part}_error_cosine_1": float(np.abs(values.real).max()) for part, values in off.items()},
        "box_bound_1": bounds.box_bound(rule),
        "folded_bound_1": bounds.folded_bound(rule),
        "angle_bound_1": bounds.angle_bound(rule),
        "total_bound_1": bounds.total_bound(rule),
        "moment_bound_1": moments.moment_bound(rule),
        "peak_bound_1": moments.peak_bound(rule),
        "moment_terms": 2 * moments.TERMS + 1,
        "naive_bound_1": naive_bound(key.theta),
    }


@measure(
    recipe=1,
    **OF_KEY,
    width_sum_rad=numeric("sum of the rectangles' widths", atol=1e-9),
    centre_distance_widths=numeric(
        "median distance from a phase to the centre of its rectangle, best shift, in mean widths", rtol=0.2, atol=0.5
    ),
    error_1=numeric("absolute part: largest error over all t = 0 .. p - 1 and a grid of real angles", **_ERROR),
    excess_1=numeric("error_1 - total bound: above 0 were the bound wrong", **_ERROR),
    ceiling_1=numeric("the same with what the error can rise between two angles of the grid", **_ERROR),
    cosine_r2_1=numeric("R2 of G(t) on +cos(kt), no intercept, t = 0 .. p - 1", **_ERROR),
    sine_r2_1=numeric("R2 of H(t) on -sin(kt), the same", **_ERROR),
    cosine_slope_1=numeric("least-squares slope of G(t) on cos(kt), of either sign; the integral's is 2/3", **_ERROR),
    sine_slope_1=numeric("the same of H(t) on -sin(kt)", **_ERROR),
)
def sums(trained: TrainedRun) -> Rows:
    """Each key frequency's sum as rectangles, against its integral, and against its bound (003-4, 003-7, 003-12).

    One row per key frequency of the last weights. UserError for an architecture without these circuits.
    """
    return key_rows(trained, _sum_numbers)


def _sum_numbers(key: Key) -> dict[str, float]:
    """Of one frequency's neurons."""
    boxes, bound = lay(key.rule.phi, key.rule.width), total_bound(key.rule)
    centres = (boxes.edges[1:] + boxes.edges[:-1]) / 2
    anywhere, ceiling = error_at_any_angle(key.rule)
    error = max(largest_error("abs", key.theta, key.rule), anywhere)
    cosine, sine = proportions(key.k, key.p, key.rule)
    return {
        "width_sum_rad": float(key.rule.width.sum()),
        "centre_distance_widths": float(np.median(np.abs(centres - boxes.phases)) / np.diff(boxes.edges).mean()),
        "error_1": error,
        "excess_1": error - bound,
        "ceiling_1": ceiling - bound,
        "cosine_r2_1": cosine.r2,
        "sine_r2_1": sine.r2,
        "cosine_slope_1": cosine.slope,
        "sine_slope_1": sine.slope,
    }


_NATS = {"rtol": 5e-2, "atol": 0.3}


@measure(
    recipe=1,
    **OF_KEY,
    abs_coefficient_nats=numeric("C: absolute part's logits on |cos(k(x-y)/2)| cos(k(x+y-z))", **_NATS),
    predicted_abs_nats=numeric("C if the sum were its integral: (2/3) R / 2 pi, R the sum of r", **_NATS),
    identity_coefficient_nats=numeric("D: identity part's logits on cos(k(x-y)) cos(k(x+y-z))", **_NATS),
    ratio_1=numeric("-D / C", rtol=0.1, atol=0.03),
    ov_cosine_nats=numeric("D as the amplitude of cos(kz - 2kx) in id1 = W_out OV / 2: 2 Re a", **_NATS),
    ov_sine_nats=numeric("E, of sin(kz - 2kx) in id1: -2 Im a", **_NATS),
    embed_cosine_nats=numeric("2 Re a of id2 = W_out embed / 2; D = 2 ov_cosine_nats + embed_cosine_nats", **_NATS),
    joint_abs_nats=numeric("C of the whole logits, fitted together with the next", **_NATS),
    joint_identity_nats=numeric("D of the whole logits, fitted together with the last", **_NATS),
)
def coefficients(trained: TrainedRun) -> Rows:
    """C_k and D_k of Appendix B for every key frequency, and the integral's prediction of C_k (003-10).

    One row per key frequency of the last weights. UserError for an architecture without these circuits.
    """
    weights = circuits.weights(trained)
    found = keys(circuits.neurons(weights), trained.run.hyperparameters["vocabulary"])
    frequencies = [key.k for key in found]
    parts = laws.parts(weights)
    profile = {part: laws.profiles(parts[part], frequencies) for part in ("logits", "abs", "identity")}
    a_K = {
        name: spectrum.key_coefficients(spectrum.spectrum(matrix), frequencies)
        for name, matrix in spectrum.identity_matrices(weights).items()
    }
    for i, key in enumerate(found):
        C = laws.coefficients(profile["abs"][i], "abs", key.k)[0]
        D = laws.coefficients(profile["identity"][i], "double", key.k)[0]
        joint = laws.coefficients(profile["logits"][i], "both", key.k)
        yield {
            "frequency": key.k,
            "neurons": len(key.weight),
            "weight_share_1": key.share,
            "abs_coefficient_nats": C,
            "predicted_abs_nats": key.weight.sum() / (3 * np.pi),
            "identity_coefficient_nats": D,
            "ratio_1": -D / C,
            "ov_cosine_nats": 2 * a_K["OV"][i].real,
            "ov_sine_nats": -2 * a_K["OV"][i].imag,
            "embed_cosine_nats": 2 * a_K["embed(y)"][i].real,
            "joint_abs_nats": joint[0],
            "joint_identity_nats": joint[1],
        }


@measure(
    recipe=1,
    frequency=exact("key frequency k"),
    weight_share_1=numeric("its neurons' share of the sum of all r", rtol=5e-2, atol=5e-3),
    part=exact("abs, identity: |u|/2 and u/2 of ReLU(u); relu: all of it"),
    rms_nats=numeric("root mean square of its single-frequency sum over all x, y, z", rtol=0.05, atol=0.05),
    difference_1=numeric("root mean square of what leaving the sign out changes, over rms_nats", rtol=0, atol=0.1),
)
def sign_inside(trained: TrainedRun) -> Rows:
    """Equation 1 takes |cos(k(x-y)/2)| out of the ReLU and drops its sign: the size of that change (E003-4).

    One row per key frequency and part, of the last weights. UserError without these circuits.
    """
    return [(key.k, key.share, part, *_sizes(key, part)) for key in run_keys(trained) for part in PARTS]


def _sizes(key: Key, part: Part) -> tuple[float, float]:
    """rms_nats and difference_1 of one frequency.

    With D = cos(k(x - y)/2), theta = k(x + y)/2, g the part and T(theta) = sum_i r_i g(cos(theta + phi_i))
    exp(i psi_i), its sum is Re(|D| T(theta') exp(ikz)), theta' = theta, or theta + pi where D < 0. The paper
    has T(theta) everywhere. Over z the mean square of Re(Q exp(ikz)) is |Q|^2 / 2.
    """
    p, (x, y) = key.p, np.indices((key.p, key.p))
    D = np.cos(np.pi * key.k * (x - y) / p)
    step = (key.k * (x + y)) % (2 * p)  # theta in steps of pi / p
    T = FACTOR[part] * trained_sum(part, np.pi * np.arange(2 * p) / p, key.rule._replace(width=key.weight))
    inside, outside = T[(step + np.where(D < 0, p, 0)) % (2 * p)], T[step]
    right, missed = (np.sqrt(np.mean(np.abs(D * Q) ** 2) / 2) for Q in (inside, outside - inside))
    return float(right), float(missed / right) if right > 0 else 0.0
