"""Tables of study 001: what needs no training of its own: audits and counts, and what trained models keep and write."""

import pandas as pd

from allmlp.report.seeds import summary
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import Paper, table
from allmlp.studies.mixers.prompts import PRINTED, PROMPTS
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIB, MIXER, TRANSFORMER, printed_table
from allmlp.studies.shared.overlap import single_line


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
def completion_samples(completion_samples: pd.DataFrame) -> Rows:
    """Greedy completions of the paper's two prompts by the first seed, and the paper's printed ones of its own models.
    Our models, trained on this study's corpus, read as much of a prompt's end as fits into their context besides the
    completion.
    """
    ours = completion_samples[completion_samples["seed"].eq(completion_samples["seed"].min())].sort_values(
        "variant", kind="stable"
    )
    for number, prompt in enumerate(PROMPTS):
        printed = {model: texts[number] for model, texts in PRINTED.items()}
        of_prompt = ours[ours["prompt"].eq(number)]
        written = dict(zip(of_prompt["variant"], of_prompt["text"], strict=True))
        yield from [
            {"prompt": f"... {prompt[-60:]}", "model": model, "completion": single_line(text)}
            for model, text in {**printed, **written}.items()
            if text is not None
        ]


WORDS = {"pass": "pass", "fail": "leaks", "not applicable": "-"}


@table("Causality audit", where="Transformer mixer hybrids", claims=["001-1", "001-19", "001-27"])
def audit(audit: pd.DataFrame) -> pd.DataFrame:
    """Every architecture of the registry, tiny, with fresh weights in double precision. Later tokens: no prediction
    changes with a later token. Later gradients: no prediction has a gradient at a later token. Left padding: "later
    tokens" in rows that begin with padding. More padding: it changes no prediction, if the architecture declares this.
    Right padding: a text before padding is predicted as without it. Batch neighbours: other rows change no prediction.
    Inputs matter: each input changes a prediction of its row. A dash: the check does not apply. Architectures that leak
    are kept as published, so that the audit has something to catch.
    """
    rows = audit[audit["run"] == audit["run"].iloc[0]]  # no run is used: all have the same rows
    word = rows["result"].map(WORDS).mask(rows["result"].eq("fail") & rows["declared"].eq(""), "FAILS")
    cells = rows.assign(word=word).pivot(index="architecture", columns="check", values="word")
    failed = rows[rows["result"] == "fail"]
    leaks = (failed["check"] + ": " + failed["detail"]).groupby(failed["architecture"]).agg("; ".join)
    table = cells.loc[rows["architecture"].unique(), rows["check"].unique()]
    return table.assign(found=leaks.reindex(table.index).fillna("")).reset_index()


@table("What the mask keeps out", where="Language Mixer Basics, worked example", claims=["001-1"])
def masking(masking: pd.DataFrame) -> pd.DataFrame:
    """In float64: the difference from the paper's printed matrices; the largest change of outputs up to a position when
    all later tokens change, over all positions; the largest gradient of a weight above the diagonal. Each is 0 where
    the property holds.
    """
    rows = masking.drop_duplicates(["form", "property"])
    wide = rows.pivot(index="form", columns="property", values="difference_1")
    return wide.reindex(rows["form"].unique()).reset_index()


@table("Hidden units under the triangular masks", where="Flat Mixers Train Faster", claims=["001-9"])
def hidden_units(hidden_units: pd.DataFrame) -> pd.DataFrame:
    """An expanded mixing with two lower triangular matrices: which hidden units, inputs and weights influence an
    output, by the gradients of random weights. Above a factor of 1 the further units have no influence; below it the
    last inputs have none (the residual stream still carries them at their own position).
    """
    rows = hidden_units.drop_duplicates("expansion_1").rename(columns={"expansion_1": "expansion"})
    return rows[["expansion", "hidden", "hidden_used", "inputs", "inputs_lost", "weights", "weights_used"]]


@table("Dimensions for m points", where="Background", claims=["001-2"])
def dimensions(dimensions: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """8 ln(m), the number of dimensions that hold m points by the Johnson-Lindenstrauss lemma, beside the number that
    the paper prints. For English sentences it prints ln(m), without the 8, so its conclusion, that so many hidden nodes
    suffice for any English sentence, does not hold. The lemma bounds how well a random projection keeps distances (here
    at an error of 1, which keeps hardly any), not what a network needs.
    """
    rows = dimensions.drop_duplicates("points")
    printed = rows["key"].map(paper["001-2"]).astype(float)
    return pd.DataFrame(
        {
            "points": rows["points"],
            "log10_points": rows["log10_points"].round(2),
            "logarithm": rows["logarithm_nats"].round(1),
            "8_logarithm": rows["dimensions"].round(1),
            "paper": printed,
            "paper_over_8_logarithm": (printed / rows["dimensions"]).round(3),
            "paper_over_logarithm": (printed / rows["logarithm_nats"]).round(3),
        }
    )


@table(
    "Memory against context and depth",
    where="Scaling Properties, memory tables",
    claims=["001-13", "001-14", "001-own-11"],
)
def memory(memory: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """MB (2^20 bytes) of one sequence through models of the paper's width and back, without the head, in float32:
    counted weights, gradients and bytes kept for the backward pass, and the peak of a device if the runs had one. The
    ratio is that of the counted total to the flat mixer's. The paper's numbers include driver and context; if it ran
    out of memory it prints none.
    """
    at = ["n_blocks", "context"]
    rows = memory.drop_duplicates(["model", *at])
    mixer = rows[rows["model"].eq(MIXER)].set_index(at)["total_bytes"].reindex(pd.MultiIndex.from_frame(rows[at]))
    printed = {MIXER: printed_table(paper["001-13"]).to_dict(), TRANSFORMER: printed_table(paper["001-14"]).to_dict()}
    said = [printed.get(model, {}).get((n, c)) for model, n, c in rows[["model", *at]].itertuples(index=False)]
    table = pd.DataFrame(
        {
            "layers": rows["n_blocks"],
            "context": rows["context"],
            "model": rows["model"],
            "weights_and_gradients_mb": (2 * rows["parameters_bytes"] / MIB).round(),
            "kept_mb": (rows["kept_bytes"] / MIB).round(),
            "counted_mb": (rows["total_bytes"] / MIB).round(),
            "over_flat_mixer": (rows["total_bytes"] / mixer.to_numpy()).round(2),
            "device_peak_mb": (rows["peak_bytes"] / MIB).round(),
            "paper_mb": said,
        }
    )
    order = {MIXER: 0, TRANSFORMER: 1, FUSED: 2}
    return table.sort_values(["layers", "context", "model"], key=lambda c: c.map(order) if c.name == "model" else c)
