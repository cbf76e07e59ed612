"""Tables of the recovery of the input, and of generated text."""

import pandas as pd

from allmlp.report.exhibits import table
from allmlp.studies.mixers.prompts import PRINTED, PROMPTS
from allmlp.studies.overlap import one_line
from allmlp.studies.seeds import summary


@table(
    "Input recovered from the last hidden layer",
    where="Language Mixer Basics",
    claims=["001-28", "001-own-9", "001-own-10"],
)
def recovery(recovery: pd.DataFrame) -> pd.DataFrame:
    """Share of tokens right, mean over seeds with its 95 % t interval: by descent from the whole layer (self), from
    later positions only (non-self), at the paper's rate and at the best of a few rates for the model, chosen on other
    texts; and by a search over tokens. Tokens are read off by the pseudo-inverse of the embeddings, as in the paper,
    and by the nearest embedding. The ceiling is the share that the pseudo-inverse reads off the true embeddings. Texts
    are the beginnings of validation documents; the last column gives their tokens.
    """
    by = ["variant", "d_model", "n_blocks", "step", "way", "rates"]
    table = summary(
        recovery,
        by,
        recovered="recovered_1",
        seeds=("run", "nunique"),
        nearest=("nearest_1", "mean"),
        ceiling=("ceiling_1", "mean"),
        first_rate=("rate_1", "median"),
        tokens=("tokens", "max"),
    )
    return table.rename(columns={"recovered_low": "low", "recovered_high": "high"}).round(4)


@table("Coherence of greedy completions", where="Mixer Inference", claims=["001-29"])
def completions(completions: pd.DataFrame) -> pd.DataFrame:
    """Greedy completions of validation stories: share of their names that occur in the prompt, and share of repeated
    four-word sequences; mean over seeds with its 95 % t interval. The last row is the stories themselves.
    """
    shares = {"names_kept": "names_kept_1", "repeated": "repeated_1"}
    table = summary(completions, ["variant", "step"], **shares, seeds=("run", "nunique")).round(4)
    truth = {name: completions[f"true_{column}"].mean() for name, column in shares.items()}
    return pd.concat([table, pd.DataFrame([{"variant": "the stories", **truth}])], ignore_index=True)


@table("Completions of the paper's prompts", where="Mixer Inference", claims=["001-29"])
def completion_samples(completion_samples: pd.DataFrame) -> pd.DataFrame:
    """Greedy completions of the paper's two prompts by the first seed, and the paper's printed ones of its own models.
    Our models, trained on this study's corpus, read as much of a prompt's end as fits into their context besides the
    completion.
    """
    ours = completion_samples[completion_samples["seed"].eq(completion_samples["seed"].min())].sort_values("variant")
    rows = []
    for number, prompt in enumerate(PROMPTS):
        printed = {model: texts[number] for model, texts in PRINTED.items()}
        of_prompt = ours[ours["prompt"].eq(number)]
        written = dict(zip(of_prompt["variant"], of_prompt["text"], strict=True))
        rows += [
            {"prompt": f"... {prompt[-60:]}", "model": model, "completion": one_line(text)}
            for model, text in {**printed, **written}.items()
            if text is not None
        ]
    return pd.DataFrame(rows)
