"""Counted cost of each level: operations from the weights to bounds on all margins.

An operation is one multiply-add of two real numbers, or an addition or absolute value alone; comparisons and
copies are free. A complex multiply-add is 4. A real discrete Fourier transform of p points is counted by its
even and odd halves, one of n = j p points as j of those and j terms for each of n // 2 + 1 results (in Python a
plain matrix product is faster, and taken instead). Every count includes the tables of the network, which all
levels need. Sizes: p tokens, d model, h heads of k, m neurons.
"""

from collections.abc import Mapping

Sizes = Mapping[str, int]


def count_tables(sizes: Sizes) -> int:
    """A, B, W, S1 and S2 from the weights."""
    p, d, heads, k, m = (sizes[letter] for letter in "pdhkm")
    attended = d * heads * k * d
    streams = 2 * p * d + 2 * p * d * d + 2 * p * d  # positions; first, second; the direct path and b_out
    into = 2 * p * d * m + p * m
    return attended + streams + into + 2 * p * d * p + m * d * p


def count_brute_force(sizes: Sizes) -> int:
    """Every logit of every pair: pre-activations, ReLU, unembedding, residual stream, margins."""
    p, m = sizes["p"], sizes["m"]
    return count_tables(sizes) + 2 * p**2 * m + p**3 * m + 2 * p**3 + p**3


def count_hidden(sizes: Sizes, rank: int) -> int:
    """The hidden layer exactly and `rank` columns of the unembedding."""
    p, m = sizes["p"], sizes["m"]
    chosen = p * (p + 1) // 2 * m + 9 * p**3 + rank * p * m  # Gram matrix, its eigenvectors (about 9 p^3), G
    rest = rank * p * m + 2 * m  # W - F G and its ranges
    return count_tables(sizes) + count_linear(sizes) + chosen + rest + p**2 * m * (rank + 3) + p**3 * (rank + 2) + p**2


def count_structured(sizes: Sizes, keys: int, angles: int, terms: int) -> int:
    """The structured model with so many keys, angles and kept terms."""
    p, m, orders = sizes["p"], sizes["m"], angles // 2 + 1
    reading = 2 * m * count_transform(p) + 4 * p * m + 60 * m  # A and W at all frequencies, B at two; about 60 to fit
    residuals = 2 * 6 * p * m + (2 * keys + 1) * p * m  # rho, and the rest of W
    charged = 2 * p * m + 2 * p**2 * m + 2 * (keys - 1) * p * m + 2 * p * m  # |Im|, own key, other keys, the rest
    moments = 4 * keys * m * orders + keys * keys * orders * 6
    profiles = keys * p * (5 * angles + angles // p * count_transform(p) + 4 * (angles // p) * orders)
    left = keys * p * orders * (keys + 1) + p * p * (keys + 1)
    kept = p * m + 2 * p * m * terms + 4 * keys * p**2 * terms
    pairs = p**2 * count_transform(p)
    margins = p**3 * (2 * keys + 6)
    return (
        count_tables(sizes)
        + count_linear(sizes)
        + (reading + residuals + charged + moments + profiles + left)
        + (kept + pairs + margins)
    )


def count_linear(sizes: Sizes) -> int:
    """L1 and L2."""
    p, m = sizes["p"], sizes["m"]
    return 2 * p**2 * m + 2 * p**2


def count_transform(p: int) -> int:
    """A real discrete Fourier transform of an odd number of points: fold, cosines of one half, sines of the other."""
    half = p // 2
    return 2 * half + (half + 1) ** 2 + half**2
