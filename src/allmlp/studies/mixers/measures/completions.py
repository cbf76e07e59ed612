"""Greedy completions of stories and of the paper's prompts."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import torch

from allmlp.common.errors import UserError
from allmlp.data.tokens import TokenFile
from allmlp.models.sampling import decode_greedily
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.mixers.prompts import PROMPTS
from allmlp.studies.shared.overlap import training_text
from allmlp.studies.shared.texts import token_folder

TOKENS = 50  # the paper's
IN_A_ROW = 4  # words of a sequence that counts as repeated
WORD = re.compile(r"[A-Za-z]+")
INSIDE = re.compile(r"[a-z,;] ([A-Z][a-z]+)\b")  # a capitalised word that is not the first of a sentence
STORIES = 100


@measure(
    recipe=1,
    step=exact("training steps of the weights"),
    stories=exact("validation stories: as many tokens of each, and the last 50 of these to be written"),
    names=numeric("names in the completions", rtol=0.1, atol=5),
    names_kept_1=numeric("share of them that occur in their prompt; nan without a name", rtol=0.05, atol=0.05),
    repeated_1=numeric("share of four-word sequences that a completion has said before, mean", rtol=0.1, atol=0.03),
    true_names_kept_1=exact("names_kept_1 of the stories as they go on"),
    true_repeated_1=exact("repeated_1 of the stories as they go on"),
)
def completions(trained: TrainedRun) -> Rows:
    """Greedy completions of validation stories: names kept from the prompt, four-word sequences repeated (001-29).

    One row per kept step except the first, which has untrained weights.
    """
    folder, device = token_folder(trained), trained.run.device
    file, known = TokenFile(folder), names(folder)
    stories_BT = stories(file, trained.run.hyperparameters["context"])
    prompts_BT, true_BT = np.split(stories_BT, [-TOKENS], axis=1)
    prompts = [file.decode(prompt) for prompt in prompts_BT]
    _, *true = _count_names(prompts, [file.decode(ids) for ids in true_BT], known)
    for step in filter(None, trained.steps):
        model = trained.model(step).to(device)
        written_BT = decode_greedily(model, torch.from_numpy(prompts_BT).to(device), TOKENS).cpu()
        counts = _count_names(prompts, [file.decode(ids) for ids in written_BT.numpy()], known)
        yield (step, len(prompts), *counts, *true)


def stories(file: TokenFile, context: int) -> np.ndarray:
    """The beginnings of the first STORIES validation stories that are long enough: (B, T) int64.

    T is at most the context, and three quarters of the stories have as many tokens. UserError if no prompt is left.
    """
    documents = file.documents("validation")
    length = min(context, int(np.quantile([len(story) for story in documents], 0.25)))
    if length <= TOKENS:
        raise UserError(
            f"{file.folder}: a quarter of the stories, or the context of {context}, end within {length} tokens; a "
            f"prompt and {TOKENS} tokens after it need more. Leave `completions` out at this scale."
        )
    long = (story for story in documents if len(story) >= length)
    return np.stack([story[:length].astype(np.int64) for story, _ in zip(long, range(STORIES), strict=False)])


def _count_names(prompts: list[str], texts: list[str], known: frozenset[str]) -> tuple[int, float, float]:
    """Names in the texts, the share of them kept, the mean share of repeated sequences."""
    pairs = [count_kept_names(prompt, text, known) for prompt, text in zip(prompts, texts, strict=True)]
    again, count = (sum(numbers) for numbers in zip(*pairs, strict=True))
    return count, again / count if count else float("nan"), float(np.mean([repeated_share(text) for text in texts]))


@cache
def names(tokens: Path) -> frozenset[str]:
    """Names of a corpus: words capitalised inside sentences of its training text, more often than in lower case."""
    text = training_text(tokens).decode(errors="replace")
    capitalised, lower = Counter(INSIDE.findall(text)), Counter(re.findall(r"\b[a-z]+\b", text))
    return frozenset(name for name, count in capitalised.items() if count > lower[name.lower()])


def find_names(text: str, known: frozenset[str]) -> list[str]:
    """The names in a text, in order."""
    return [word for word in WORD.findall(text) if word in known]


def count_kept_names(prompt: str, completion: str, known: frozenset[str]) -> tuple[int, int]:
    """(names of the completion that occur in its prompt, names of the completion)."""
    before, after = set(find_names(prompt, known)), find_names(completion, known)
    return sum(name in before for name in after), len(after)


def repeated_share(completion: str) -> float:
    """Share of a text's four-word sequences that occur earlier in it; 0 for fewer than four words.

    >>> repeated_share("the cat sat on the cat sat on the mat")
    0.2857142857142857
    """
    words = [word.lower() for word in WORD.findall(completion)]
    sequences = [tuple(words[i : i + IN_A_ROW]) for i in range(len(words) - IN_A_ROW + 1)]
    return 1 - len(set(sequences)) / len(sequences) if sequences else 0.0


@measure(
    recipe=1,
    prompt=exact("position among the paper's prompts, from 0"),
    prompt_tokens=exact("tokens of it that the model is given: the last ones, so that the context holds what follows"),
    text=timing(f"the {TOKENS} tokens after it; one changed bit of a weight changes them, so never compared"),
)
def completion_samples(trained: TrainedRun) -> Rows:
    """Greedy completions of the paper's two prompts (001-29).

    One row per prompt, of the last weights.
    """
    file = TokenFile(token_folder(trained))
    device = trained.run.device
    model = trained.model().to(device)
    for number, prompt in enumerate(PROMPTS):
        ids = file.tokenizer.encode_batch([prompt])[0].tolist()[-max(1, model.context - TOKENS) :]
        written = decode_greedily(model, torch.tensor([ids], device=device), TOKENS)[0].cpu()
        yield {"prompt": number, "prompt_tokens": len(ids), "text": file.decode(written.numpy())}
