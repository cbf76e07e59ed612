"""Continuations of the paper's prompt, and their overlap with the training text (002-7)."""

import pandas as pd

from allmlp.columns import exact, numeric, timing
from allmlp.protocols import Trained
from allmlp.sampling import generate
from allmlp.studies.overlap import known_share, known_words, longest_copy, training_text
from allmlp.studies.texts import CHANGES, tokens_of
from allmlp.tokens import TokenFile

RECIPE = 1
PROMPT = "Three years later,"
TEMPERATURE = 0.7  # of the published code
SAMPLES, TOKENS = 3, 200

COLUMNS = {
    "sample": exact("which sample of the run, and the seed that it is drawn with"),
    "temperature_1": numeric("divides the logits before each draw"),
    "prompt": exact("the text that is gone on from"),
    "text": timing(f"what the run writes after it, {TOKENS} tokens{CHANGES}"),
    "known_words_1": timing(f"share of its words that occur in the training text searched{CHANGES}"),
    "longest_copy_bytes": timing(f"its longest part that stands there word for word{CHANGES}"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per sample."""
    tokens = tokens_of(trained)
    file = TokenFile(tokens)
    prompt = file.tokenizer.encode_batch([PROMPT])[0].tolist()
    model, seeds = trained.model(), range(SAMPLES)
    drawn = generate(model, prompt, TOKENS, temperature=TEMPERATURE, seeds=seeds, pad=file.eod).numpy()
    rows = []
    for number, text in enumerate(map(file.decode, drawn)):
        written = text.encode()
        copied = known_share(written, known_words(tokens)), longest_copy(written, training_text(tokens))
        rows.append((number, TEMPERATURE, PROMPT, text, *copied))
    return pd.DataFrame(rows, columns=list(COLUMNS))
