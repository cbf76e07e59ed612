"""Tables of what trained models keep of their input, and what they write."""

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
    later positions only (non-self), at the paper's rate and at the best of a few for the model on other texts; and by a
    search over tokens. Read off by the pseudo-inverse of the embeddings, as the paper does, and beside it by the
    nearest embedding. The ceiling is what the pseudo-inverse reads off the true embeddings. Texts are the beginnings of
    validation documents, as many tokens of each as the last column says.
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
    """The last tokens of validation stories, written by each model, the likeliest token after the likeliest: share of
    the names in them that occur in their prompt, and share of four-word sequences that they have said before; mean over
    seeds with its 95 % t interval. The last row is the stories as they go on.
    """
    shares = {"names_kept": "names_kept_1", "repeated": "repeated_1"}
    table = summary(completions, ["variant", "step"], **shares, seeds=("run", "nunique")).round(4)
    truth = {name: completions[f"true_{column}"].mean() for name, column in shares.items()}
    return pd.concat([table, pd.DataFrame([{"variant": "the stories", **truth}])], ignore_index=True)


@table("Completions of the paper's prompts", where="Mixer Inference", claims=["001-29"])
def completion_samples(completion_samples: pd.DataFrame) -> pd.DataFrame:
    """The likeliest tokens after the paper's two prompts, of the first seed, beside what the paper prints of its own
    models. Ours, trained on the corpus that this study names at its head, are given as much of a prompt's end as their
    context holds beside what is written.
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
