"""Networks that add modulo p with a known answer, and what study 003 measures of them."""

from contextlib import ExitStack
from functools import cache
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch

from allmlp import models
from allmlp.spec import catalogue
from allmlp.studies.quadrature.circuits import LAYOUT
from allmlp.studies.quadrature.measures import formulas, hand_coded
from allmlp.studies.quadrature.runs import OF_SEEDS, WITHOUT_TRAINING
from tests import exhibits

P, SEEDS = 31, range(8)
PI = np.pi


def waves(k, phase_N, size_N=1.0, p=P):
    """size cos(2 pi k t / p + phase), (p, n)."""
    return size_N * np.cos(2 * PI * np.asarray(k) * np.arange(p)[:, None] / p + np.asarray(phase_N))


def spaced(n, offset=0.1):
    return offset + 2 * PI * np.arange(n) / n


def network(ov_PM, out_PM, embed_PM=0.0):
    """Weights with exactly these tables OV, W_out and embed, and nothing else in the network.

    Tokens, attention's output and MLP's output have p features of the residual stream each.
    """
    p, one, zero = len(ov_PM), np.eye(len(ov_PM)), np.zeros((len(ov_PM), len(ov_PM)))
    none = np.zeros_like(ov_PM)
    return {
        "W_E": np.hstack([one, zero, zero]),
        "W_pos": np.zeros((2, 3 * p)),
        "W_V": np.vstack([2 * one, zero, zero])[None],
        "W_O": np.hstack([zero, one, zero])[None],
        "W_in": np.vstack([none + embed_PM, ov_PM, none]),
        "b_in": np.zeros(ov_PM.shape[1]),
        "W_out": np.hstack([none.T, none.T, out_PM.T]),
        "b_out": np.zeros(3 * p),
        "W_U": np.vstack([zero, zero, one]),
    }


def adding(p, k, phi, psi=None, c=1.0, e=1.0, direct=0.0):
    """Neurons ReLU(c cos(kx + phi) + (c + direct) cos(ky + phi)) with W_out = e cos(kz + psi), of low rank."""
    k, phi, c, e = np.broadcast_arrays(np.atleast_1d(k), phi, c, e)
    psi = 2 * phi if psi is None else np.asarray(psi)
    keys = sorted(set(k.tolist()))
    wave = np.stack([f(2 * PI * q * np.arange(p) / p) for q in keys for f in (np.cos, np.sin)], axis=1)
    own, n, r = 2 * np.array([keys.index(q) for q in k]), np.arange(len(phi)), wave.shape[1]
    into, out = np.zeros((r, len(phi))), np.zeros((len(phi), r))
    into[own, n], into[own + 1, n] = c * np.cos(phi), -c * np.sin(phi)
    out[n, own], out[n, own + 1] = e * np.cos(psi), -e * np.sin(psi)
    zero, one = np.zeros((r, r)), np.eye(r)
    return {
        "W_E": wave @ np.hstack([one, zero, zero]),
        "W_pos": np.zeros((2, 3 * r)),
        "W_V": np.vstack([2 * one, zero, zero])[None],
        "W_O": np.hstack([zero, one, zero])[None],
        "W_in": np.vstack([direct * into, into, 0 * into]),
        "b_in": np.zeros(len(phi)),
        "W_out": np.hstack([0 * out, 0 * out, out]),
        "b_out": np.zeros(3 * r),
        "W_U": np.vstack([zero, zero, one]) @ wave.T,
    }


def like_trained(seed, second=-0.1):
    """Keys 3 and 8 of 21 and 15 neurons with noise, and second harmonics locked to the phase as training makes them."""
    rng = np.random.default_rng(seed)
    ov, out = [], []
    for k, n in ((3, 21), (8, 15)):
        phi = spaced(n) + 0.01 * rng.normal(size=n)
        c, e = rng.uniform(1.9, 2.1, (2, n))
        ov.append(waves(k, phi, c) + second * waves(2 * k, 2 * phi, c))
        out.append(waves(k, 2 * phi + 0.02 * rng.normal(size=n), e))
    return network(np.hstack(ov), np.hstack(out), embed_PM=0.5 * np.hstack(ov))


def written_out(p, frequencies, phi_KN, width_KN):
    """Logits [x, y, z] of the family as Appendix D.1 has it, neuron by neuron."""
    x, y, z = np.ogrid[:p, :p, :p]
    logits = np.zeros((p, p, p))
    for k, phi_N, width_N in zip(2 * np.pi * np.array(frequencies) / p, phi_KN, width_KN, strict=True):
        for phi, width in zip(phi_N, width_N, strict=True):
            neuron = np.maximum(np.cos(k * x + phi) + np.cos(k * y + phi), 0)
            logits += width * neuron * np.cos(k * z + 2 * phi)
    return logits


def random_weights(rng, p, m, d=5, heads=2, k=2):
    """Nothing but noise, every tensor used."""
    sizes = {"p": p, "2": 2, "d": d, "h": heads, "k": k, "m": m}
    return {name: rng.normal(size=[sizes[letter] for letter in shape.split()]) for name, shape in LAYOUT.items()}


def noisy(rng, p, m):
    """Cosines in and out at a key or two, embed(y) felt, noise on every tensor."""
    k = rng.integers(1, p // 2 + 1, size=min(2, p // 2))[rng.integers(0, min(2, p // 2), size=m)]
    phi = rng.uniform(-np.pi, np.pi, m)
    size = rng.uniform(0.2, 2.0, m)
    weights = adding(p, k, phi, 2 * phi + 0.1 * rng.normal(size=m), size, size, direct=rng.uniform(0, 0.3))
    noise = 10.0 ** rng.uniform(-6, -1)
    return {name: values + noise * rng.normal(size=values.shape) for name, values in weights.items()}


def jittered(seed):
    """Two frequencies of 31 angles each: between a grid and chance."""
    options = {"frequencies": [3, 7], "angles": 31, "grid": "jittered", "seed": seed}
    return models.build("hand-coded-addition", vocabulary=P, **options).state_dict()


def untrained(p, d_mlp=12, biases=False):
    """A constant-attention network with its first weights; `biases`: every weight is drawn."""
    torch.manual_seed(0)
    model = models.build("constant-attention", vocabulary=p, d_model=8, n_heads=2, d_mlp=d_mlp).double()
    for weight in model.parameters() if biases else ():
        torch.nn.init.normal_(weight)
    return model


def trained(weights, p=P, seed=0, steps=(0,)):
    """A run with these weights at every step."""
    tensors = {name: torch.as_tensor(value) for name, value in weights.items()}
    run = SimpleNamespace(
        hyperparameters={"vocabulary": p}, labels={"model": "constant-attention"}, seed=seed, id=f"r{seed}"
    )
    return SimpleNamespace(run=run, steps=list(steps), weights=lambda step=None: tensors)


OF_NETWORKS = sorted({*OF_SEEDS} - {"scan", "cost", "angle_controls", "certificate"})
OF_NO_RUN = sorted({*WITHOUT_TRAINING} - {"closed_forms"})
FEWER = (  # sizes that are quick to measure
    (formulas, {"NEURONS": (64, 128), "LARGE": (4096, 8192), "REPEATS": 1}),
    (hand_coded, {"P": P, "GRID_DRAWS": 2, "CONTROL_DRAWS": 40, "LARGEST": 130, "OFFSETS": 2}),
)


def measure(name, *given):
    """One of the study's measures."""
    return catalogue.measure("quadrature", name)(*given)


def of_seeds(name, made, p=P, seeds=SEEDS, steps=(0,)):
    """A measure of a network per seed."""
    rows = [
        measure(name, trained(made(seed), p, seed, steps)).assign(run=f"r{seed}", seed=seed, p=p, part="seeds")
        for seed in seeds
    ]
    return pd.concat(rows, ignore_index=True)


def certified(seed):
    """Nine angles at one frequency, a little off a grid, for p = 11."""
    return adding(11, 2, spaced(9, 0.0) + 1e-3 * np.random.default_rng(seed).normal(size=9), direct=1e-3)


@cache
def measured():
    """measure -> rows of all of the study's measures, and the numbers that the paper prints. Read only."""
    with ExitStack() as fewer:
        for module, sizes in FEWER:
            fewer.enter_context(patch.multiple(module, **sizes))
        found = {name: of_seeds(name, like_trained, steps=(0, 10)) for name in OF_NETWORKS}
        found |= {name: measure(name).assign(run="h", seed=0) for name in OF_NO_RUN}
        found["closed_forms"] = measure("closed_forms", trained(jittered(0))).assign(run="h", seed=0)
        found["angle_controls"] = of_seeds("angle_controls", jittered)
        found["certificate"] = of_seeds("certificate", certified, p=11, seeds=range(5))
    scan = [of_seeds("scan", like_trained).assign(weight_decay=decay, d_mlp=36) for decay in (1.0, 2.0)]
    grid = [of_seeds("scan", lambda seed, p=p: adding(p, 2, spaced(7 + 2 * seed)), p, range(2)) for p in (11, 13)]
    found["scan"] = pd.concat([*scan, *(rows.assign(part="grid", d_mlp=7, weight_decay=2.0) for rows in grid)])
    return {**found, "paper": exhibits.paper("quadrature")}
