"""Greedy completions of the paper's two prompts (001-29)."""

import pandas as pd
import torch

from allmlp.columns import exact, timing
from allmlp.protocols import Trained
from allmlp.sampling import greedy
from allmlp.studies.mixers.measures.completions import TOKENS
from allmlp.studies.mixers.prompts import PROMPTS
from allmlp.studies.texts import tokens_of
from allmlp.tokens import TokenFile

RECIPE = 1

COLUMNS = {
    "prompt": exact("position among the paper's prompts, from 0"),
    "prompt_tokens": exact(
        "tokens of it that the model is given: the last ones, so that the context holds what follows"
    ),
    "text": timing(f"the {TOKENS} tokens after it; one changed bit of a weight changes them, so never compared"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per prompt, of the last weights."""
    file = TokenFile(tokens_of(trained))
    device = trained.run.device
    model = trained.model().to(device)
    rows = []
    for number, prompt in enumerate(PROMPTS):
        ids = file.tokenizer.encode_batch([prompt])[0].tolist()[-max(1, model.context - TOKENS) :]
        written = greedy(model, torch.tensor([ids], device=device), TOKENS)[0].cpu()
        rows.append({"prompt": number, "prompt_tokens": len(ids), "text": file.decode(written.numpy())})
    return pd.DataFrame(rows, columns=list(COLUMNS))
