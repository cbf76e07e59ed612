"""The paper's six prompts (Appendix A), and how much more likely their last word is in context (000-17).

>>> in_context("The cat sat. A bat")
('The cat sat. A', 'A', ' bat')
"""

import torch
from torch import Tensor

from allmlp.models.base import SequenceModel
from allmlp.sampling import WindowReader
from allmlp.tokenizers import Tokenizer

PROMPTS = (
    "The capital of France is Paris. The capital of Italy is Rome. The capital of Germany is Berlin. "
    "The capital of Spain is",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of",
    "The baseball player stepped up to the plate, ready to hit a home run. The pitcher threw the ball, and the bat",
    "These nocturnal creatures are adept hunters, using echolocation to locate prey and navigate in the darkness. "
    "A bat",
    "The robber pointed his gun at the cashier and demanded money. It was a bank",
    "The river flowed gently through the forest, its waters sparkling in the sunlight. Along the river bank",
)
PROBING = PROMPTS[2:]  # "meant to probe the model's ability to use the context beyond the immediate last word"


def in_context(prompt: str) -> tuple[str, str, str]:
    """(all before the last word, the word before it alone, the last word with its space)."""
    before, last = prompt.rsplit(" ", 1)
    return before, before.rsplit(" ", 1)[-1], f" {last}"


def context_gain(model: SequenceModel, tokenizer: Tokenizer, prompt: str) -> float:
    """log p(last word | the prompt before it) - log p(last word | the word before it alone), in nats."""
    before, alone, last = (tokenizer.encode_batch([text])[0].tolist() for text in in_context(prompt))
    return _log_p(model, before, last, tokenizer.eod) - _log_p(model, alone, last, tokenizer.eod)


@torch.no_grad()
def _log_p(model: SequenceModel, before: list[int], word: list[int], pad: int) -> float:
    """log p of all tokens of `word` after `before`, which is padded on the left to a whole window."""
    read, total = WindowReader(model, pad), 0.0
    for place, token in enumerate(word):
        logits_1V: Tensor = read(torch.tensor([before + word[:place]]))
        total += torch.log_softmax(logits_1V.double(), dim=-1)[0, token].item()
    return total
