"""Made-up measurements of study 000: perplexities, written text, losses by context, and what is drawn of neurons."""

import math
from itertools import product

import numpy as np
import pandas as pd

from allmlp.studies.language import prompts
from allmlp.studies.language.measures.classes import constructed_neurons
from allmlp.studies.language.measures.formulas import context_parameters, dct_identities
from tests import exhibits
from tests.unit.known_neurons import LABELS, OF_NEURONS, SEEDS, as_claimed, ends, mapped, near, trained
from tests.unit.known_scaling import depth_rows, scaling_rows

SIZES = {"gpt2": (100, 200, 400), "dct-mlp": (60, 240, 960, 3840)}
DEPTHS = {"gpt2": (1, 2, 4), "dct-mlp": (1, 4, 16, 64)}


def perplexities(factor=3.0, more=1.5, noise=0.02, seeds=6, operations=1.0):
    """Losses that fall by 0.1 nats with each doubling; a DCT-MLP's equal those of a GPT-2 `factor` times smaller."""
    rng, rows = np.random.default_rng(0), []
    for seed in range(seeds):
        shift = noise * rng.normal(size=2)
        for model, data in (("gpt2", 1), ("dct-mlp", 1), ("dct-mlp", 3)):
            by = {("dct-mlp", 1): math.log2(factor) + shift[0], ("dct-mlp", 3): math.log2(more) + shift[1]}
            for depth, weights in zip(DEPTHS[model], SIZES[model], strict=True):
                nats = 4.0 - 0.1 * (math.log2(weights) - by.get((model, data), 0.0))
                rows.append(
                    {
                        "run": f"{model}-{depth}-{data}-{seed}",
                        "seed": seed,
                        "model": model,
                        "part": "perplexity",
                        "data": data,
                        "n_blocks": depth,
                        "weights": weights,
                        "all_weights": weights + 1000,
                        "tokens": 1000 * data,
                        "operations": 1000 * weights * (operations if model == "dct-mlp" else 1),
                        "validation_nats": nats,
                        "perplexity_1": math.exp(nats),
                        "floor_perplexity_1": 4.0,
                    }
                )
    return pd.DataFrame(rows)


def written(known: float = 0.95, gain: float = 1.0) -> pd.DataFrame:
    """`samples` of both models: share of known trigrams, gain by context on the prompts that probe it."""
    rng = np.random.default_rng(0)
    rows = [
        {"run": f"{m}-{s}", "seed": s, "model": m, "corpus": "c", "d_model": 8, "d_mlp": 16, "prompt": p,
         "prompt_text": prompts.PROMPTS[p], "text": f"a\n{m}{s}{p}\x07", "longest_copy_bytes": 20,
         "known_trigrams_1": known + 0.01 * rng.normal(),
         "context_gain_nats": (gain if p >= 2 else -50) + 0.1 * rng.normal()}
        for m, s, p in product(("mlp", "gpt2-last"), range(5), range(6))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def lengths() -> pd.DataFrame:
    """`cost` of the MLP at two contexts."""
    same = {"corpus": "c", "d_mlp": 16, "weight_decay": 5.0, "embedding_std": 0.02}
    base = {f"base_{name}": value for name, value in {**same, "context": 8}.items()}
    return pd.DataFrame(
        [
            {"run": f"{t}-{s}", "seed": s, "model": "mlp", "part": "variation", **same, **base, "context": t,
             "validation_nats": 3 - 0.1 * t + 0.01 * s}
            for t, s in product((4, 8), range(3))
        ]
    )  # fmt: skip


def tables() -> dict[str, object]:
    """Every measurement that figures and tables are made from, and the paper's numbers."""
    found = {
        measure.name: pd.concat(
            [measure(trained(seed)).assign(run=f"mlp-{seed}", seed=seed, **LABELS) for seed in SEEDS]
        )
        for measure in OF_NEURONS
    }
    varied = ends(as_claimed)
    both = {name: pd.concat([found[name], varied[name]]) for name in ("neuron_classes", "concentration")}
    return {
        **found,
        **both,
        "cost": pd.concat([varied["cost"], lengths()]),
        "keywords": near(0.2, 0.1),
        "weight_maps": pd.concat([mapped(seed) for seed in (1, 2)]),
        "constructed_neurons": constructed_neurons(),
        "context_parameters": context_parameters(),
        "dct_identities": dct_identities(),
        "perplexity": perplexities(),
        "scaling": pd.concat([scaling_rows(), depth_rows(0.01).query("part == 'depth'")]),
        "samples": written(),
        "paper": exhibits.paper("language"),
    }
