"""Continuations of the paper's six prompts by a last-token model, and their overlap with the training text (000-17)."""

import torch
from torch import Tensor

from allmlp.data.tokenizers import Tokenizer
from allmlp.data.tokens import TokenFile
from allmlp.models.base import SequenceModel
from allmlp.models.sampling import WindowReader, generate
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.language.prompts import PROMPTS, split_prompt
from allmlp.studies.shared.overlap import known_trigrams, longest_copy, training_text
from allmlp.studies.shared.texts import CHANGES, token_folder


def context_gain(model: SequenceModel, tokenizer: Tokenizer, prompt: str) -> float:
    """log p(last word | the prompt before it) - log p(last word | the word before it alone), in nats."""
    before, alone, last = (tokenizer.encode_batch([text])[0].tolist() for text in split_prompt(prompt))
    return _log_p(model, before, last, tokenizer.eod) - _log_p(model, alone, last, tokenizer.eod)


@torch.no_grad()
def _log_p(model: SequenceModel, before: list[int], word: list[int], pad: int) -> float:
    """log p of all tokens of `word` after `before`, padded on the left to a whole window."""
    read, total = WindowReader(model, pad), 0.0
    for place, token in enumerate(word):
        logits_1V: Tensor = read(torch.tensor([before + word[:place]]))
        total += torch.log_softmax(logits_1V.double(), dim=-1)[0, token].item()
    return total


TEMPERATURE, TOKENS = 0.5, 64  # the paper's


@measure(
    recipe=1,
    prompt=exact("position among the paper's prompts, from 0; the last four probe the use of context"),
    prompt_text=exact("the prompt"),
    text=timing(f"what the run writes after it, {TOKENS} tokens at temperature {TEMPERATURE}{CHANGES}"),
    known_trigrams_1=timing(f"share of its runs of three tokens that occur in the training text{CHANGES}"),
    longest_copy_bytes=timing(f"its longest part that stands word for word in the training text searched{CHANGES}"),
    context_gain_nats=numeric(
        "log-probability of the prompt's last word in context, less that after the word before it alone",
        rtol=5e-2,
        atol=0.1,
    ),
)
def samples(trained: TrainedRun) -> Rows:
    """Continuations of the paper's six prompts by a last-token model, and their overlap with the training text
    (000-17).

    One row per prompt. UserError for a model that diverged.
    """
    tokens, model = token_folder(trained), trained.model()
    file = TokenFile(tokens)
    for number, prompt in enumerate(PROMPTS):
        ids = file.tokenizer.encode_batch([prompt])[0].tolist()
        drawn = generate(model, ids, TOKENS, temperature=TEMPERATURE, seeds=[trained.run.seed], pad=file.eod)[0]
        text = file.decode(drawn.numpy())
        yield {
            "prompt": number,
            "prompt_text": prompt,
            "text": text,
            "known_trigrams_1": known_trigrams(drawn.numpy(), tokens),
            "longest_copy_bytes": longest_copy(text.encode(), training_text(tokens)),
            "context_gain_nats": context_gain(model, file.tokenizer, prompt),
        }
