"""Samples of a run, at its end and on the way."""

import re
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from allmlp.common.errors import UserError
from allmlp.data.tasks.windows import read
from allmlp.data.tokens import TokenFile
from allmlp.models.base import SequenceModel
from allmlp.models.sampling import generate
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.texts import CHANGES, token_folder
from allmlp.studies.triangular.paper_numbers import OF_THE_PAPER, PROMPT, SAMPLE
from allmlp.studies.triangular.text_overlap import WORD, Words, corpus_words

WORDS, SAMPLES = 200, 3
COPIED = 1 << 23  # characters of training text to search: more than all of Shakespeare
LONGEST_WORD = 8  # characters generated per word, including its space; the sample is cut after WORDS
TEMPERATURE = 1.0  # of the published code


@measure(
    recipe=2,
    sample=exact(
        f"which sample of the run, and the seed that it is drawn with; {OF_THE_PAPER} is the paper's Figure 6"
    ),
    prompt=exact("the text that is gone on from; empty where the tokens have no such characters"),
    text=timing(f"what was written after it, {WORDS} words{CHANGES}"),
    copied_words=timing(f"its longest run of words that stands in the training text; nan if it diverged{CHANGES}"),
    copied_from=timing(f"the character of the text where the run begins{CHANGES}"),
    copied_to=timing(f"the character after its end{CHANGES}"),
)
def samples(trained: TrainedRun) -> Rows:
    """Samples of a trained model, and their longest run of words that occurs in the training text (004-7, E004-5).

    One row per sample, and one for the paper's. A model that diverged has nan, not a short run.
    """
    tokens = token_folder(trained)
    file = TokenFile(tokens)
    prompt, ids = _prompt(file)
    if trained.diverged:
        yield from ((number, prompt, "", float("nan"), 0, 0) for number in range(SAMPLES))
    else:
        count, known = round(WORDS * LONGEST_WORD / (file.meta["bytes"] / file.meta["tokens"])), _text(tokens, "train")
        seeds = range(SAMPLES)
        drawn = generate(trained.model(), [file.eod, *ids], count, temperature=TEMPERATURE, seeds=seeds).numpy()
        yield from (_row(number, prompt, file.decode(written), known) for number, written in enumerate(drawn))
    # the paper holds nothing out, so its sample is compared with both splits
    yield _row(OF_THE_PAPER, "", SAMPLE, _text(tokens, "train", "validation"))


def _text(tokens: Path, *splits: str) -> Words:
    return corpus_words(tokens, *splits, most=COPIED)


def _prompt(file: TokenFile) -> tuple[str, list[int]]:
    try:
        return PROMPT, file.tokenizer.encode_batch([PROMPT])[0].tolist()
    except UserError:  # the tokenizer has no such characters
        return "", []


def _row(sample: int, prompt: str, text: str, known: Words) -> tuple[object, ...]:
    ends = [match.end() for match in WORD.finditer(text)]
    text = text[: ends[WORDS - 1]] if len(ends) >= WORDS else text
    run = known.longest_run(text)
    return sample, prompt, text, run.words, run.start, run.stop


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


CHARACTERS, COUNTED_SAMPLES = 10_000, 10  # in all, and the number of samples, generated in one batch
SENTENCE_END = re.compile(r"[.!?]")


@measure(
    recipe=1,
    step=exact("training steps done"),
    characters=timing(f"of the samples, about {CHARACTERS}{CHANGES}"),
    words=timing(f"whole words in them{CHANGES}"),
    word_share_1=timing(f"share of them that occur in the training text{CHANGES}"),
    known_word_characters=timing(f"mean length of those that do{CHANGES}"),
    distinct_pairs=timing(f"different pairs of neighbouring words{CHANGES}"),
    pair_share_1=timing(f"share of pairs that occur in the training text{CHANGES}"),
    four_word_share_1=timing(f"share of sequences of four words that do{CHANGES}"),
    sentence_ends=timing(f"full stops, question and exclamation marks per 1,000 characters{CHANGES}"),
    context_tokens=exact("tokens of context that are exchanged for another document's"),
    context_nats=numeric(
        "held-out loss of what follows with another document's context, minus with its own", rtol=5e-2, atol=5e-3
    ),
)
def milestones(trained: TrainedRun) -> Rows:
    """Counts on samples at the kept steps of a run: words, pairs, sequences, and the use of context (004-6).

    One row per kept step, including the last; all nan if the training diverged there.
    """
    tokens = token_folder(trained)
    known, file = corpus_words(tokens, "train"), TokenFile(tokens)
    per_token = file.meta["bytes"] / file.meta["tokens"]
    count = round(CHARACTERS / COUNTED_SAMPLES / per_token)
    for step in trained.steps:
        if trained.diverged and step == trained.ending["steps_done"]:
            yield {**dict.fromkeys(milestones.columns, float("nan")), "step": step}
            continue
        model = trained.model(step)
        drawn = generate(model, [file.eod], count, temperature=TEMPERATURE, seeds=range(COUNTED_SAMPLES)).numpy()
        written = [file.decode(ids) for ids in drawn]
        context, gain = context_gain(model, file)
        yield {"step": step, **count_samples(written, known), "context_tokens": context, "context_nats": gain}


def count_samples(samples: list[str], known: Words) -> dict[str, float]:
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
