"""Measures of runs on text."""

import math

from allmlp.data.tokens import TokenFile
from allmlp.models.sampling import generate
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.curves import LOSSES, losses
from allmlp.studies.shared.overlap import known_share, known_words, longest_copy, training_text
from allmlp.studies.shared.texts import CHANGES, token_folder, tokens_per_byte

MOST_ROWS = 600


@measure(
    recipe=1,
    **LOSSES,
    training_bits_per_byte=numeric("the training loss per byte of text", rtol=1e-2, atol=1e-3),
    validation_bits_per_byte=numeric("the loss on held-out documents per byte of text", rtol=5e-3, atol=1e-3),
    floor_bits_per_byte=numeric("entropy of the corpus, which no model can pass; nan where unknown", rtol=1e-6),
)
def text_curve(trained: TrainedRun) -> Rows:
    """Training and validation loss of a text run over its steps, in nats per token and bits per byte (002-7).

    One row per kept step of the log, and one for the end, which has a validation loss only.
    """
    rows, bits = losses(trained, MOST_ROWS), tokens_per_byte(trained) / math.log(2)
    return rows.assign(
        training_bits_per_byte=bits * rows["loss_nats"],
        validation_bits_per_byte=bits * rows["validation_nats"],
        floor_bits_per_byte=bits * rows["floor_nats"],
    )


PROMPT = "Three years later,"
TEMPERATURE = 0.7  # of the published code
SAMPLES, TOKENS = 3, 200


@measure(
    recipe=1,
    sample=exact("which sample of the run, and the seed that it is drawn with"),
    temperature_1=numeric("divides the logits before each draw"),
    prompt=exact("the text that is gone on from"),
    text=timing(f"what the run writes after it, {TOKENS} tokens{CHANGES}"),
    known_words_1=timing(f"share of its words that occur in the training text searched{CHANGES}"),
    longest_copy_bytes=timing(f"its longest part that stands there word for word{CHANGES}"),
)
def text_samples(trained: TrainedRun) -> Rows:
    """Continuations of the paper's prompt, and their overlap with the training text (002-7).

    One row per sample.
    """
    tokens = token_folder(trained)
    file = TokenFile(tokens)
    prompt = file.tokenizer.encode_batch([PROMPT])[0].tolist()
    model, seeds = trained.model(), range(SAMPLES)
    drawn = generate(model, prompt, TOKENS, temperature=TEMPERATURE, seeds=seeds, pad=file.eod).numpy()
    for number, text in enumerate(map(file.decode, drawn)):
        written = text.encode()
        copied = known_share(written, known_words(tokens)), longest_copy(written, training_text(tokens))
        yield (number, TEMPERATURE, PROMPT, text, *copied)
