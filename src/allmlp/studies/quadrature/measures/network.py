"""A trained network as a whole: its sums' accuracy, its neurons, its margins."""

import math

import numpy as np
import pandas as pd

from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.quadrature import circuits, laws
from allmlp.studies.quadrature.bounds import total_bound
from allmlp.studies.quadrature.certificate.levels import certify
from allmlp.studies.quadrature.errors import largest_error
from allmlp.studies.quadrature.frequencies import (
    FADING_SHARE,
    KEY_SHARE,
    key_frequencies,
    normalise_widths,
    weight_shares,
    wrap,
)
from allmlp.studies.quadrature.keys import keys


@measure(
    recipe=1,
    step=exact("training steps done"),
    accuracy_1=numeric("share of all pairs whose largest logit is the right sum", atol=0.02),
    smallest_margin_nats=numeric("right logit minus the largest other, least over all pairs", rtol=0.05, atol=0.1),
    mean_margin_nats=numeric("the same, mean over all pairs", rtol=0.05, atol=0.1),
)
def accuracy(trained: TrainedRun) -> Rows:
    """Does the network add? Accuracy and margin over all p^2 pairs at every kept step (assumed by 003).

    One row per kept step. Raises UserError for an architecture without these circuits.
    """
    for step in sorted(set(trained.steps)):  # a run that diverged at a kept step names it twice
        margin_XY = circuits.margins(circuits.logits(circuits.weights(trained, step)))
        yield (step, (margin_XY > 0).mean(), margin_XY.min(), margin_XY.mean())


# On another CPU type one neuron in some hundreds, near a tie of two frequencies and hardly in use, takes the other
# one, and with it another phase and width, without a bound. Numbers that must agree are in error_table.
_FREE = {"rtol": 0.0, "atol": math.inf}
_NEURON_SHARE = {"rtol": 0.0, "atol": 0.3}


@measure(
    recipe=1,
    neuron=exact("position of the neuron in the hidden layer"),
    frequency=numeric("k with the most variance of OV over input tokens", **_FREE),
    frequency_out=numeric("k with the most variance of W_out over output tokens", **_FREE),
    share_in_1=numeric("share of the variance of OV at `frequency`", **_NEURON_SHARE),
    share_out_1=numeric("share of the variance of W_out at `frequency_out`", **_NEURON_SHARE),
    phi_rad=numeric("phase of OV at `frequency`: c cos(kx + phi)", **_FREE),
    psi_rad=numeric("phase of W_out at `frequency`: e cos(kz + psi)", **_FREE),
    amplitude_in_1=numeric("c, of OV at `frequency`", rtol=2e-2, atol=0.2),
    amplitude_out_1=numeric("e, of W_out at `frequency`", rtol=2e-2, atol=0.05),
    width_1=numeric("r = 2 c e, scaled to sum to 2 pi over the neurons of its frequency", **_FREE),
    angle_error_plus_rad=numeric("psi - 2 phi within pi of 0 (E003-2)", **_FREE),
    angle_error_minus_rad=numeric("psi + 2 phi within pi of 0: the sign as printed", **_FREE),
    is_key=numeric(f"do its frequency's neurons carry {KEY_SHARE:g} or more of the sum of all r?", **_FREE),
)
def neurons(trained: TrainedRun) -> Rows:
    """Frequency, phases, amplitudes and width of every neuron of the trained network (003-1, 003-2).

    One row per neuron of the last weights. Raises UserError for an architecture without these circuits.
    """
    weights = circuits.weights(trained)
    neurons = circuits.neurons(weights)
    width = np.zeros(len(neurons.phi))
    for k, share in weight_shares(neurons).items():
        if share > 0:  # a dead neuron alone at its frequency has no width
            of_k = neurons.frequency == k
            width[of_k] = normalise_widths(neurons.weight[of_k])
    return pd.DataFrame(
        {
            "neuron": np.arange(len(width)),
            "frequency": neurons.frequency,
            "frequency_out": neurons.frequency_out,
            "share_in_1": neurons.share_in,
            "share_out_1": neurons.share_out,
            "phi_rad": neurons.phi,
            "psi_rad": neurons.psi,
            "amplitude_in_1": neurons.amplitude_in,
            "amplitude_out_1": neurons.amplitude_out,
            "width_1": width,
            "angle_error_plus_rad": wrap(neurons.psi - 2 * neurons.phi),
            "angle_error_minus_rad": wrap(neurons.psi + 2 * neurons.phi),
            "is_key": np.isin(neurons.frequency, key_frequencies(neurons)),
        }
    )


@measure(
    recipe=1,
    part=exact(
        "logits: the whole network; mlp: without the residual stream's own way to the logits; abs, identity: by the "
        "part of ReLU(u) = |u|/2 + u/2 that lets it through"
    ),
    law=exact(
        "regressors, each times cos(k(x+y-z)): abs |cos(k(x-y)/2)|; cosine 1; double cos(k(x-y)); both: abs and double"
    ),
    key_frequencies=numeric("frequencies with regressors of their own", atol=1),
    r2_1=numeric("least squares over all p^3 logits, with an intercept", rtol=0, atol=0.03),
)
def regressions(trained: TrainedRun) -> Rows:
    """How well each law of Appendix B describes the logits of each part of the network (003-9).

    One row per part and law, of the last weights. UserError for an architecture without these circuits.
    """
    weights = circuits.weights(trained)
    keys = key_frequencies(circuits.neurons(weights))
    for part, logits_XYZ in laws.parts(weights).items():
        profile_KP = laws.profiles(logits_XYZ, keys)
        yield from [(part, law, len(keys), laws.r2(logits_XYZ, keys, law, profile_KP)) for law in laws.LAWS]


_SHARE = {"rtol": 0.0, "atol": 0.1}
_MEAN_ERROR = {"rtol": 0.1, "atol": 0.02}  # means over keys: a key near FADING_SHARE may enter on another CPU type


@measure(
    recipe=1,
    accuracy_1=numeric("share of all p^2 pairs whose largest logit is the right sum", atol=0.02),
    smallest_margin_nats=numeric("right logit minus the largest other, least over all pairs", rtol=0.2, atol=0.5),
    frequencies=numeric(f"frequencies with {FADING_SHARE:g} or more of the sum of all r: the keys", atol=1),
    key_share_1=numeric("their share of the sum of all r", **_SHARE),
    share_in_1=numeric("of the variance of OV at its frequency, mean over neurons of keys", **_SHARE),
    share_out_1=numeric("of the variance of W_out at its frequency, mean over neurons of keys", **_SHARE),
    matching_1=numeric("share of neurons of keys with one frequency in and out", **_SHARE),
    angle_error_rad=numeric("|psi - 2 phi|, mean over neurons of keys", **_MEAN_ERROR),
    abs_error_1=numeric("absolute part: max over t of |sum - integral|, mean over keys", **_MEAN_ERROR),
    identity_error_1=numeric("the same of the identity part", **_MEAN_ERROR),
    total_bound_1=numeric("the paper's bound, boxes and angles, mean over keys", **_MEAN_ERROR),
)
def scan(trained: TrainedRun) -> Rows:
    """A trained network in one row, for the grid over p and width and the sweep of weight decay.

    One row, of the last weights. Raises UserError for an architecture without these circuits.
    """
    weights = circuits.weights(trained)
    margin_XY, neurons = circuits.margins(circuits.logits(weights)), circuits.neurons(weights)
    found = keys(neurons, trained.run.hyperparameters["vocabulary"], FADING_SHARE)
    of_key = np.isin(neurons.frequency, [key.k for key in found])
    row = {
        "accuracy_1": (margin_XY > 0).mean(),
        "smallest_margin_nats": margin_XY.min(),
        "frequencies": len(found),
        "key_share_1": sum(key.share for key in found),
        "share_in_1": neurons.share_in[of_key].mean(),
        "share_out_1": neurons.share_out[of_key].mean(),
        "matching_1": (neurons.frequency == neurons.frequency_out)[of_key].mean(),
        "angle_error_rad": np.abs(wrap(neurons.psi - 2 * neurons.phi))[of_key].mean(),
    }
    errors = [
        (
            largest_error("abs", key.theta, key.rule),
            largest_error("identity", key.theta, key.rule),
            total_bound(key.rule),
        )
        for key in found
    ]  # each key counts once; NaN where there is none
    means = pd.DataFrame(errors, columns=["abs_error_1", "identity_error_1", "total_bound_1"], dtype=float).mean()
    return pd.DataFrame([row]).join(means.to_frame().T)


_BOUND = {"rtol": 0.1, "atol": 2.0}  # a neuron near a tie of two keys changes a sum over hundreds of them
_COUNT = {"rtol": 0.2, "atol": 0}  # another number of key frequencies, or of columns of the unembedding


@measure(
    recipe=1,
    level=exact("truth, hidden, structured or story"),
    terms=exact("Fourier terms kept (fourier.kept_terms); of `structured` the last row keeps all; 0: has none"),
    certified_accuracy_1=numeric("share of all p^2 pairs with a lower bound above 0", **_SHARE),
    true_accuracy_1=numeric("share of pairs whose true margin is above 0, by ball arithmetic", atol=0.02),
    smallest_bound_nats=numeric("lower bound on the margin, least over pairs", **_BOUND),
    mean_bound_nats=numeric("the same, mean over pairs", **_BOUND),
    smallest_margin_nats=numeric("true margin, least over pairs", rtol=0.05, atol=0.1),
    largest_excess_nats=numeric("bound minus upper end of the true margin, largest over pairs", **_BOUND),
    keys=numeric("key frequencies of the structured model", atol=1),
    operations=numeric("multiply-adds from the weights to all bounds, tables included", **_COUNT),
    brute_operations=exact("the same of trying every x, y and z"),
    seconds=timing("of the level, without the tables that all levels share"),
)
def certificate(trained: TrainedRun) -> Rows:
    """Lower bounds on the margins of the whole network, level by level, and their cost (D.2).

    One row per level, of the last weights. Raises UserError where `certify` does.
    """
    found = certify(circuits.weights(trained), trained.run.id)
    truth = found.levels[0]
    return [
        {
            "level": level.name,
            "terms": level.terms,
            "certified_accuracy_1": level.certified_share,
            "true_accuracy_1": truth.certified_share,
            "smallest_bound_nats": level.lower.min(),
            "mean_bound_nats": level.lower.mean(),
            "smallest_margin_nats": truth.lower.min(),
            "largest_excess_nats": (level.lower - found.upper).max(),
            "keys": len(found.keys),
            "operations": level.operations,
            "brute_operations": truth.operations,
            "seconds": level.seconds,
        }
        for level in found.levels
    ]
