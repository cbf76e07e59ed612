"""The hidden layer exactly, the unembedding compressed.

W[z, i] = sum_r F[z, r] G[r, i] + rest_i(z) with few columns r, F and G any numbers (here the leading singular vectors
of W as float64). As |pre_i| >= 0, for every wrong z

    margin(x, y, z) >= linear + 1/2 sum_r (F[c, r] - F[z, r]) Y_r(x, y) - 1/2 sum_i |pre_i| range_i

with c = x + y mod p, Y_r(x, y) = sum_i G[r, i] |pre_i|, and range_i = max_z rest_i(z) - min_z rest_i(z). That takes
p^2 m (R + 1) operations for R columns, where brute force takes p^3 m.
"""

import numpy as np
from flint import arb

from allmlp.studies.quadrature.certificate.intervals import balls, down, exact, lower, rows_of, spans, upper
from allmlp.studies.quadrature.certificate.network import Network
from allmlp.studies.quadrature.certificate.truth import absolute_pre, paired, smallest
from allmlp.studies.quadrature.frequencies import Floats

KEPT = 0.01  # singular values from this share of the largest on; training leaves little below


def factors(network: Network) -> tuple[Floats, Floats]:
    """F (p, R) and G (R, m) of the leading singular vectors of W, centred over z."""
    centred = network.W_float - network.W_float.mean(axis=0)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    rank = max(1, int((values > KEPT * values[0]).sum()))
    return left[:, :rank] * values[:rank], right[:rank]


def hidden(network: Network, F: Floats, G: Floats) -> Floats:
    """Lower bounds on the margins, (p, p), with W compressed to F (p, R) and G (R, m), any finite numbers."""
    p, rank, half = network.p, len(G), arb(0.5)
    rest = network.W - exact(F) * exact(G)
    outward = exact(np.concatenate([G, spans(rest)[None]])).transpose() * half
    spread = exact(F.T)
    L1, L2 = network.linear
    bounds = np.empty((p, p))
    for tokens, pre in absolute_pre(network):
        sums = rows_of(pre * outward)
        logits = paired(L1, L2, tokens) + balls(len(sums), rank, (ball for row in sums for ball in row[:rank])) * spread
        lost = upper(balls(len(tokens), p, (row[rank] for row in sums)))
        ends = [end(logits).reshape(len(tokens), p, p) for end in (lower, upper)]
        for x, right, wrong, charge in zip(tokens, *ends, lost, strict=True):
            bounds[x] = down(smallest(right, wrong, x) - charge)
    return bounds
