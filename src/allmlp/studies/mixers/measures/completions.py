"""Greedy completions of validation stories: names kept from the prompt, four-word sequences repeated (001-29)."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from allmlp.columns import exact, numeric
from allmlp.errors import UserError
from allmlp.protocols import Trained
from allmlp.studies.mixers import completions
from allmlp.tokens import TokenFile

RECIPE = 1
STORIES = 100

COLUMNS = {
    "step": exact("training steps of the weights"),
    "stories": exact("validation stories: as many tokens of each, and the last 50 of these to be written"),
    "names": numeric("names in the completions", rtol=0.1, atol=5),
    "names_kept_1": numeric("share of them that occur in their prompt; nan without a name", rtol=0.05, atol=0.05),
    "repeated_1": numeric("share of four-word sequences that a completion has said before, mean", rtol=0.1, atol=0.03),
    "true_names_kept_1": exact("names_kept_1 of the stories as they go on"),
    "true_repeated_1": exact("repeated_1 of the stories as they go on"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step except the first, which has untrained weights."""
    folder, device = Path("results/tokens") / str(trained.run.tokens), trained.run.device
    file, known = TokenFile(folder), completions.names(folder)
    stories_BT = stories(file, trained.run.hyperparameters["context"])
    prompts_BT, true_BT = np.split(stories_BT, [-completions.TOKENS], axis=1)
    prompts = [file.decode(prompt) for prompt in prompts_BT]
    true = _counted(prompts, [file.decode(ids) for ids in true_BT], known)
    rows = []
    for step in [step for step in trained.steps if step]:
        model = trained.model(step).to(device)
        written_BT = completions.greedy(model, torch.from_numpy(prompts_BT).to(device), completions.TOKENS).cpu()
        names, kept, repeated = _counted(prompts, [file.decode(ids) for ids in written_BT.numpy()], known)
        rows.append(
            {
                "step": step,
                "stories": len(prompts),
                "names": names,
                "names_kept_1": kept,
                "repeated_1": repeated,
                "true_names_kept_1": true[1],
                "true_repeated_1": true[2],
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def stories(file: TokenFile, context: int) -> np.ndarray:
    """The beginnings of the first STORIES validation stories that are long enough: (B, T) int64.

    T is at most the context, and three quarters of the stories have as many tokens. UserError if no prompt is left.
    """
    documents = file.documents("validation")
    length = min(context, int(np.quantile([len(story) for story in documents], 0.25)))
    if length <= completions.TOKENS:
        raise UserError(
            f"{file.folder}: a quarter of the stories, or the context of {context}, end within {length} tokens; a "
            f"prompt and {completions.TOKENS} tokens after it need more. Leave `completions` out at this scale."
        )
    long = (story for story in documents if len(story) >= length)
    return np.stack([story[:length].astype(np.int64) for story, _ in zip(long, range(STORIES), strict=False)])


def _counted(prompts: list[str], texts: list[str], known: frozenset[str]) -> tuple[int, float, float]:
    """Names in the texts, the share of them kept, the mean share of repeated sequences."""
    pairs = [completions.kept(prompt, text, known) for prompt, text in zip(prompts, texts, strict=True)]
    kept, names = (sum(numbers) for numbers in zip(*pairs, strict=True))
    return (
        names,
        kept / names if names else float("nan"),
        float(np.mean([completions.repeated(text) for text in texts])),
    )
