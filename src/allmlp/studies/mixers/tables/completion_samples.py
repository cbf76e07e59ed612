"""What models write after the paper's prompts, beside what the paper's wrote (001-29)."""

import pandas as pd

from allmlp.studies.mixers.prompts import PRINTED, PROMPTS
from allmlp.studies.overlap import one_line

MEASURES = ["completion_samples"]
PAPER = "Mixer Inference"
CLAIMS = ["001-29"]
TITLE = "Completions of the paper's prompts"
CAPTION = (
    "The likeliest tokens after the paper's two prompts, of the first seed, beside what the paper prints of its own "
    "models. Ours, trained on the corpus that this study names at its head, are given as much of a prompt's end as "
    "their context holds beside what is written."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per prompt and model."""
    ours = tables["completion_samples"]
    ours = ours[ours["seed"].eq(ours["seed"].min())].sort_values(["prompt", "variant"])
    rows = []
    for number, prompt in enumerate(PROMPTS):
        said = {model: texts[number] for model, texts in PRINTED.items()}
        of_prompt = ours[ours["prompt"].eq(number)]
        written = dict(zip(of_prompt["variant"], of_prompt["text"], strict=True))
        rows += [
            {"prompt": f"... {prompt[-60:]}", "model": model, "completion": one_line(text)}
            for model, text in {**said, **written}.items()
            if text is not None
        ]
    return pd.DataFrame(rows)
