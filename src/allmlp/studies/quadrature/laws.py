"""The logits against the laws of Appendix B: R2 of least squares, and coefficients (003-9, 003-10).

A law says that logits are, up to a constant, sum_k a_k(x - y) cos(k(x + y - z)), k meaning 2 pi k / p, with
profiles a_k from a span that it names:

    abs      C_k |cos(k(x - y)/2)|                            the first that the paper regresses on
    cosine   c_k                                              the second
    double   D_k cos(k(x - y))                                the identity part's, by the 2-D Fourier transform
    both     C_k |cos(k(x - y)/2)| + D_k cos(k(x - y))        Appendix B's last expression, not regressed there

Least squares needs no matrix of p^3 rows. For p odd, any profiles and 0 < k, l < p/2,

    sum over x, y, z of a(x - y) cos(k(x + y - z)) b(x - y) cos(l(x + y - z)) = 0 unless k = l,

as the sum over z leaves p/2 if k = l and 0 else; and 0 with the intercept too. With s = x + y and d = x - y, which
run over all residues independently, the logits take part only by their own profiles

    A_k(d) = 2 / p^2  sum over s, z of logit cos(k(s - z)),      <logit, a cos> = (p^2 / 2) sum_d a(d) A_k(d),

so the coefficients of frequency k are those of least squares of A_k(d) on that law's profiles over d, and

    R2 = (p^2 / 2) sum_k |projection of A_k|^2 / |logit - mean|^2.
"""

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.frequencies import Floats

Law = Literal["abs", "cosine", "double", "both"]
Part = Literal["logits", "mlp", "abs", "identity"]
PARTS: tuple[Part, ...] = get_args(Part)
Profile = Callable[[Floats], Floats]  # of the angle k(x - y)/2


def _absolute_cosine(half: Floats) -> Floats:
    return np.abs(np.cos(half))


def _double_cosine(half: Floats) -> Floats:
    return np.cos(2 * half)


LAWS: dict[Law, tuple[Profile, ...]] = {
    "abs": (_absolute_cosine,),
    "cosine": (np.ones_like,),
    "double": (_double_cosine,),
    "both": (_absolute_cosine, _double_cosine),
}


def parts(w: circuits.Weights) -> dict[Part, Floats]:
    """The logits [x, y, z] that each part of the network gives, (p, p, p).

    logits: all of it. mlp: without the residual stream's direct path to the logits. abs and identity: by the parts of
    ReLU(u) = |u|/2 + u/2, without b_out; their sum is mlp but for that constant of each z.
    """
    r_XYD, out_MZ = circuits.residual(w), circuits.output(w).T
    u_XYM = r_XYD @ w["W_in"] + w["b_in"]
    abs_XYZ, identity_XYZ = np.abs(u_XYM) @ out_MZ / 2, u_XYM @ out_MZ / 2
    mlp_XYZ = abs_XYZ + identity_XYZ + w["b_out"] @ w["W_U"]
    return {"logits": mlp_XYZ + r_XYD @ w["W_U"], "mlp": mlp_XYZ, "abs": abs_XYZ, "identity": identity_XYZ}


def profiles(logits_XYZ: NDArray, keys: Sequence[int]) -> Floats:
    """A_k(d), d = x - y modulo p: the coefficient of cos(k(x + y - z)) at that d, (keys, p).

    Raises ValueError unless logits are (p, p, p), p odd, and keys lie from 1 to (p - 1)/2.
    """
    p, k = len(logits_XYZ), np.asarray(keys, dtype=np.int64)
    if np.shape(logits_XYZ) != (p, p, p) or p % 2 == 0:
        raise ValueError(f"needs logits of all x, y, z modulo an odd p, not shape {np.shape(logits_XYZ)}")
    if k.ndim != 1 or not ((k >= 1) & (2 * k < p)).all():
        raise ValueError(f"frequencies {list(keys)} must lie from 1 to {(p - 1) // 2}")
    x, y = np.indices((p, p))
    turn_PK = np.exp(2j * np.pi * np.outer(np.arange(p), k) / p)
    over_z_XYK = np.asarray(logits_XYZ, dtype=np.float64) @ turn_PK.conj()
    real_XYK = (over_z_XYK * turn_PK[(x + y) % p]).real
    found = np.zeros((p, len(k)))
    np.add.at(found, (x - y) % p, 2 / p**2 * real_XYK)
    return found.T


def regressors(law: Law, k: int, p: int) -> Floats:
    """The law's profiles at frequency k over d = 0 .. p - 1, (p, one or two)."""
    return np.stack([profile(np.pi * k * np.arange(p) / p) for profile in LAWS[law]], axis=1)


def coefficients(profile_P: NDArray, law: Law, k: int) -> Floats:
    """Least squares of one frequency's profile on the law's, (one or two,): those of the whole regression."""
    X = regressors(law, k, len(profile_P))
    return np.linalg.solve(X.T @ X, X.T @ profile_P)


def r2(logits_XYZ: NDArray, keys: Sequence[int], law: Law, profile_KP: NDArray | None = None) -> float:
    """Share of the variance of the logits that least squares on the law explains, with an intercept.

    `profile_KP`: `profiles(logits_XYZ, keys)`, where it is at hand. Raises ValueError for constant logits.
    """
    found_KP = profiles(logits_XYZ, keys) if profile_KP is None else profile_KP
    variance, p = float(np.var(logits_XYZ)), len(logits_XYZ)
    if not variance > 0:
        raise ValueError("logits that are all the same have no variance to explain")
    fitted = [regressors(law, k, p) @ coefficients(profile, law, k) for k, profile in zip(keys, found_KP, strict=True)]
    return float(np.square(fitted).sum() / (2 * p) / variance)


def synthesise_logits(p: int, amplitudes: dict[int, tuple[float, float]]) -> Floats:
    """Logits sum_k (C_k |cos(k(x - y)/2)| + D_k cos(k(x - y))) cos(k(x + y - z)), (p, p, p), from k -> (C, D)."""
    x, y = np.indices((p, p))
    logits_XYZ = np.zeros((p, p, p))
    for k, (C, D) in amplitudes.items():
        wave_PP = np.cos(2 * np.pi * k * (np.arange(p)[:, None] - np.arange(p)) / p)  # over x + y, z
        half = np.pi * k * ((x - y) % p) / p
        logits_XYZ += (C * _absolute_cosine(half) + D * _double_cosine(half))[:, :, None] * wave_PP[(x + y) % p]
    return logits_XYZ
