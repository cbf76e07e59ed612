"""The network of 003 as two small matrices: from tokens to neurons, and from neurons to logits.

With attention 1/2 everywhere and no norm, the network is, exactly,

    pre(x, y)       = OV(x) + OV(y) + embed(y) + constants        OV = 1/2 sum_heads W_E W_V W_O W_in
    logit(x, y, z)  = ReLU(pre(x, y)) . W_out(z) + residual       W_out(z) = (W_out W_U)[:, z]

The paper's analysis (Section 2, Appendix A) keeps OV and W_out and neglects the rest; `logits` keeps all.
Everything is float64 NumPy, from weights as the constant-attention architecture names them.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from allmlp.common.errors import UserError
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.quadrature.frequencies import Floats, Neurons, read_neurons

Weights = Mapping[str, Floats]

LAYOUT = {  # name -> shape: p tokens, d_model d, h heads of k features, m neurons
    "W_E": "p d",
    "W_pos": "2 d",
    "W_V": "h d k",
    "W_O": "h k d",
    "W_in": "d m",
    "b_in": "m",
    "W_out": "m d",
    "b_out": "d",
    "W_U": "d p",
}


def weights(trained: TrainedRun, step: int | None = None) -> dict[str, Floats]:
    """The weights of a run after `step` updates (None: the last), float64.

    Raises UserError for an architecture without these weights.
    """
    tensors = trained.weights(step)
    missing = [name for name in LAYOUT if name not in tensors]
    if missing:
        raise UserError(
            f"run of {trained.run.labels.get('model', 'an architecture')} has no weight {', '.join(missing)} "
            f"but {', '.join(sorted(tensors))}. Frequencies are measured on 'constant-attention' only."
        )
    arrays = {name: tensors[name].detach().cpu().double().numpy() for name in LAYOUT}
    p = trained.run.hyperparameters["vocabulary"]
    if arrays["W_E"].shape[0] != p or arrays["W_U"].shape[1] != p:
        raise UserError(f"weights are for p={arrays['W_E'].shape[0]}, the run says vocabulary={p}")
    return arrays


def attention_map(w: Weights) -> Floats:
    """The map of a token's residual stream through attention 1/2 in every head, (d, d)."""
    return 0.5 * np.einsum("hdk,hke->de", w["W_V"], w["W_O"])


def ov(w: Weights) -> Floats:
    """OV[x, i]: what token x adds to the pre-activation of neuron i through attention, (p, d_mlp)."""
    return w["W_E"] @ attention_map(w) @ w["W_in"]


def output(w: Weights) -> Floats:
    """W_out[z, i]: what one unit of activation of neuron i adds to logit z, (p, d_mlp)."""
    return (w["W_out"] @ w["W_U"]).T


def neurons(w: Weights) -> Neurons:
    """Frequency, phases and amplitudes of every neuron."""
    return read_neurons(ov(w), output(w))


def embed(w: Weights) -> Floats:
    """embed(y)[y, i]: what the second token adds to neuron i past the attention, (p, d_mlp)."""
    return w["W_E"] @ w["W_in"]


def residual(w: Weights) -> Floats:
    """The residual stream that the MLP reads, for all pairs: [x, y, :], (p, p, d)."""
    first = (w["W_E"] + w["W_pos"][0]) @ attention_map(w)
    second = (w["W_E"] + w["W_pos"][1]) @ (np.eye(len(w["b_out"])) + attention_map(w))
    return first[:, None] + second[None, :]


def logits(w: Weights) -> Floats:
    """The logits of the whole network for all pairs, without approximation: [x, y, z], (p, p, p)."""
    r_XYD = residual(w)
    hidden_XYM = np.maximum(r_XYD @ w["W_in"] + w["b_in"], 0.0)
    return hidden_XYM @ output(w).T + (r_XYD + w["b_out"]) @ w["W_U"]


def margins(logits_XYZ: Floats) -> Floats:
    """Logit of the right sum minus the largest other one, (p, p, p) -> (p, p): above 0 where right."""
    p = len(logits_XYZ)
    return margin(logits_XYZ.reshape(p * p, p).copy(), np.add.outer(range(p), range(p)).ravel() % p).reshape(p, p)


def margin(logits_RZ: Floats, right_R: NDArray) -> Floats:
    """Logit `right` of every row minus the largest other one, (rows, p) -> (rows,). Writes into `logits_RZ`."""
    row = np.arange(len(logits_RZ))
    own_R = logits_RZ[row, right_R]
    logits_RZ[row, right_R] = -np.inf
    return own_R - logits_RZ.max(axis=1)
