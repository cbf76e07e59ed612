"""Counts on samples at the kept steps of a run: words, pairs, sequences, and the use of context (004-6)."""

import re

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from allmlp.columns import exact, numeric, timing
from allmlp.models.base import SequenceModel
from allmlp.protocols import Trained
from allmlp.sampling import generate
from allmlp.studies.texts import CHANGES, tokens_of
from allmlp.studies.triangular.known import WORD, Words, text_of
from allmlp.tasks.windows import read
from allmlp.tokens import TokenFile

FIRST = 64  # tokens that are exchanged, or half the context where that is less
WINDOWS = 64  # held-out windows, at most


@torch.no_grad()
def context_gain(model: SequenceModel, file: TokenFile) -> tuple[int, float]:
    """(tokens exchanged, nats): mean loss of the tokens after them, with another document's minus with their own.

    Windows stand in the corpus's order, so each takes the beginning of one half of all windows away. nan where the
    held-out text has fewer than two.
    """
    first = min(FIRST, model.context // 2)
    held_out = file.sequences("validation", model.context + 1)
    count = min(WINDOWS, len(held_out)) // 2 * 2
    if not count:
        return first, float("nan")
    windows = read(held_out, np.linspace(0, len(held_out) - 1, count).astype(np.int64))
    exchanged = windows.clone()
    exchanged[:, :first] = windows[:, :first].roll(count // 2, dims=0)
    return first, float((_losses(model, exchanged, first) - _losses(model, windows, first)).mean())


def _losses(model: SequenceModel, windows: Tensor, first: int) -> Tensor:
    """The loss of every token after the first `first`, nats: (B, T + 1 - first)."""
    parts = [
        F.cross_entropy(model(part[:, :-1])[:, first - 1 :].transpose(1, 2).double(), part[:, first:], reduction="none")
        for part in windows.split(8)
    ]
    return torch.cat(parts)


RECIPE = 1
CHARACTERS, SAMPLES = 10_000, 10  # in all, and the number of samples, generated in one batch
TEMPERATURE = 1.0  # of the published code
SENTENCE_END = re.compile(r"[.!?]")

COLUMNS = {
    "step": exact("training steps done"),
    "characters": timing(f"of the samples, about {CHARACTERS}{CHANGES}"),
    "words": timing(f"whole words in them{CHANGES}"),
    "word_share_1": timing(f"share of them that occur in the training text{CHANGES}"),
    "known_word_characters": timing(f"mean length of those that do{CHANGES}"),
    "distinct_pairs": timing(f"different pairs of neighbouring words{CHANGES}"),
    "pair_share_1": timing(f"share of pairs that occur in the training text{CHANGES}"),
    "four_word_share_1": timing(f"share of sequences of four words that do{CHANGES}"),
    "sentence_ends": timing(f"full stops, question and exclamation marks per 1,000 characters{CHANGES}"),
    "context_tokens": exact("tokens of context that are exchanged for another document's"),
    "context_nats": numeric(
        "held-out loss of what follows with another document's context, minus with its own", rtol=5e-2, atol=5e-3
    ),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step, including the last; all nan if the training diverged there."""
    tokens = tokens_of(trained)
    known, file = text_of(tokens, "train"), TokenFile(tokens)
    per_token = file.meta["bytes"] / file.meta["tokens"]
    count = round(CHARACTERS / SAMPLES / per_token)
    rows: list[dict[str, float]] = []
    for step in trained.steps:
        if trained.diverged and step == trained.ending["steps_done"]:
            rows.append({"step": step})
            continue
        model = trained.model(step)
        drawn = generate(model, [file.eod], count, temperature=TEMPERATURE, seeds=range(SAMPLES)).numpy()
        written = [file.decode(ids) for ids in drawn]
        context, gain = context_gain(model, file)
        rows.append({"step": step, **counted(written, known), "context_tokens": context, "context_nats": gain})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def counted(samples: list[str], known: Words) -> dict[str, float]:
    """The counts of samples without their first and last words, which may be cut; shares are over all samples."""
    whole = [" ".join(WORD.findall(sample)[1:-1]) for sample in samples]
    words = [word for sample in whole for word in sample.split()]
    spelled = [len(word) for word in words if word.lower() in known.numbers]
    pairs = {pair for sample in whole for pair in zip(sample.lower().split(), sample.lower().split()[1:], strict=False)}
    characters = sum(map(len, samples))
    ends = sum(len(SENTENCE_END.findall(sample)) for sample in samples)
    return {
        "characters": characters,
        "words": len(words),
        "word_share_1": _mean_share(whole, known, 1),
        "known_word_characters": float(np.mean(spelled)) if spelled else float("nan"),
        "distinct_pairs": len(pairs),
        "pair_share_1": _mean_share(whole, known, 2),
        "four_word_share_1": _mean_share(whole, known, 4),
        "sentence_ends": 1000 * ends / max(1, characters),
    }


def _mean_share(samples: list[str], known: Words, length: int) -> float:
    """The share over all sequences of all samples; 0 without a sequence."""
    counts = [max(0, len(sample.split()) - length + 1) for sample in samples]
    if not sum(counts):
        return 0.0
    shares = [known.share(sample, length) if count else 0.0 for sample, count in zip(samples, counts, strict=True)]
    return float(np.average(shares, weights=counts))
