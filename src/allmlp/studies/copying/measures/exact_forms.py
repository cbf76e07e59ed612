"""Do the linear and the stable forms equal the sums of the paper's equations? In float64 (002-6, -11)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from allmlp.models.linear_relation import exp_over_largest, linear_causal_relation_sum
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure

SHAPE = (2, 256, 64)  # B, T, D
SIZES = (1.0, 10.0, 100.0)  # standard deviations of the inputs; above 709 in float64 the direct sum overflows


@measure(
    recipe=1,
    form=exact("which two forms are compared"),
    size_1=exact("standard deviation of the random inputs p and q"),
    difference_1=numeric("largest difference; relative for the factorised sum, else after LN0", rtol=1.0, atol=1e-11),
)
def exact_forms() -> Rows:
    """Do the linear and the stable forms equal the sums of the paper's equations? In float64 (002-6, -11).

    One row per form and size of inputs.
    """
    for size in SIZES:
        generator = torch.Generator().manual_seed(0)
        p_BTD, q_BTD = (size * torch.randn(SHAPE, generator=generator, dtype=torch.float64) for _ in range(2))
        for form, difference in differences(p_BTD, q_BTD).items():
            yield {"form": form, "size_1": size, "difference_1": difference}


def differences(p_BTD: Tensor, q_BTD: Tensor) -> dict[str, float]:
    """Each form against the direct sum of exponentials over all pairs.

    The direct sum subtracts the largest argument of each sequence, which no norm or ratio depends on: without this,
    inputs of size 100 overflow.
    """
    z_BjiD = q_BTD[:, :, None] + p_BTD[:, None]
    T = p_BTD.shape[1]
    past = torch.ones(T, T, dtype=torch.bool).tril()[..., None]
    largest = z_BjiD.masked_fill(~past, -torch.inf).amax((2, 3), keepdim=True)
    causal_BTD = (z_BjiD - largest).exp().where(past, 0).sum(2)
    all_BTD = (z_BjiD - z_BjiD.amax((2, 3), keepdim=True)).exp().sum(2)
    u_BTD = _norm(p_BTD)  # the sums of Linear CausalRN, in a separate form
    normed_BjiD = u_BTD[:, None] + q_BTD[:, :, None] - q_BTD.amax((1, 2))[:, None, None, None]
    normed_BTD = _norm(normed_BjiD.exp().where(past, 0).sum(2))
    factorised_BTD = q_BTD + _log_sums(p_BTD) - largest[:, :, 0]
    bidirectional_BTD = exp_over_largest(q_BTD + p_BTD.logsumexp(1, keepdim=True))
    return {
        "stable, causal": _largest_absolute(
            _norm(linear_causal_relation_sum(p_BTD, q_BTD, bounded=False)) - _norm(causal_BTD)
        ),
        "stable, causal, normed p": _largest_absolute(
            _norm(linear_causal_relation_sum(u_BTD, q_BTD, bounded=True)) - normed_BTD
        ),
        "stable, bidirectional": _largest_absolute(_norm(bidirectional_BTD) - _norm(all_BTD)),
        "factorised (eq. 5)": _largest_absolute((factorised_BTD.exp() - causal_BTD) / causal_BTD.clamp(min=1e-300)),
    }


def _log_sums(p_BTD: Tensor) -> Tensor:
    """log sum_{i<=j} exp(p_i), one position after the other."""
    sums = [p_BTD[:, 0]]
    for p_BD in p_BTD[:, 1:].unbind(1):
        sums.append(torch.logaddexp(sums[-1], p_BD))
    return torch.stack(sums, dim=1)


def _norm(x_BTD: Tensor) -> Tensor:
    return F.layer_norm(x_BTD, x_BTD.shape[-1:], eps=0.0)


def _largest_absolute(x: Tensor) -> float:
    return x.abs().max().item()
