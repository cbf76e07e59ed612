"""The true margins, by trying every x, y and z in ball arithmetic: p^3 m operations. Other levels must stay below."""

from collections.abc import Callable, Iterator

import numpy as np
from flint import arb, arb_mat

from allmlp.studies.quadrature.certificate.intervals import balls, down, lower, rows_of, up, upper
from allmlp.studies.quadrature.certificate.network import Network
from allmlp.studies.quadrature.frequencies import Floats

CHUNK = 2**18  # entries of one matrix of balls: some 30 MB


def truth(network: Network) -> tuple[Floats, Floats]:
    """Lower and upper ends of every true margin, (p, p) each, by trying every x, y and z."""
    p, outward = network.p, network.W.transpose() * arb(0.5)
    L1, L2 = network.linear
    low, high = np.empty((p, p)), np.empty((p, p))
    for tokens, pre in absolute_pre(network):
        logits = pre * outward + paired(L1, L2, tokens)
        ends = [end(logits).reshape(len(tokens), p, p) for end in (lower, upper)]
        for x, right, wrong in zip(tokens, *ends, strict=True):
            low[x], high[x] = smallest(right, wrong, x), smallest(wrong, right, x, rounded=up)
    return low, high


def smallest(
    right: Floats,
    wrong: Floats,
    x: int,
    rounded: Callable[[Floats], Floats] = down,
    error: Floats | None = None,
) -> Floats:
    """min over z != c of right[y, c] - wrong[y, z] - error[y, z], (p,), with c = x + y mod p."""
    p = len(right)
    y, c = np.arange(p), (x + np.arange(p)) % p
    margins = rounded(right[y, c][:, None] - wrong)
    if error is not None:
        margins = rounded(margins - error)
    margins[y, c] = np.inf
    return margins.min(axis=1)  # NaN, where there is one


def absolute_pre(network: Network) -> Iterator[tuple[range, arb_mat]]:
    """Some tokens x and |pre(x, y)_i| as a matrix ((x, y), i), until all x are through: at most CHUNK entries."""
    p, m = network.p, network.m
    A, B = rows_of(network.A), network.B.entries()
    step = max(1, CHUNK // (p * m))
    for start in range(0, p, step):
        tokens = range(start, min(p, start + step))
        entries = [abs(a + b) for x in tokens for a, b in zip(A[x] * p, B, strict=True)]
        yield tokens, arb_mat(len(tokens) * p, m, entries)


def paired(L1: arb_mat, L2: arb_mat, tokens: range) -> arb_mat:
    """L1[x, z] + L2[y, z] as a matrix ((x, y), z), of some x."""
    p, rows, second = L1.ncols(), rows_of(L1), L2.entries()
    return balls(len(tokens) * p, p, (a + b for x in tokens for a, b in zip(rows[x] * p, second, strict=True)))
