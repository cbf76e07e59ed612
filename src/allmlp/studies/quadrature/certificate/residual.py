"""The residual of the structured model in A, B and W, and its effect on margins.

With rho^A_i(x) = A[x, i] - model's share of x, and rho^B_i(y) likewise,

    | |pre_i| - amp_i |P_k(x, y; phi_i)| |  <=  |rho^A_i(x)| + |rho^B_i(y)|.

In margin(x, y, z) the neuron stands with (W[c, i] - W[z, i]) / 2. With W[z, i] = sum_f Re(v_f e^(ifz)) + rest_i(z),

    e^(ifc) - e^(ifz) = 2 i sin(f (c - z) / 2) e^(if (c + z) / 2)        (2 pi f / p written as f), hence

    |W[c, i] - W[z, i]| / 2  <=  sum_f |sin(f (c - z) / 2)| |Im(v_f e^(if (c + z) / 2))| + range_i / 2

where |Im(..)| <= |v_f| is kept as it is for a neuron's own key only, and range_i is that of rest_i over z. Summed
over neurons with |rho| this gives tables of p by p per key: O(p^2 m) once, nothing per triple (x, y, z).
"""

from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from allmlp.studies.quadrature.certificate.intervals import (
    absolute_values,
    balls,
    columns,
    exact_matrix,
    matrix_rows,
    numbers,
    spans,
    stack_matrices,
    upper_ends,
    waves,
)
from allmlp.studies.quadrature.certificate.network import Network
from allmlp.studies.quadrature.certificate.structure import Key, Structure
from allmlp.studies.quadrature.frequencies import Complexes, Floats


@dataclass(frozen=True)
class Residual:
    """Upper ends. first, second: per key f, (p, p) over a token and s = c + z mod p; the rest: (p,) over a token."""

    first: dict[int, Floats]
    second: dict[int, Floats]
    rest_first: Floats
    rest_second: Floats
    rest_range: Floats  # (m,), range_i


def residual(network: Network, structure: Structure) -> Residual:
    """The tables for a model of a network."""
    p = network.p
    left = [_left_out_matrix(network, key, structure) for key in structure.keys]
    back = np.argsort(np.concatenate([key.neurons for key in structure.keys]))  # neurons in their own order again
    side_by_side = [[ball for part in left for ball in part[row]] for row in range(2 * p)]
    both = columns(side_by_side, back.tolist())
    ranges = rest_range(network, structure.waves_out)
    tables = {key.k: upper_ends(both * _outward_part(p, key, structure.waves_out[key.k])) for key in structure.keys}
    rest = upper_ends(both * (exact_matrix(ranges[:, None]) * arb(0.5)))[:, 0]
    return Residual(
        {f: table[:p] for f, table in tables.items()},
        {f: table[p:] for f, table in tables.items()},
        rest[:p],
        rest[p:],
        ranges,
    )


def _left_out_matrix(network: Network, key: Key, structure: Structure) -> list[list[arb]]:
    """|rho^A| and below it |rho^B| of a key's neurons, 2 p rows over neurons."""
    n, p, neurons = len(key.neurons), network.p, key.neurons.tolist()
    steps = np.arange(p)[:, None]
    one = exact_matrix(np.ones((1, p)))
    basis = stack_matrices(*(part.transpose() for h in (1, 2) for part in waves(h * key.k * steps, p)), one).transpose()
    turns = [[part.entries() for part in waves(h * key.angle[None], structure.angles)] for h in (1, 2)]
    amplitude, offset = numbers(key.amplitude), numbers(key.offset)
    found: list[list[arb]] = []
    for token, table in enumerate((network.A, network.B)):
        rows: list[arb] = []
        for (cosine, sine), shared in zip(turns, (key.primary[token], key.double[token]), strict=True):
            a, b = arb(shared.real), arb(shared.imag)
            rows += [amp * (a * c - b * s) for amp, c, s in zip(amplitude, cosine, sine, strict=True)]
            rows += [-amp * (a * s + b * c) for amp, c, s in zip(amplitude, cosine, sine, strict=True)]
        g = arb(key.constant)
        rows += offset if token == 0 else [amp * g - part for amp, part in zip(amplitude, offset, strict=True)]
        model = basis * balls(5, n, rows)
        found += matrix_rows(absolute_values(columns(matrix_rows(table), neurons) - model))
    return found


def _outward_part(p: int, key: Key, v: Complexes) -> arb_mat:
    """|Im(v_i e^(i pi k s / p))| of the key's own neurons, |v_i| of the others, (m, p)."""
    both = exact_matrix(np.stack([v.real, v.imag], axis=1))
    cosine, sine = waves(key.k * np.arange(p)[None], 2 * p)
    own = matrix_rows(absolute_values(both * stack_matrices(sine, cosine)))
    size = [(real * real + imag * imag).sqrt() for real, imag in matrix_rows(both)]
    mine = set(key.neurons.tolist())
    return balls(len(v), p, (ball for i, row in enumerate(own) for ball in (row if i in mine else [size[i]] * p)))


def rest_range(network: Network, waves_out: dict[int, Complexes]) -> Floats:
    """At least the range over z of W[z, i] - sum_f Re(v_f e^(ifz)), (m,)."""
    p = network.p
    basis, rows = [], []
    for f, v in waves_out.items():
        cosine, sine = waves(f * np.arange(p)[None], p)
        basis += [cosine, sine]
        rows += [exact_matrix(v.real[None]), exact_matrix(-v.imag[None])]
    rest = network.W - stack_matrices(*basis).transpose() * stack_matrices(*rows)
    return spans(rest)
