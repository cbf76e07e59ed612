"""Made-up measurements of study 002: strings whose loss falls when it is told to, texts and images with known ends."""

import math
from collections.abc import Callable, Collection
from types import SimpleNamespace

import numpy as np
import pandas as pd

from allmlp.studies.copying import convergence
from allmlp.studies.copying.measures.costs import operations
from allmlp.studies.copying.measures.strings import falls, iterations_to_99, learning_curve
from tests import exhibits

SEEDS, STEPS = range(6), 400
HEIGHT = convergence.plateau(16)
STRINGS = {"causal-rn": 100, "transformer": 150, "linear-transformer": 250, "linear-causal-rn": 9999}  # when they fall
OF_TEXT = ("linear-causal-rn", "transformer", "linear-transformer")
OF_IMAGES = ("birn", "linear-birn", "transformer-classifier", "linear-transformer-classifier")
KEPT, TEXT_STEPS = (0, 1, 10, 30), 60


def fall(at: float, width: float = 20.0, steps: int = STEPS) -> np.ndarray:
    """A loss that leaves its plateau around step `at`, the faster the smaller `width`."""
    return HEIGHT / (1 + np.exp(((np.arange(steps) - at) / (width / 6)).clip(max=500)))


def trained(loss: np.ndarray, budget: int = STEPS) -> SimpleNamespace:
    """A run on strings as measures see it: its accuracy rises as the loss falls. One that diverged has fewer rows."""
    accuracy = (1 - loss / HEIGHT).clip(0, 1)
    log = pd.DataFrame({"step": range(len(loss)), "loss": loss, "token_accuracy": accuracy})
    log = log.assign(string_accuracy=(accuracy > 0.9999).astype(float))
    run = SimpleNamespace(steps=budget, task_parameters={"string_length": 16})
    return SimpleNamespace(log=log, run=run, diverged=len(loss) < budget)


def curves(at: float, width: float = 20.0, noise: float = 0.0) -> list[np.ndarray]:
    """A falling loss per seed, each a little later than the one before, with its own noise."""
    return [
        fall(at + 2 * seed, width) * (1 + noise * np.random.default_rng(seed).standard_normal(STEPS)).clip(0.1)
        for seed in SEEDS
    ]


def strings(measure, models: dict[str, float] = STRINGS, lengths=(16,), done: dict[str, int] | None = None):
    """A measure of the comparison. models: name -> when it falls; `done`: rows of a model that diverged."""
    parts = [
        measure(trained(fall(at + seed)[: (done or {}).get(model)])).assign(
            run=f"{model}-{length}-{seed}", seed=seed, model=model, string_length=length, part="comparison"
        )
        for model, at in models.items()
        for length in lengths
        for seed in SEEDS
    ]
    return pd.concat(parts, ignore_index=True).assign(variant="published")


def ablations(measure, losses: dict[str, list[np.ndarray]]) -> pd.DataFrame:
    """A measure of published CausalRN and its variants, one run per loss."""
    parts = []
    for variant, of_seeds in losses.items():
        for seed, loss in enumerate(of_seeds):
            part = "comparison" if variant == "published" else "ablation"
            labels = {"model": "causal-rn", "variant": variant, "part": part, "string_length": 16, "seed": seed}
            parts.append(measure(trained(loss)).assign(run=f"{variant}-{seed}", **labels))
    return pd.concat(parts, ignore_index=True)


def grid(leads: list[float], part: str = "grid") -> pd.DataFrame:
    """`falls` of a cell per entry of `leads`: log2 of the Transformer's iterations over CausalRN's."""
    rows = []
    for cell, lead in enumerate(leads):
        for seed in SEEDS:
            for model, steps in (("causal-rn", 200.0), ("transformer", 200 * 2**lead * (1 + 0.01 * seed))):
                rows.append((f"{part}{cell}-{model}-{seed}", seed, model, part, 16, 32 + cell, 2, 1e-3, steps, True))
    names = ["run", "seed", "model", "part", "string_length", "d_model", "n_blocks", "learning_rate", "iterations"]
    return pd.DataFrame(rows, columns=[*names, "reached"])


def sweep(best_rate: float, best_heads: int) -> pd.DataFrame:
    """`falls` of both models' learning rates, of the Transformer's heads, and of the comparison."""
    rows = []
    for model in ("causal-rn", "transformer"):
        for seed in SEEDS:
            for rate in (5e-4, 1e-3, 2e-3):
                rows.append((model, seed, "sweep", rate, 1, 100 + seed + 300 * abs(np.log2(rate / best_rate))))
            rows.append((model, seed, "comparison", 2e-3, 1, 100.0))
    heads = [("transformer", seed, "heads", 2e-3, n, 900 + 300 * abs(n - best_heads)) for n in (2, 4) for seed in SEEDS]
    names = ["model", "seed", "part", "learning_rate", "n_heads", "to_half_steps"]
    found = pd.DataFrame([*rows, *heads], columns=names).assign(fell_to_half=True, perfect=True)
    return found.assign(run=[f"sweep{number}" for number in range(len(found))])


def search(best_rate: float) -> pd.DataFrame:
    """`falls` of a search for CausalRN's rate: the further a rate is from the best, the later 99 % comes."""
    rows = [
        ("causal-rn", seed, "search", rate, "published", 16, 100.0 + seed + 300 * abs(np.log2(rate / best_rate)))
        for seed in SEEDS
        for rate in (5e-4, 1e-3, 2e-3)
    ]
    names = ["model", "seed", "part", "learning_rate", "variant", "string_length", "iterations"]
    found = pd.DataFrame(rows, columns=names).assign(reached=True, diverged=False, budget=2000)
    found = found.assign(to_10_steps=90, to_half_steps=80, to_90_steps=70)
    return found.assign(run=[f"search{number}" for number in range(len(found))])


def texts(ends: Collection[float], corpus: str = "stories-bytes", spread: float = 0.003) -> pd.DataFrame:
    """`text_curve` of the three models that end at these nats a byte, give or take `spread` of a seed's own."""
    parts = []
    for model, end in zip(OF_TEXT, ends, strict=True):
        for seed in SEEDS:
            rng = np.random.default_rng([seed, len(model)])
            held_out = np.append(end + 3 * np.exp(-np.array(KEPT) / 9), end + 0.05 * seed + spread * rng.normal())
            rows = pd.DataFrame({"step": [*KEPT, TEXT_STEPS], "validation_nats": held_out})
            bits = {"validation_bits_per_byte": held_out / math.log(2), "training_bits_per_byte": held_out + 0.1}
            rows = rows.assign(**bits, floor_bits_per_byte=0.7, run=f"{model}-{seed}", seed=seed)
            parts.append(rows.assign(model=model, corpus=corpus))
    return pd.concat(parts, ignore_index=True)


def both(make: Callable[[str], pd.DataFrame], small: str, real: str, parts: tuple[str, str]) -> pd.DataFrame:
    """What `make` gives of two corpora, as the runs of two parts of the study."""
    pieces = [make(corpus).assign(part=part) for corpus, part in zip((small, real), parts, strict=True)]
    pieces[1]["run"] = f"{parts[1]}-" + pieces[1]["run"]
    return pd.concat(pieces, ignore_index=True)


def samples(curves: pd.DataFrame) -> pd.DataFrame:
    """`text_samples` of the same runs, two each."""
    runs = curves[["run", "seed", "model", "corpus", "part"]].drop_duplicates()
    parts = [runs.assign(sample=sample, prompt="Three years later,", temperature_1=0.7) for sample in (1, 0)]
    found = pd.concat(parts, ignore_index=True).assign(known_words_1=0.5, longest_copy_bytes=30)
    found["text"] = [f" sample {s} of {r}\x07\n|" for s, r in zip(found["sample"], found["run"], strict=True)]
    return found


def images(at_end: dict[str, tuple[float, float]], corpus: str, noise: float = 0.002) -> pd.DataFrame:
    """`image_curve` of five seeds: model -> test loss and accuracy at the end."""
    rng, rows = np.random.default_rng(0), []
    for model, (loss, accuracy) in at_end.items():
        for seed in range(5):
            start = {"step": 0, "test_nats": 2.3, "test_accuracy_1": 0.1}
            end = {
                "step": 9,
                "test_nats": loss + noise * rng.normal(),
                "test_accuracy_1": accuracy + noise / 10 * rng.normal(),
            }
            rows += [{"run": f"{model}-{seed}", "seed": seed, "model": model, **row} for row in (start, end)]
    return pd.DataFrame(rows).assign(corpus=corpus, loss_nats=1.0, accuracy_1=0.5)


def heat(excess: float, corpus: str = "cifar5m") -> pd.DataFrame:
    """`heat_shares` of Linear BiRN whose middle has so much more than its share of the area."""
    rng = np.random.default_rng(0)
    rows = [
        {"seed": seed, "image": image, "centre_share_1": 0.5 + excess + 0.01 * rng.normal(), "area_share_1": 0.5}
        for seed in range(5)
        for image in range(20)
    ]
    return pd.DataFrame(rows).assign(model="linear-birn", corpus=corpus, layer=6)


def maps(corpus: str = "digits") -> pd.DataFrame:
    """`heat_maps` of two images of 4 x 4 patches of two grey pixels square."""
    rows = [
        {
            "run": f"{model}-{seed}",
            "seed": seed,
            "model": model,
            "image": image,
            "patch_row": row,
            "patch_column": column,
        }
        for model in ("birn", "linear-birn")
        for seed in (0, 1)
        for image in (0, 1)
        for row in range(4)
        for column in range(4)
    ]
    found = pd.DataFrame(rows).assign(corpus=corpus, layer=2, label=7, channels=1, pixels="00408000")
    return found.assign(heat_1=(1 + found["patch_row"] * found["patch_column"]) / 52)


def tables() -> dict[str, object]:
    """Every measurement that figures and tables are made from, and the paper's numbers."""
    losses = {"published": curves(100), "relu": curves(200), "no-post-norm": curves(110)}
    fallen = [ablations(falls, losses), grid([0.5, -0.5]), grid([0.2], "comparison"), sweep(1e-3, 1), search(1e-3)]
    of_text, of_images = ("text", "novels"), ("images", "photographs")
    text = both(lambda corpus: texts((1.2, 1.0, 1.1), corpus), "stories-bytes", "classics-bytes", of_text)
    ends = dict.fromkeys(OF_IMAGES, (0.3, 0.9))
    pictures = both(lambda corpus: images(ends, corpus), "digits", "cifar10", of_images)
    runs = pd.concat([*fallen, text, pictures])[["run", "seed", "model", "part", "corpus"]].drop_duplicates("run")
    spent = {"parameters": 900, "non_embedding_parameters": 700, "steps_done": 60, "counted_flops": 10**9}
    greedy = strings(iterations_to_99)[["run", "seed", "model", "variant", "string_length"]]
    return {
        "learning_curve": pd.concat([strings(learning_curve, lengths=(64, 128)), ablations(learning_curve, losses)]),
        "iterations_to_99": pd.concat(
            [strings(iterations_to_99, lengths=(64, 128)), ablations(iterations_to_99, losses)]
        ),
        "falls": pd.concat(fallen, ignore_index=True),
        "cost": runs.assign(**spent),
        "text_curve": text,
        "text_samples": samples(text),
        "image_curve": pictures,
        "heat_shares": both(
            lambda corpus: heat(0.1, corpus).assign(run="linear-birn-0"), "digits", "cifar10", of_images
        ),
        "heat_maps": both(maps, "digits", "cifar10", of_images),
        "greedy_decoding": greedy.assign(strings_1=0.9, letters_1=0.99, told_strings_1=0.95, told_letters_1=1.0),
        "operations": operations().assign(run="causal-rn-untrained"),
        "parameter_counts": pd.DataFrame({"model": list(STRINGS), "blocks_and_head": 5325504, "total": 6 * 10**6}),
        "paper": exhibits.paper("copying"),
    }
