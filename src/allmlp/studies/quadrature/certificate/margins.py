"""Lower bounds on the margins (p, p) of a network, in nats: the true ones, and those of each level.

truth: every x, y and z is tried in ball arithmetic, p^3 m operations. All other levels must stay below.

hidden: W[z, i] = sum_r F[z, r] G[r, i] + rest_i(z) with few columns r, F and G any numbers (here the leading singular
vectors of W as float64). As |pre_i| >= 0, for every wrong z

    margin(x, y, z) >= linear + 1/2 sum_r (F[c, r] - F[z, r]) Y_r(x, y) - 1/2 sum_i |pre_i| range_i

with c = x + y mod p, Y_r(x, y) = sum_i G[r, i] |pre_i|, and range_i = max_z rest_i(z) - min_z rest_i(z). That takes
p^2 m (R + 1) operations for R columns.

structured and story: kept Fourier terms, minus bounds on everything else (see `fourier`, and `residual` for the last),

    margin(x, y, z) >= linear + kept(x, y, c) - kept(x, y, z) - left_out(x - y, c - z) - residual(x, y, z).
"""

from collections.abc import Callable, Iterator

import numpy as np
from flint import arb, arb_mat

from allmlp.studies.quadrature.certificate import fourier
from allmlp.studies.quadrature.certificate.fourier import Profiles
from allmlp.studies.quadrature.certificate.intervals import (
    absolute_values,
    balls,
    exact_matrix,
    lower_ends,
    matrix_rows,
    round_down,
    round_up,
    spans,
    upper_ends,
    waves,
)
from allmlp.studies.quadrature.certificate.network import Network
from allmlp.studies.quadrature.certificate.residual import Residual
from allmlp.studies.quadrature.frequencies import Floats

CHUNK = 2**18  # entries of one matrix of balls: some 30 MB


def true_margins(network: Network) -> tuple[Floats, Floats]:
    """Lower and upper ends of every true margin, (p, p) each."""
    p, outward = network.p, network.W.transpose() * arb(0.5)
    L1, L2 = network.linear
    low, high = np.empty((p, p)), np.empty((p, p))
    for tokens, pre in absolute_pre_activations(network):
        logits = pre * outward + pair_logits(L1, L2, tokens)
        ends = [end(logits).reshape(len(tokens), p, p) for end in (lower_ends, upper_ends)]
        for x, right, wrong in zip(tokens, *ends, strict=True):
            low[x], high[x] = smallest_margins(right, wrong, x), smallest_margins(wrong, right, x, rounded=round_up)
    return low, high


def smallest_margins(
    right: Floats, wrong: Floats, x: int, rounded: Callable[[Floats], Floats] = round_down, error: Floats | None = None
) -> Floats:
    """min over z != c of right[y, c] - wrong[y, z] - error[y, z], (p,), with c = x + y mod p."""
    p = len(right)
    y, c = np.arange(p), (x + np.arange(p)) % p
    margins = rounded(right[y, c][:, None] - wrong)
    if error is not None:
        margins = rounded(margins - error)
    margins[y, c] = np.inf
    return margins.min(axis=1)  # NaN, where there is one


def absolute_pre_activations(network: Network) -> Iterator[tuple[range, arb_mat]]:
    """Some tokens x and |pre(x, y)_i| as a matrix ((x, y), i), until all x are through: at most CHUNK entries."""
    p, m = network.p, network.m
    A, B = matrix_rows(network.A), network.B.entries()
    step = max(1, CHUNK // (p * m))
    for start in range(0, p, step):
        tokens = range(start, min(p, start + step))
        entries = [abs(a + b) for x in tokens for a, b in zip(A[x] * p, B, strict=True)]
        yield tokens, arb_mat(len(tokens) * p, m, entries)


def pair_logits(L1: arb_mat, L2: arb_mat, tokens: range) -> arb_mat:
    """L1[x, z] + L2[y, z] as a matrix ((x, y), z), of some x."""
    p, rows, second = L1.ncols(), matrix_rows(L1), L2.entries()
    return balls(len(tokens) * p, p, (a + b for x in tokens for a, b in zip(rows[x] * p, second, strict=True)))


KEPT = 0.01  # singular values from this share of the largest on; training leaves little below


def factors(network: Network) -> tuple[Floats, Floats]:
    """F (p, R) and G (R, m) of the leading singular vectors of W, centred over z."""
    centred = network.W_float - network.W_float.mean(axis=0)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    rank = max(1, int((values > KEPT * values[0]).sum()))
    return left[:, :rank] * values[:rank], right[:rank]


def hidden_bounds(network: Network, F: Floats, G: Floats) -> Floats:
    """Lower bounds on the margins, (p, p), with W compressed to F (p, R) and G (R, m), any finite numbers."""
    p, rank, half = network.p, len(G), arb(0.5)
    rest = network.W - exact_matrix(F) * exact_matrix(G)
    outward = exact_matrix(np.concatenate([G, spans(rest)[None]])).transpose() * half
    spread = exact_matrix(F.T)
    L1, L2 = network.linear
    bounds = np.empty((p, p))
    for tokens, pre in absolute_pre_activations(network):
        sums = matrix_rows(pre * outward)
        logits = (
            pair_logits(L1, L2, tokens) + balls(len(sums), rank, (ball for row in sums for ball in row[:rank])) * spread
        )
        lost = upper_ends(balls(len(tokens), p, (row[rank] for row in sums)))
        ends = [end(logits).reshape(len(tokens), p, p) for end in (lower_ends, upper_ends)]
        for x, right, wrong, charge in zip(tokens, *ends, lost, strict=True):
            bounds[x] = round_down(smallest_margins(right, wrong, x) - charge)
    return bounds


def structured_bounds(network: Network, of_keys: list[Profiles], left: Residual, kept: list[int]) -> Floats:
    """Lower bounds (p, p) with the terms |m| in `kept`."""
    main = fourier.sum_pairs(fourier.kept_sum(network, of_keys, kept))
    return _bounds(network, main, fourier.left_out_bound(network, of_keys, kept, left.rest_range), left)


def story_bounds(network: Network, of_keys: list[Profiles], left: Residual) -> Floats:
    """Lower bounds (p, p) with each key's sum replaced by its integral, and everything else bounded."""
    main = fourier.sum_pairs(fourier.ideal_sum(network, of_keys))
    return _bounds(network, main, fourier.left_out_bound(network, of_keys, [], left.rest_range, ideal=True), left)


def _bounds(network: Network, main: tuple[Floats, Floats], left_out: Floats, left: Residual) -> Floats:
    p, token = network.p, np.arange(network.p)
    L1, L2 = network.linear
    low1, high1, low2, high2 = lower_ends(L1), upper_ends(L1), lower_ends(L2), upper_ends(L2)
    sines = {f: upper_ends(absolute_values(waves(f * token[None], 2 * p)[1]))[0] for f in left.first}
    bounds = []
    for x in range(p):
        d, c = (x - token) % p, (x + token) % p
        right = round_down(round_down(low1[x] + low2) + main[0][d, token])
        wrong = round_up(round_up(high1[x] + high2) + main[1][d, token])
        delta, s = (c[:, None] - token) % p, (c[:, None] + token) % p
        rest = round_up(left.rest_first[x] + left.rest_second)[:, None]
        error = round_up(left_out[d[:, None], delta] + rest)
        for f, sine in sines.items():
            tables = round_up(left.first[f][x][s] + left.second[f][token[:, None], s])
            error = round_up(error + round_up(sine[delta] * tables))
        bounds.append(smallest_margins(right, wrong, x, error=error))
    return np.stack(bounds)
