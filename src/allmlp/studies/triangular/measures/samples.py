"""Samples of a trained model, and their longest run of words that occurs in the training text (004-7, E004-5)."""

from pathlib import Path

import pandas as pd

from allmlp.columns import exact, timing
from allmlp.errors import UserError
from allmlp.protocols import Trained
from allmlp.sampling import generate
from allmlp.studies.texts import CHANGES, tokens_of
from allmlp.studies.triangular.known import WORD, Words, text_of
from allmlp.studies.triangular.printed import OF_THE_PAPER, PROMPT, SAMPLE
from allmlp.tokens import TokenFile

RECIPE = 2
WORDS, SAMPLES = 200, 3
COPIED = 1 << 23  # characters of training text to search: more than all of Shakespeare
LONGEST_WORD = 8  # characters generated per word, including its space; the sample is cut after WORDS
TEMPERATURE = 1.0  # of the published code

COLUMNS = {
    "sample": exact(
        f"which sample of the run, and the seed that it is drawn with; {OF_THE_PAPER} is the paper's Figure 6"
    ),
    "prompt": exact("the text that is gone on from; empty where the tokens have no such characters"),
    "text": timing(f"what was written after it, {WORDS} words{CHANGES}"),
    "copied_words": timing(f"its longest run of words that stands in the training text; nan if it diverged{CHANGES}"),
    "copied_from": timing(f"the character of the text where the run begins{CHANGES}"),
    "copied_to": timing(f"the character after its end{CHANGES}"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per sample, and one for the paper's. A model that diverged has nan, not a short run."""
    tokens = tokens_of(trained)
    file = TokenFile(tokens)
    prompt, ids = _prompt(file)
    if trained.diverged:
        rows: list[tuple[object, ...]] = [(number, prompt, "", float("nan"), 0, 0) for number in range(SAMPLES)]
    else:
        count, known = round(WORDS * LONGEST_WORD / (file.meta["bytes"] / file.meta["tokens"])), _text(tokens, "train")
        seeds = range(SAMPLES)
        drawn = generate(trained.model(), [file.eod, *ids], count, temperature=TEMPERATURE, seeds=seeds).numpy()
        rows = [_row(number, prompt, file.decode(written), known) for number, written in enumerate(drawn)]
    # the paper holds nothing out, so its sample is compared with both splits
    rows.append(_row(OF_THE_PAPER, "", SAMPLE, _text(tokens, "train", "validation")))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _text(tokens: Path, *splits: str) -> Words:
    return text_of(tokens, *splits, most=COPIED)


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
