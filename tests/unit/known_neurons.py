"""Neurons of known classes, runs that end with them, and rows on them that hold or break each claim."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from allmlp import models
from allmlp.studies.language import neurons, parts
from allmlp.studies.language.measures.classes import (
    bag_of_words,
    initial_weights,
    n_gram,
    neuron_classes,
    thresholds,
    unit_rows,
)
from allmlp.studies.language.measures.energies import (
    class_energies,
    concentration,
    energy_map,
    explained_energy,
    l1_l2,
    row_norms,
)
from allmlp.studies.language.measures.losses import loss_curve
from allmlp.studies.language.measures.weights import example_neurons
from tests import tiny

T, D, SEEDS = 15, 16, range(6)
KEPT, STEPS = [0, 1, 3, 10, 50, 95, 190], 200
OF_NEURONS = (class_energies, concentration, energy_map, example_neurons, explained_energy, l1_l2, loss_curve,
              neuron_classes, row_norms, thresholds)  # fmt: skip
LABELS = {"model": "mlp", "part": "neurons", "corpus": "stories", "d_model": D, "d_mlp": 32, "context": T}
TOKENS = "tiny-00000000"
MAPPED = {  # class -> as what its neurons are shown, the first of them
    "bag-of-words": ("clearest", 8),
    "n-gram": ("clearest", 0),
    "other": ("example", 14),
    "random": ("random", -1),
}
BASE = {"weight_decay": 0.5, "embedding_std": 0.02}


def end_of_training(seed: int) -> np.ndarray:
    """Eight pairs of recent rows, four equal rows, four low waves and four of neither, (20, T, D)."""
    rng = np.random.default_rng(seed)
    waves = unit_rows(rng, 4, 1, D) * neurons.basis(T)[2][None, :, None]
    kinds = [n_gram(rng, 8, D, 2), bag_of_words(rng, 4, D, 0.1), waves]
    return np.concatenate([*kinds, unit_rows(rng, 4, T, D)])


def trained(seed: int = 0) -> SimpleNamespace:
    """A run as measures see it: weights that turn from random into those of the end."""
    start, end = initial_weights(np.random.default_rng(seed), 20, D), end_of_training(seed)
    reads: list[int] = []

    def weights(step: int) -> dict[str, torch.Tensor]:
        reads.append(step)
        layer = start * (1 - step / STEPS) + end * (step / STEPS)
        return {"first.weight": torch.tensor(layer.reshape(20, -1), dtype=torch.float32)}

    loss = np.linspace(6, 2, STEPS) + 0.1 * np.random.default_rng(seed).normal(size=STEPS)
    log = pd.DataFrame({"step": range(STEPS), "learning_rate": 0.25, "loss": loss})
    log["validation_loss"] = log["loss"].where(log["step"].isin(KEPT))
    about = {"hyperparameters": {"context": T}, "optimiser": {"weight_decay": 0.5}, "tokens": None}
    run, ending = SimpleNamespace(labels=LABELS, steps=STEPS, seed=seed, **about), {"steps_done": STEPS}
    ending |= {"validation_loss": 2.5}
    return SimpleNamespace(run=run, log=log, steps=[*KEPT, STEPS], weights=weights, reads=reads, ending=ending)


def small(folder: Path, kept: tuple[int, ...] = (1,), seed: int = 0) -> SimpleNamespace:
    """A small MLP on counted sentences in a folder, as measures see it: its weights grow up to the last kept step."""
    tiny.write_tokens(folder)
    sizes = {"vocabulary": 257, "context": 7, "d_model": 8, "d_mlp": 16}
    torch.manual_seed(seed)
    model = models.build("mlp", **sizes).eval()

    def weights(step: int) -> dict[str, torch.Tensor]:
        return {name: weight * (1 + step) / (1 + kept[-1]) for name, weight in model.state_dict().items()}

    about = {"hyperparameters": sizes, "optimiser": {"weight_decay": 0.1}, "tokens": TOKENS}
    run = SimpleNamespace(labels=LABELS, steps=kept[-1], seed=seed, **about)
    log = pd.DataFrame({"step": range(kept[-1]), "learning_rate": 0.25})
    return SimpleNamespace(run=run, steps=list(kept), weights=weights, model=lambda: model, log=log)


def mapped(seed: int = 0) -> pd.DataFrame:
    """`weight_maps` of six neurons of each class, of examples and of random vectors, with made-up words."""
    rng, rows, run = np.random.default_rng(seed), [], {"run": f"r{seed}", "seed": seed, "part": "neurons", "d_model": D}
    for (name, (shown, first)), rank, moment in product(MAPPED.items(), range(6), ("start", "half", "end")):
        if shown == "random" and moment != "end":
            continue
        about = {"shown": shown, "class": name, "rank": rank, "neuron": -1, "own_class": "", "keywords": ""}
        if shown != "random":
            about |= {"neuron": first + rank, "own_class": "other" if rank > 3 else name}
        if shown != "example":
            about["keywords"] = " ".join(f"▁{name[0]}{rank}{letter}" for letter in "abcdefghij")
        about["completions"] = "$a $b c d ▁everything" if name in ("n-gram", "random") else ""
        for position in range(1 if shown == "random" else T):
            weights = " ".join(map(str, rng.integers(-1000, 1001, D)))
            at = {"moment": moment, "step": 0, "position": position, "weights": weights, "largest_1": 0.25}
            rows.append({**run, **about, **at, "recent_energy_1": 0.5, "constant_energy_1": 0.125, "context": T})
    return pd.DataFrame(rows)


def jitter(seed: int) -> float:
    return 1 + 0.01 * (seed - 2.5)


def near(words: float, n_gram: float, in_class: float = 1.0) -> pd.DataFrame:
    coherence = {"bag-of-words": words, "n-gram": n_gram, "random": 0.0}
    rows = [
        {"run": f"r{seed}", "seed": seed, "class": name, "rank": rank, "nearness": nearness, "part": "neurons",
         "coherence_1": coherence[name] * jitter(seed), "in_class": in_class if name != "random" else 0.0,
         "neuron": rank, "keywords": "▁a ▁b", "completions": "▁c", "coherence_of_5_1": 0.0}
        for seed, name, rank, nearness in product(SEEDS, coherence, range(6), ("dot", "cosine", "l2"))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def ends(share: Callable[[dict], tuple[float, float, float, float]], wear: float = 12.0) -> dict[str, pd.DataFrame]:
    """neuron_classes and concentration of every variation: n-gram, bag-of-words, constant, explained at the end."""
    base = {"corpus": "stories", "context": 15, "d_mlp": 512, **BASE}
    cells = [base, *({**base, "corpus": f"stories-{control}"} for control in parts.CONTROLS)]
    cells += [{**base, "context": T} for T in (4, 32)] + [{**base, "d_mlp": w} for w in (128, 2048, 8192)]
    cells += [{**base, "weight_decay": d, "embedding_std": s} for d, s in product((0.01, 0.5), (0.02, 1.0))][:-2]
    cells += [{**base, "embedding_std": 1.0}]
    classes, numbers = [], []
    for number, cell in enumerate(cells):
        about = {**cell, **{f"base_{name}": value for name, value in base.items()}, "d_model": 64,
                 "part": "variation" if cell["corpus"] == "stories" else "control"}  # fmt: skip
        n_gram, words, constant, explained = share(cell)
        for seed, step in product(SEEDS, (0, 100)):
            run, scale = {"run": f"c{number}-{seed}", "seed": seed, "step": step}, jitter(seed) * step / 100
            numbers.append({**run, "constant_share_median_1": constant * scale,
                            "window_share_median_1": explained * scale, **about})  # fmt: skip
            shares = {"n_gram_share_1": n_gram * scale, "bag_of_words_share_1": words * scale, "hybrid_share_1": 0.0,
                      "dct_sparse_share_1": 0.0, "other_share_1": 0.0}  # fmt: skip
            for reading in ("paper", "relative"):
                classes.append({**run, "reading": reading, "wear_1": wear * step / 100, **shares, **about})
    cost = pd.DataFrame(classes).drop_duplicates("run")[["run", "seed", "part"]].assign(validation_nats=3.0)
    return {"neuron_classes": pd.DataFrame(classes), "concentration": pd.DataFrame(numbers), "cost": cost}


def as_claimed(cell: dict) -> tuple[float, float, float, float]:
    """Controls without their class, more of both with context, more sorted and explained after more decay."""
    n_gram, words, constant, explained = 0.4, 0.3, 0.5, 0.9
    if cell["corpus"].endswith("sentences"):
        words, constant = 0.0, 0.1
    if cell["corpus"].endswith("words"):
        n_gram, constant = 0.05, 0.9
    if cell["context"] != 15:
        words = 0.6
    if cell["weight_decay"] < 0.5:
        n_gram, words, explained = (0.1, 0.0, 0.4) if cell["embedding_std"] < 1 else (0.6, 0.0, 0.8)
    return n_gram, words, constant, explained
