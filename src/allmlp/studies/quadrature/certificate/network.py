"""The network as tables of balls, and the layout of weights that can be certified.

    pre(x, y)_i    = A[x, i] + B[y, i]
    logit(x, y, z) = S1[x, z] + S2[y, z] + sum_i ReLU(pre_i) W[z, i]
                   = L1[x, z] + L2[y, z] + 1/2 sum_i |pre_i| W[z, i]

because ReLU(u) = (u + |u|) / 2: L1 = S1 + A W^T / 2 and L2 = S2 + B W^T / 2 hold all that is linear (residual
stream, biases, positions, embed(y), half of the MLP) without any error. Weights are dyadic, so exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb, arb_mat

from allmlp.common.errors import UserError
from allmlp.models.primes import is_odd_prime
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.certificate.intervals import exact_matrix
from allmlp.studies.quadrature.circuits import LAYOUT
from allmlp.studies.quadrature.frequencies import Floats

FEWEST_NEURONS = 4


def check(weights: Mapping[str, Floats], source: str) -> dict[str, int]:
    """The sizes p, d, h, k, m that all tensors agree on.

    Raises UserError, naming `source`, the tensor and both shapes, unless they have the layout, finite numbers,
    p a prime above 2 and at least 4 neurons.
    """
    if missing := [name for name in LAYOUT if name not in weights]:
        there = ", ".join(sorted(weights)) or "nothing"
        raise UserError(
            f"{source}: has no tensor {', '.join(missing)}, but {there}. A certificate needs {_layout()}; a missing "
            "bias or W_pos is one of zeros."
        )
    sizes: dict[str, int] = {"2": 2}
    first: dict[str, str] = {"2": "two positions"}
    for name, letters in LAYOUT.items():
        shape = np.shape(weights[name])
        expected = letters.split()
        if len(shape) != len(expected):
            raise UserError(f"{source}: {name} has shape {shape}, but must be ({', '.join(expected)}): {_layout()}.")
        for letter, size in zip(expected, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise UserError(
                    f"{source}: {name} has shape {shape}, but must be ({', '.join(expected)}) with {letter} = "
                    f"{sizes[letter]} ({first[letter]}): {_layout()}."
                )
            first.setdefault(letter, f"from {name}")
        if not np.isfinite(weights[name]).all():
            wrong = int((~np.isfinite(weights[name])).sum())
            raise UserError(f"{source}: {name} has {wrong} of {np.size(weights[name])} entries NaN or infinite.")
    p, m = sizes["p"], sizes["m"]
    if not is_odd_prime(p):
        raise UserError(f"{source}: is for p={p} tokens (rows of W_E); addition modulo p needs a prime p above 2.")
    if m < FEWEST_NEURONS:
        raise UserError(f"{source}: W_in has {m} neurons; a certificate needs at least {FEWEST_NEURONS}.")
    if min(sizes.values()) < 1:
        raise UserError(f"{source}: a tensor is empty; a certificate needs {_layout()}.")
    return {letter: sizes[letter] for letter in "pdhkm"}


def _layout() -> str:
    return ", ".join(f"{name} ({letters.replace(' ', ', ')})" for name, letters in LAYOUT.items())


@dataclass(frozen=True)
class Network:
    """Tables of balls: A, B, W (p, m); S1, S2 (p, p); their float64 values, which only guide choices; sizes."""

    A: arb_mat
    B: arb_mat
    W: arb_mat
    S1: arb_mat
    S2: arb_mat
    A_float: Floats
    B_float: Floats
    W_float: Floats
    sizes: dict[str, int]

    @property
    def p(self) -> int:
        """Tokens."""
        return self.sizes["p"]

    @property
    def m(self) -> int:
        """Neurons."""
        return self.sizes["m"]

    @cached_property
    def linear(self) -> tuple[arb_mat, arb_mat]:
        """L1 and L2, (p, p): what is linear in first and second token."""
        half, outward = arb(0.5), self.W.transpose()
        return self.S1 + (self.A * outward) * half, self.S2 + (self.B * outward) * half


def network(weights: Mapping[str, Floats], source: str = "weights") -> Network:
    """The tables of a network's weights, named and shaped as in LAYOUT. Raises UserError as `check` does."""
    arrays = {name: np.asarray(weights[name], dtype=np.float64) for name in LAYOUT if name in weights}
    sizes = check(arrays, source)
    w = {name: exact_matrix(array) for name, array in arrays.items() if array.ndim == 2}
    side_by_side = exact_matrix(np.concatenate(list(arrays["W_V"]), axis=1))
    attended = side_by_side * exact_matrix(np.concatenate(list(arrays["W_O"]), axis=0)) * arb(0.5)
    p, d, m = sizes["p"], sizes["d"], sizes["m"]
    position = [exact_matrix(np.repeat(arrays["W_pos"][i : i + 1], p, axis=0)) for i in (0, 1)]
    first = (w["W_E"] + position[0]) * attended
    direct = w["W_E"] + position[1]
    second = direct + direct * attended
    biased = second + exact_matrix(np.broadcast_to(arrays["b_out"], (p, d)))
    with np.errstate(all="ignore"):  # float values only guide: overflow makes a bound poor, never wrong
        tables = _float_tables(arrays)
    return Network(
        A=first * w["W_in"],
        B=second * w["W_in"] + exact_matrix(np.broadcast_to(arrays["b_in"], (p, m))),
        W=(w["W_out"] * w["W_U"]).transpose(),
        S1=first * w["W_U"],
        S2=biased * w["W_U"],
        **tables,
        sizes=sizes,
    )


def _float_tables(w: Mapping[str, Floats]) -> dict[str, Floats]:
    attended = circuits.attention_map(w)
    first, direct = (w["W_E"] + w["W_pos"][0]) @ attended, w["W_E"] + w["W_pos"][1]
    found = {
        "A_float": first @ w["W_in"],
        "B_float": (direct + direct @ attended) @ w["W_in"] + w["b_in"],
        "W_float": circuits.output(w),
    }
    return {name: np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0) for name, values in found.items()}
