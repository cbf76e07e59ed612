"""The structured sum over neurons by Fourier terms: the kept ones, and a bound on the others.

With d = x - y and theta = phi + k y the model of a key is a function of one angle for each of p differences,

    P_k(x, y; phi) = Re[A1(d) e^(i theta) + A2(d) e^(2 i theta)] + g,    A1 = a e^(ikd) + a',  A2 = b e^(2ikd) + b'.

On the n angles theta_j = 2 pi j / n that phi_i + k y can take (p divides n), its absolute value is, exactly,

    |P_k|(theta_j) = sum over |m| <= n/2 of H_m(d) e^(i m theta_j),   H_m(d) = 1/n sum_j |P_k|(theta_j) e^(-i m theta_j)

(one of m = +-n/2 where n is even), so that with the moments mu_m(z) = sum_i amp_i W[z, i] e^(i m phi_i)

    sum_i amp_i |P_k(x, y; phi_i)| W[z, i] = sum_m H_m(d) e^(imky) mu_m(z).

`kept_terms` chooses the kept terms for a given number. Each other term enters a margin as |H_m(d)| times

    |mu_m(c) - mu_m(z)| <= sum_f |sin(f (c - z) / 2)| (|nu+_fm| + |nu-_fm|) + sum_i amp_i range_i,
    nu+_fm = sum_i amp_i v_fi e^(i m phi_i),  nu- the same with conjugate v,

which is `residual`'s decomposition of W. No term is neglected, and there is no tail beyond n/2.
"""

from dataclasses import dataclass

import numpy as np
from flint import acb, acb_mat, arb, arb_mat

from allmlp.studies.quadrature.certificate.intervals import (
    absolute_values,
    balls,
    columns,
    exact_matrix,
    lower_ends,
    matrix_rows,
    numbers,
    roots,
    stack_matrices,
    upper_ends,
    waves,
)
from allmlp.studies.quadrature.certificate.network import Network
from allmlp.studies.quadrature.certificate.structure import Key, Structure
from allmlp.studies.quadrature.frequencies import Floats


def kept_terms(terms: int, angles: int) -> list[int]:
    """The frequencies |m| of so many terms: the first of 2, 0, 1, 3, 4, 5, ..., angles // 2.

    One term is m = +-2, which the paper's integral over exp(2 i phi) evaluates; n > 2 terms are |m| < n.
    """
    return sorted([2, 0, 1, *range(3, angles // 2 + 1)][:terms])


@dataclass(frozen=True)
class Profiles:
    """One key's |P_k| over angles and its moments, for all |m| <= n/2 =: M."""

    key: Key
    coefficients: list[list[acb]]  # [d][m] of H_m(d), m = 0 .. M, doubled where -m is another term
    size: Floats  # (p, M + 1), upper ends of their absolute values
    turns: tuple[arb_mat, arb_mat]  # cos and sin of m phi_i, (n, M + 1)
    moments: dict[int, tuple[list[acb], list[acb]]]  # f -> nu+_fm and nu-_fm, m = 0 .. M
    weight: float  # R = sum_i amp_i |v_i| at the key's own frequency, rounded, for `ideal_sum`


def profiles(network: Network, structure: Structure) -> list[Profiles]:
    """Of every key. Its cost is counted in `operations`."""
    found = []
    for key in structure.keys:
        H = _coefficients(key, network.p, structure.angles)
        size = upper_ends(balls(network.p, len(H[0]), (abs(value) for row in H for value in row)))
        orders = np.arange(len(H[0]))
        turns = waves(key.angle[:, None] * orders[None], structure.angles)
        weight = float((key.amplitude * np.abs(structure.waves_out[key.k][key.neurons])).sum())
        found.append(Profiles(key, H, size, turns, _moments(key, structure, turns), weight))
    return found


def _coefficients(key: Key, p: int, angles: int) -> list[list[acb]]:
    """H_m(d) for m = 0 .. n // 2, doubled where -m is another term than m (|P_k| is real, so H_-m is conj H_m)."""
    cosine, sine = roots(p)
    rows: list[arb] = []
    for d in range(p):
        for h, (of_x, of_y) in ((1, key.primary), (2, key.double)):
            turn = acb(cosine[h * key.k * d % p], sine[h * key.k * d % p])
            value = acb(of_x.real, of_x.imag) * turn + acb(of_y.real, of_y.imag)
            rows += [value.real, -value.imag]
        rows.append(arb(key.constant))
    steps = np.arange(angles)[None]
    basis = [part for h in (1, 2) for part in waves(h * steps, angles)]
    values = absolute_values(balls(p, 5, rows) * stack_matrices(*basis, exact_matrix(np.ones((1, angles)))))
    orders = np.arange(angles // 2 + 1)
    share = [arb(1) / angles if m in (0, angles / 2) else arb(2) / angles for m in orders.tolist()]
    real, imag = (matrix_rows(values * part) for part in waves(np.outer(np.arange(angles), orders), angles))
    return [
        [acb(a, -b) * s for a, b, s in zip(cosines, sines, share, strict=True)]
        for cosines, sines in zip(real, imag, strict=True)
    ]


def _moments(key: Key, structure: Structure, turns: tuple[arb_mat, arb_mat]) -> dict[int, tuple[list[acb], list[acb]]]:
    amplitude, found = numbers(key.amplitude), {}
    for f, v in structure.waves_out.items():
        scaled = [
            amp * ball
            for part in (v[key.neurons].real, v[key.neurons].imag)
            for amp, ball in zip(amplitude, numbers(part), strict=True)
        ]
        both = balls(2, len(amplitude), scaled)
        (rc, ic), (rs, is_) = (matrix_rows(both * part) for part in turns)
        parts = list(zip(rc, ic, rs, is_, strict=True))
        plus = [acb(a - d, c + b) for a, b, c, d in parts]  # (r + i i)(cos + i sin)
        minus = [acb(a + d, c - b) for a, b, c, d in parts]  # (r - i i)(cos + i sin)
        found[f] = (plus, minus)
    return found


def kept_sum(network: Network, of_keys: list[Profiles], kept: list[int]) -> list[acb_mat]:
    """F[s] (d, z): 1/2 sum over keys, kept m of H_m(d) e^(imky) mu_m(z) = sum_s Re(F[s][d, z] e^(2 pi i s y / p)).

    s = 0 .. (p - 1) / 2: frequencies of y beyond p / 2 are folded back, Re(f e^(isy)) = Re(conj(f) e^(i(p - s)y)).
    """
    p = network.p
    table = matrix_rows(network.W)
    total = [acb_mat(p, p) for _ in range(p // 2 + 1)]
    for one in of_keys:
        amplitude = zip(one.key.neurons.tolist(), numbers(one.key.amplitude), strict=True)
        halves = [(i, amp * arb(0.5)) for i, amp in amplitude]
        weighted = balls(p, len(halves), (row[i] * half for row in table for i, half in halves))
        real, imag = (matrix_rows(weighted * columns(matrix_rows(part), kept)) for part in one.turns)
        mu = [[acb(real[z][j], imag[z][j]) for z in range(p)] for j in range(len(kept))]
        _add(total, one, kept, mu)
    return total


def _add(total: list[acb_mat], one: Profiles, kept: list[int], mu: list[list[acb]]) -> None:
    """Add one key's kept terms, mu[j][z] for m = kept[j], to the frequencies of y that they have."""
    p = total[0].nrows()
    for s in range(p // 2 + 1):
        terms = [(j, m, m * one.key.k % p == s) for j, m in enumerate(kept) if m * one.key.k % p in (s, (p - s) % p)]
        if not terms:
            continue
        left = [[row[m] if straight else row[m].conjugate() for _, m, straight in terms] for row in one.coefficients]
        right = [[ball if straight else ball.conjugate() for ball in mu[j]] for j, _, straight in terms]
        total[s] += acb_mat(left) * acb_mat(right)


def ideal_sum(network: Network, of_keys: list[Profiles]) -> list[acb_mat]:
    """As `kept_sum`, of m = 2 alone and with the integral in place of the sum: every neuron at psi = 2 phi.

    mu_2(z) = 1/2 R e^(-ikz), R = sum_i amp_i |v_i|: the moment of evenly spread angles of that weight.
    """
    p = network.p
    cosine, sine = roots(p)
    total = [acb_mat(p, p) for _ in range(p // 2 + 1)]
    for one in of_keys:
        quarter = arb(one.weight) / 4
        turns = [one.key.k * z % p for z in range(p)]
        _add(total, one, [2], [[acb(cosine[t] * quarter, -sine[t] * quarter) for t in turns]])
    return total


def sum_pairs(F: list[acb_mat]) -> tuple[Floats, Floats]:
    """Ends of sum_s Re(F[s][d, z] e^(2 pi i s y / p)), (d, y, z) each. Even and odd part in y take half the work."""
    half, rows = len(F), [part.tolist() for part in F]
    p = len(rows[0])
    grid = np.arange(half)[:, None] * np.arange(half)[None]
    cosine, sine = waves(grid, p)
    low, high = np.empty((p, p, p)), np.empty((p, p, p))
    for d in range(p):
        even = cosine * balls(half, p, (ball.real for part in rows for ball in part[d]))
        odd = sine * balls(half, p, (ball.imag for part in rows for ball in part[d]))
        for values, y in ((even - odd, np.arange(half)), (even + odd, -np.arange(half) % p)):
            low[d, y], high[d, y] = lower_ends(values), upper_ends(values)
    return low, high


def left_out_bound(
    network: Network, of_keys: list[Profiles], kept: list[int], rest_range: Floats, ideal: bool = False
) -> Floats:
    """Upper ends of the loss of a margin to the terms that are not kept, (d, delta) with delta = c - z mod p.

    `ideal`: m = 2 is then left out by the difference of its moment from `ideal_sum`'s.
    """
    p, orders = network.p, of_keys[0].size.shape[1]
    chosen = [m for m in range(orders) if m not in kept]
    frequencies = list(of_keys[0].moments)
    total = arb_mat(p, len(frequencies) + 1)
    ranges = numbers(rest_range)
    for one in of_keys:
        by_frequency = []
        for f in frequencies:
            plus, minus = one.moments[f]
            minus = [v - one.weight if ideal and f == one.key.k and m == 2 else v for m, v in enumerate(minus)]
            by_frequency.append([abs(plus[m]) + abs(minus[m]) for m in chosen])
        amplitude = numbers(one.key.amplitude)
        rest = sum((amp * ranges[i] for amp, i in zip(amplitude, one.key.neurons.tolist(), strict=True)), arb(0))
        moments = arb_mat([*by_frequency, [rest] * len(chosen)]).transpose()
        total += exact_matrix(one.size[:, chosen]) * moments
    sines = absolute_values(waves(np.outer(frequencies, np.arange(p)), 2 * p)[1])
    return upper_ends(total * stack_matrices(sines, exact_matrix(np.ones((1, p)))) * arb(0.5))
