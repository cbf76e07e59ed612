"""Arithmetic that never rounds in the wrong direction: python-flint's arb, and float64 ends rounded outwards.

Matrix products, roots of unity and absolute values are arb balls, which hold the exact result whatever
the precision. Ends of balls leave as float64, rounded away from the ball; sums and products of such ends are
rounded by `round_down` or `round_up`: IEEE 754 rounds each operation to nearest, so the next float64 beyond holds it.

    >>> third = exact_matrix([[1.0]]) * (arb(1) / 3)
    >>> lower_ends(third)[0, 0] < 1 / 3 < upper_ends(third)[0, 0]
    np.True_
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
from flint import arb, arb_mat, fmpq
from numpy.typing import NDArray

from allmlp.studies.quadrature.frequencies import Floats

PRECISION = 64  # bits of a ball's midpoint: balls are tighter than float64, and still one machine word


def exact_matrix(values_RC: object) -> arb_mat:
    """A matrix of floats as balls of radius 0: float64 numbers are dyadic. values_RC: (rows, columns)."""
    values = np.asarray(values_RC, dtype=np.float64)
    rows, columns = values.shape
    return arb_mat(rows, columns, values.ravel().tolist())


def numbers(values_N: NDArray) -> list[arb]:
    """Floats as balls of radius 0, (n,)."""
    return [arb(value) for value in np.asarray(values_N, dtype=np.float64).tolist()]


def balls(rows: int, columns: int, entries: Iterable[arb]) -> arb_mat:
    """A matrix from its entries, row by row."""
    return arb_mat(rows, columns, list(entries))


def absolute_values(matrix: arb_mat) -> arb_mat:
    """Entry by entry |.|, of the same shape."""
    return arb_mat(matrix.nrows(), matrix.ncols(), list(map(abs, matrix.entries())))


def lower_ends(matrix: arb_mat) -> Floats:
    """Floats at or below every entry, (rows, columns); NaN where a ball holds no number."""
    return round_down(np.array([[float(ball.lower()) for ball in row] for row in matrix_rows(matrix)]))


def upper_ends(matrix: arb_mat) -> Floats:
    """Floats at or above every entry, (rows, columns); NaN where a ball holds no number."""
    return round_up(np.array([[float(ball.upper()) for ball in row] for row in matrix_rows(matrix)]))


def spans(matrix: arb_mat) -> Floats:
    """At least the largest minus the smallest entry of every column, (columns,)."""
    return round_up(upper_ends(matrix).max(axis=0) - lower_ends(matrix).min(axis=0))


def round_down(rounded: NDArray) -> Floats:
    """At or below the exact result of the one float64 operation that gave `rounded`."""
    return np.nextafter(rounded, -np.inf)


def round_up(rounded: NDArray) -> Floats:
    """At or above the exact result of the one float64 operation that gave `rounded`."""
    return np.nextafter(rounded, np.inf)


@cache
def roots(n: int) -> tuple[tuple[arb, ...], tuple[arb, ...]]:
    """cos(2 pi j / n) and sin(2 pi j / n), j = 0 .. n - 1."""
    pairs = [arb.sin_cos_pi_fmpq(fmpq(2 * j, n)) for j in range(n)]
    return tuple(cosine for _, cosine in pairs), tuple(sine for sine, _ in pairs)


def waves(indices: NDArray, n: int) -> tuple[arb_mat, arb_mat]:
    """cos and sin of 2 pi j / n for a matrix of integers j."""
    (cosines, sines), (rows, columns) = roots(n), indices.shape
    flat = (np.asarray(indices) % n).ravel().tolist()
    return arb_mat(rows, columns, [cosines[j] for j in flat]), arb_mat(rows, columns, [sines[j] for j in flat])


def matrix_rows(matrix: arb_mat) -> list[list[arb]]:
    """The rows of a matrix as lists."""
    return matrix.tolist()


def columns(rows: list[list[arb]], chosen: Iterable[int]) -> arb_mat:
    """A matrix of some columns of these rows, in the order `chosen`."""
    order = list(chosen)
    return balls(len(rows), len(order), (row[i] for row in rows for i in order))


def stack_matrices(*matrices: arb_mat) -> arb_mat:
    """Matrices of one width, one above the other."""
    entries = [ball for matrix in matrices for ball in matrix.entries()]
    return arb_mat(sum(matrix.nrows() for matrix in matrices), matrices[0].ncols(), entries)
