"""Made-up measurements of study 004: losses of variants, samples and milestones whose verdicts are known."""

import numpy as np
import pandas as pd

from allmlp.studies.triangular.measures.mixing import parameter_counts, reach
from allmlp.studies.triangular.paper_numbers import OF_THE_PAPER
from allmlp.studies.triangular.runs import PUBLISHED
from tests import exhibits

SEEDS = range(6)
BASE = {"one-averaging": 5.0, "one-plain": 5.3, "two-averaging": 5.0, "two-plain": 5.05, "one-discounted": 5.0}
EARLY = {**BASE, "gelu": 4.9, "relu": 4.9, "leaky-relu": 5.0, "reshape": 5.4}  # variant -> early loss
TEXTS = {"pretraining": "stories-chunks", "alone": "stories-dealt", "fine-tuning": "stories-dealt"}


def learnt(early: dict[str, float], part: str = "comparison", corpus: str = "stories-chunks") -> pd.DataFrame:
    """`learning` of six seeds: variant -> early loss; the loss at the end is two nats lower."""
    rows = [
        {"run": f"{name}-{seed}", "seed": seed, "part": part, "variant": name, "corpus": corpus}
        | {"early_nats": loss + 0.3 * seed + 0.004 * np.sin(7 * seed + len(name)), "diverged": False}
        for name, loss in early.items()
        for seed in SEEDS
    ]
    found = pd.DataFrame(rows).assign(learning_rate=1e-3, step_seconds=0.05)
    return found.assign(end_nats=found["early_nats"] - 2, end_nats_per_character=(found["early_nats"] - 2) / 2)


def begun(early: dict[str, float], part: str = "comparison") -> pd.DataFrame:
    """`loss_curve` of six seeds, whose mean over the beginning is that of `learnt`: it ends at step 100, with words."""
    steps, parts = np.array([*range(0, 101, 4), *range(101, 110), 500]), []
    for name, loss in early.items():
        for seed in SEEDS:
            mean = loss + 0.3 * seed + 0.004 * np.sin(7 * seed + len(name))
            losses = np.where(steps <= 100, mean, 3.0)
            rows = pd.DataFrame({"step": steps, "loss_nats": losses, "validation_nats": losses})
            rows = rows.assign(run=f"{name}-{seed}", seed=seed, part=part, variant=name, corpus="stories-chunks")
            parts.append(rows.assign(validation_nats_per_character=losses / 2))
    return pd.concat(parts, ignore_index=True)


def written(copied: int, corpus: str) -> pd.DataFrame:
    """`samples` of six seeds, of which so many words in a row are copied."""
    rows = [
        {"run": f"{part}-{seed}", "seed": seed, "part": part, "corpus": corpus, "sample": sample, "prompt": ""}
        | {"text": "To be, or not", "copied_words": copied + seed % 2, "copied_from": 3, "copied_to": 9}
        for part in TEXTS
        for seed in SEEDS
        for sample in (0, 1, OF_THE_PAPER)
    ]
    return pd.DataFrame(rows)


def milestones(shares: dict[int, tuple[float, float, float, float]]) -> pd.DataFrame:
    """`milestones` of six seeds: step -> shares of words, pairs and fours, and nats of context."""
    names = ("word_share_1", "pair_share_1", "four_word_share_1", "context_nats")
    rows = [
        {"run": f"r{seed}", "seed": seed, "part": "pretraining", "step": step}
        | {name: value + 0.002 * (seed - 2) for name, value in zip(names, values, strict=True)}
        for seed in SEEDS
        for step, values in shares.items()
    ]
    return pd.DataFrame(rows).assign(known_word_characters=3.0, distinct_pairs=50, sentence_ends=9.0)


def curves() -> pd.DataFrame:
    """`loss_curve` of every variant, and of both trainings on the second text."""
    steps, parts = np.array([0, 10, 50, 100, 400]), []
    for part, corpus in {"comparison": "stories-chunks", **TEXTS}.items():
        for name in EARLY if part == "comparison" else (PUBLISHED,):
            for seed in SEEDS:
                held_out = 3 + 4 * np.exp(-steps / 80) + 0.05 * seed + 0.01 * len(name)
                rows = pd.DataFrame({"step": steps, "loss_nats": held_out, "validation_nats": held_out})
                rows = rows.assign(run=f"{part}-{name}-{seed}", seed=seed, part=part, variant=name, corpus=corpus)
                parts.append(rows.assign(validation_nats_per_character=held_out / 2))
    return pd.concat(parts, ignore_index=True)


def searched(*variants: str, corpus: str = "stories-chunks") -> pd.DataFrame:
    """`cost` of a search, on a fresh and on a pre-trained model; the middle rate diverged, the highest is the best."""
    rows = [
        {
            "run": f"{name}-x-search{ending}-rate{rate:g}",
            "seed": 100,
            "part": "search",
            "variant": name,
            "corpus": corpus,
        }
        | {"learning_rate": rate, "validation_nats": 5 + abs(np.log10(rate) + 2.5), "steps_done": 100}
        | {"diverged": rate == 3e-3}
        for name in variants
        for rate in (1e-3, 3e-3, 4e-3)
        for ending in ("", "-continued")
    ]
    return pd.DataFrame(rows)


def tables() -> dict[str, object]:
    """Every measurement that figures and tables are made from, and the paper's numbers."""
    reached = {0: (0.0, 0.0, 0.0, 0.0), 100: (0.05, 0.05, 0.05, 0.1), 1000: (0.5, 0.5, 0.5, 0.1), 2000: (1, 1, 1, 0.2)}
    return {
        "reach": reach(),
        "parameter_counts": parameter_counts(),
        "learning": learnt(EARLY),
        "loss_curve": curves(),
        "milestones": milestones(reached),
        "samples": written(5, "shakespeare"),
        "cost": searched("gelu"),
        "paper": exhibits.paper("triangular"),
    }
