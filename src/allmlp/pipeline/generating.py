"""`allmlp generate RUN`: what a trained language model writes after a prompt."""

from collections.abc import Sequence
from pathlib import Path

from allmlp.common.errors import UserError
from allmlp.common.paths import TOKENIZERS
from allmlp.data.tokens import TokenizerFile
from allmlp.models.base import SequenceModel
from allmlp.models.sampling import generate
from allmlp.spec.run import Run
from allmlp.training.published import TrainedRun


def texts(
    trained: TrainedRun,
    prompt: str,
    *,
    tokens: int,
    temperature: float,
    seeds: Sequence[int],
    step: int | None = None,
) -> list[str]:
    """What the weights of a step (None: the last) write after `prompt`, a text for each seed, without the prompt.

    The prompt is the beginning of a document; an empty one leaves that to the model. The text ends with the document
    or after `tokens` tokens. Temperature 0 takes the likeliest token. UserError for a run that reads no text or does
    not predict it token by token, and as of `sampling.generate`.
    """
    file, model = text_tokenizer(trained.run), trained.model(step)
    check(trained.run, model, file)
    drawn = generate(
        model, encode_prompt(trained.run, file, prompt), tokens, temperature=temperature, seeds=seeds, pad=file.eod
    ).tolist()
    return [file.decode(row[: row.index(file.eod)] if file.eod in row else row) for row in drawn]


def encode_prompt(run: Run, file: TokenizerFile, prompt: str) -> list[int]:
    """The tokens of a prompt as the beginning of a document."""
    if any("\ud800" <= character <= "\udfff" for character in prompt):  # how Python keeps bytes that are none
        raise UserError(f"--prompt {prompt!a}: is not UTF-8. Type it in a terminal that writes UTF-8.")
    ids: list[int] = file.tokenizer.encode_batch([prompt])[0].tolist()
    return [file.eod, *ids] if has_leading_end(run) or not ids else ids


def has_leading_end(run: Run) -> bool:
    """Did the run see a document after the end of the one before? The task "documents" shows each alone."""
    return run.task != "documents"


def text_tokenizer(run: Run) -> TokenizerFile:
    """The tokenizer of the tokens that a run was trained on, or the published one where they are not here. UserError
    for a run without a corpus."""
    if run.tokens is None:
        raise UserError(f"{run.id}: reads no text: its task is {run.task!r}, without a corpus.")
    tokens, published = Path("results/tokens") / run.tokens, TOKENIZERS / run.tokens
    return TokenizerFile(published if published.is_dir() and not tokens.is_dir() else tokens)


def check(run: Run, model: SequenceModel, file: TokenizerFile) -> None:
    """UserError unless the model predicts the next token of the text."""
    writes = model.causal or model.predicts == "last"
    if model.features is not None or not writes or file.vocabulary != model.vocabulary:
        raise UserError(
            f"{run.id}: does not write text: {run.architecture!r} trained on {run.task!r} predicts no next token of a "
            f"corpus. `allmlp plan --runs` lists others."
        )
