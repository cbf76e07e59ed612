"""Lower bounds on margins from the structured model: kept Fourier terms, minus bounds on everything else.

margin(x, y, z) >= linear + kept(x, y, c) - kept(x, y, z) - left_out(x - y, c - z) - residual(x, y, z)

with c = x + y mod p; see `fourier` for the first three and `residual` for the last.
"""

import numpy as np

from allmlp.studies.quadrature.certificate import fourier
from allmlp.studies.quadrature.certificate.fourier import Profiles
from allmlp.studies.quadrature.certificate.intervals import absolute, down, lower, up, upper, waves
from allmlp.studies.quadrature.certificate.network import Network
from allmlp.studies.quadrature.certificate.residual import Residual
from allmlp.studies.quadrature.certificate.truth import smallest
from allmlp.studies.quadrature.frequencies import Floats


def structured(network: Network, of_keys: list[Profiles], left: Residual, kept: list[int]) -> Floats:
    """Lower bounds (p, p) with the terms |m| in `kept`."""
    main = fourier.over_pairs(fourier.kept_sum(network, of_keys, kept))
    return _bounds(network, main, fourier.left_out(network, of_keys, kept, left.rest_range), left)


def story(network: Network, of_keys: list[Profiles], left: Residual) -> Floats:
    """Lower bounds (p, p) with each key's sum replaced by its integral, and everything else bounded."""
    main = fourier.over_pairs(fourier.ideal_sum(network, of_keys))
    return _bounds(network, main, fourier.left_out(network, of_keys, [], left.rest_range, ideal=True), left)


def _bounds(network: Network, main: tuple[Floats, Floats], left_out: Floats, left: Residual) -> Floats:
    p, token = network.p, np.arange(network.p)
    L1, L2 = network.linear
    low1, high1, low2, high2 = lower(L1), upper(L1), lower(L2), upper(L2)
    sines = {f: upper(absolute(waves(f * token[None], 2 * p)[1]))[0] for f in left.first}
    bounds = []
    for x in range(p):
        d, c = (x - token) % p, (x + token) % p
        right = down(down(low1[x] + low2) + main[0][d, token])
        wrong = up(up(high1[x] + high2) + main[1][d, token])
        delta, s = (c[:, None] - token) % p, (c[:, None] + token) % p
        rest = up(left.rest_first[x] + left.rest_second)[:, None]
        error = up(left_out[d[:, None], delta] + rest)
        for f, sine in sines.items():
            tables = up(left.first[f][x][s] + left.second[f][token[:, None], s])
            error = up(error + up(sine[delta] * tables))
        bounds.append(smallest(right, wrong, x, error=error))
    return np.stack(bounds)
