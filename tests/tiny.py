"""Tiny runs, one per architecture: seconds of training, every code path of the loop."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from allmlp import models
from allmlp.data.tasks.task import IGNORED, Batch, Task
from allmlp.spec.run import Run
from allmlp.spec.settings import Optimiser

CLASSIFIERS = ("birn", "linear-birn", "transformer-classifier", "linear-transformer-classifier")
COPYING = {"vocabulary": 29, "context": 10, "d_model": 16, "n_blocks": 1}
ATTENDING_MATCHERS = ("matcher-transformer", "matcher-transformer-as-published")
MATCHER = {"context": 16, "features": 3, "n_blocks": 1}  # single pixels for embeddings, the first of them the query
SIZES: dict[str, dict[str, object]] = {
    "mlp": {"vocabulary": 257, "context": 7, "d_model": 8, "d_mlp": 16, "n_blocks": 2},
    "gpt2-last": {"vocabulary": 257, "context": 7, "d_model": 8, "d_mlp": 16, "n_blocks": 1, "n_heads": 2},
    **{name: {**COPYING, "n_heads": 2} for name in ("gpt2", "dct-mlp")},
    "constant-attention": {"vocabulary": 7, "d_model": 16, "n_heads": 2, "d_mlp": 32},
    **{name: {"vocabulary": 10, "context": 4, "features": 12, "d_model": 8, "n_blocks": 1} for name in CLASSIFIERS},
    "hand-coded-addition": {"vocabulary": 7, "frequencies": [1, 3], "angles": 8, "grid": "jittered"},
    "mixer-autoencoder": {"vocabulary": 257, "context": 12, "d_model": 8, "n_blocks": 1},
    "matcher-mixer": MATCHER,
    **{name: {**MATCHER, "n_heads": 1} for name in ATTENDING_MATCHERS},
}
TASKS: dict[str, tuple[str, dict[str, object]]] = {
    "mlp": ("last-token", {"context": 7, "batch_size": 16}),
    "gpt2-last": ("last-token", {"context": 7, "batch_size": 16}),
    **{name: ("images", {"patch": 2, "batch_size": 16}) for name in CLASSIFIERS},
    "constant-attention": ("modular-addition", {"p": 7, "train_share": 0.8}),
    "hand-coded-addition": ("modular-addition", {"p": 7, "train_share": 0.8}),
    "mixer-autoencoder": ("autoencode", {"context": 12, "batch_size": 4}),
    **{name: ("images", {"patch": 1, "batch_size": 16}) for name in ("matcher-mixer", *ATTENDING_MATCHERS)},
}
IMAGES = "images-00000000"  # the corpus of the tiny runs that read images
OPTIMISER = Optimiser(learning_rate=3e-3, weight_decay=0.1, clip=1.0, warmup_steps=3, schedule="cosine").model_dump()


def run(architecture: str, steps: int = 12, tokens: str | None = "tiny-00000000", **changes: object) -> Run:
    """A tiny run of an architecture; those that read text read results/tokens/<tokens>."""
    task, parameters = TASKS.get(architecture, ("copying", {"string_length": 4, "batch_size": 4}))
    made = Run(
        study="copying",
        name=f"tiny-{architecture}",
        labels={"model": architecture},
        architecture=architecture,
        hyperparameters=dict(SIZES.get(architecture, COPYING)),
        task=task,
        task_parameters=parameters,
        optimiser=OPTIMISER,
        steps=steps,
        seed=1,
        measures=("cost",),
        keep=(0, steps // 2),
        tokens={"last-token": tokens, "autoencode": tokens, "images": IMAGES}.get(task),
        loss_dtype="float64" if task == "modular-addition" else "float32",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def padded(architecture: str, side: str, **changes: object) -> Run:
    """A tiny run on rows of one sentence each, with padding on one side."""
    sizes = {"vocabulary": 257, "context": 40, "d_model": 16, "n_blocks": 1}
    takes = models.hyperparameters(architecture)
    sizes |= {"n_heads": 2} if "n_heads" in takes else {}
    sizes |= {"pad": 256} if "pad" in takes and side == "left" else {}
    task = {"context": 40, "batch_size": 4, "padding": side, "validation_documents": 8}
    made = run(architecture, task="documents", hyperparameters=sizes, task_parameters=task, **changes)
    return replace(made, tokens="tiny-00000000")


def write_tokens(folder: Path) -> None:
    """Tokens for the tiny runs that read text, bytes of counted sentences, and images, bright where their class is."""
    from allmlp.data import tokenizers, tokens
    from allmlp.data.tokenizers.specs import Bytes

    texts = [f"Story {number}: the cat sat on mat number {number * number}." for number in range(200)]
    tokens.write_tokens(
        texts,
        tokenizers.fit(Bytes(), texts, folder),
        folder / "results/tokens/tiny-00000000",
        describe={},
    )
    write_images(folder)


def write_pairs(folder: Path, name: str) -> Path:
    """300 pairs of sentences that share two words, in bytes, as `results/tokens/<name>-00000000` in a folder."""
    from allmlp.data import tokenizers
    from allmlp.data.tokenizers.specs import Bytes
    from allmlp.data.tokens.pairs import write_pairs as write

    things = ["cat", "dog", "owl", "fox", "hen", "cow", "bee", "ant", "elk", "eel", "ram", "bat"]
    drawn = np.random.default_rng(0).choice(things, (300, 2))
    told = [(f"The {a} and {b}", f"A {b} met the {a} {n}") for n, (a, b) in enumerate(drawn)]
    tokenizer = tokenizers.fit(Bytes(), [text for pair in told for text in pair], folder)
    tokens = folder / f"results/tokens/{name}-00000000"
    write(told, tokenizer, tokens, held_out=5, describe={})
    return tokens


def write_images(folder: Path, count: int = 300) -> None:
    """Noisy images of 4 x 4 pixels and 3 channels of 10 classes."""
    import numpy as np

    from allmlp.data import images

    rng = np.random.Generator(np.random.Philox(key=[0, 0]))
    labels = np.arange(count) % 10
    pixels = rng.integers(0, 200, (count, 4, 4, 3)).astype(np.uint8)
    pixels.reshape(count, -1)[np.arange(count), 4 * labels] = 255
    source = SimpleNamespace(size=[4, 4, 3], classes=10, held_out=5)
    images.write_images([images.Images(None, pixels, labels)], source, folder / "results/tokens" / IMAGES, describe={})


ALL = list(models.REGISTRY)


class Uneven:
    """A task whose batch has most of its targets in the first half: its parts are no equal shares of the loss."""

    reads_logits = True

    def __init__(self, task: Task) -> None:
        self.task = task

    def batch(self, seed: int, step: int) -> Batch:
        tokens, targets = self.task.batch(seed, step)
        few = targets.clone()
        few[len(few) // 2 :, :-1] = IGNORED
        return Batch(tokens, few)

    def validation(self) -> list[Batch]:
        return [self.batch(7, 0), *map(Batch, *(part.chunk(2) for part in self.batch(7, 1)))]

    def scores(self, logits: torch.Tensor, batch: Batch) -> dict[str, float]:
        return {}
