"""How much more likely a prompt's last word is after the whole prompt than after one word (000-17)."""

import torch
from torch import Tensor

from allmlp.models.base import SequenceModel
from allmlp.sampling import WindowReader
from allmlp.studies.language.prompts import in_context
from allmlp.tokenizers import Tokenizer


def context_gain(model: SequenceModel, tokenizer: Tokenizer, prompt: str) -> float:
    """log p(last word | the prompt before it) - log p(last word | the word before it alone), in nats."""
    before, alone, last = (tokenizer.encode_batch([text])[0].tolist() for text in in_context(prompt))
    return _log_p(model, before, last, tokenizer.eod) - _log_p(model, alone, last, tokenizer.eod)


@torch.no_grad()
def _log_p(model: SequenceModel, before: list[int], word: list[int], pad: int) -> float:
    """log p of all tokens of `word` after `before`, padded on the left to a whole window."""
    read, total = WindowReader(model, pad), 0.0
    for place, token in enumerate(word):
        logits_1V: Tensor = read(torch.tensor([before + word[:place]]))
        total += torch.log_softmax(logits_1V.double(), dim=-1)[0, token].item()
    return total
