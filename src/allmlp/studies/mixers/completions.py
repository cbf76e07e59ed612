"""Greedy completions, and their counts: names kept, four-word sequences repeated (001-29).

>>> repeated("the cat sat on the cat sat on the mat")
0.2857142857142857
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from allmlp.models.base import SequenceModel
from allmlp.sampling import Reader, StepReader
from allmlp.studies.overlap import training_text

TOKENS = 50  # the paper's
IN_A_ROW = 4  # words of a sequence that counts as repeated
WORD = re.compile(r"[A-Za-z]+")
INSIDE = re.compile(r"[a-z,;] ([A-Z][a-z]+)\b")  # a capitalised word that is not the first of a sentence


def greedy(model: SequenceModel, prompts_BT: Tensor, count: int) -> Tensor:
    """The likeliest `count` next tokens after each prompt: (B, T) -> (B, count). With a memory where there is one."""
    read: Reader = StepReader(model) if hasattr(model, "step") else lambda tokens_BT: model(tokens_BT)[:, -1]
    tokens_BT = prompts_BT
    with torch.no_grad():
        for _ in range(count):
            tokens_BT = torch.cat([tokens_BT, read(tokens_BT).argmax(-1)[:, None]], dim=1)
    return tokens_BT[:, prompts_BT.shape[1] :]


@cache
def names(tokens: Path) -> frozenset[str]:
    """Names of a corpus: words capitalised inside sentences of its training text, more often than in lower case."""
    text = training_text(tokens).decode(errors="replace")
    capitalised, lower = Counter(INSIDE.findall(text)), Counter(re.findall(r"\b[a-z]+\b", text))
    return frozenset(name for name, count in capitalised.items() if count > lower[name.lower()])


def named(text: str, known: frozenset[str]) -> list[str]:
    """The names in a text, in order."""
    return [word for word in WORD.findall(text) if word in known]


def kept(prompt: str, completion: str, known: frozenset[str]) -> tuple[int, int]:
    """(names of the completion that occur in its prompt, names of the completion)."""
    before, after = set(named(prompt, known)), named(completion, known)
    return sum(name in before for name in after), len(after)


def repeated(completion: str) -> float:
    """Share of a text's four-word sequences that occur earlier in it; 0 for fewer than four words."""
    words = [word.lower() for word in WORD.findall(completion)]
    sequences = [tuple(words[i : i + IN_A_ROW]) for i in range(len(words) - IN_A_ROW + 1)]
    return 1 - len(set(sequences)) / len(sequences) if sequences else 0.0
