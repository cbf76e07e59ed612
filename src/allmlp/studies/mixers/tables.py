"""Tables of study 001: trainings, retrieval, representation and generation, and what needs no training."""

import re

import numpy as np
import pandas as pd

from allmlp.judging.rules import part_rows
from allmlp.judging.statistics import t_interval
from allmlp.report.names import display
from allmlp.report.seeds import aggregate_seeds, summary
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import Paper, table
from allmlp.studies.mixers.budgets import AGAINST_FLAT, MODEL, curves, differences, ends
from allmlp.studies.mixers.matcher_settings import MATCHER_SEARCH, PART
from allmlp.studies.mixers.matching import readings
from allmlp.studies.mixers.names import FLAT, SEARCH, TRAINING
from allmlp.studies.mixers.parts import SETTING, search_rows, setting_names
from allmlp.studies.mixers.prompts import PRINTED, PROMPTS
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIB, MIXER, TRANSFORMER, printed_table
from allmlp.studies.shared.overlap import single_line
from allmlp.studies.shared.searched import chosen_rate


@table(
    "Every model beside the flat mixer, by what is held equal",
    where="tables and text of every section on training",
    claims=["001-7", "001-8", "001-10", "001-11", "001-15", "001-17", "001-18", "001-19", "001-20", "001-own-1"],
    parts=[TRAINING],
)
def budgets(learning_curve: pd.DataFrame) -> pd.DataFrame:
    """Held-out loss of each model minus that of the flat mixer of the same width, depth and padding (nats, paired by
    seed; below 0 the model is ahead), at equal training steps, at equal time on one device, and at equal counted
    operations, with 95 % t intervals. There are three columns because the article's unit of compute, hours of one card,
    hides which of them decides; an empty cell means that the runs are not comparable in this unit. Seconds and FLOPs of
    one step over the flat mixer's, seconds by the benchmark if it timed all models, else the median over seeds.
    Parallel matrices without a GELU, if they were run, add up to one matrix and are applied as one, so their steps cost
    less here than in the article (E001-18). The hybrid as published, if it was run, sees under left padding the tokens
    that it has to predict (E001-10).
    """
    rows, found = differences(learning_curve), []
    of_model = dict(list(curves(part_rows(learning_curve, TRAINING)).groupby(MODEL, sort=False)))
    compared = rows.drop_duplicates("setting")[MODEL].itertuples(index=False, name=None)
    for key in [*(key for key in of_model if key[0] == FLAT), *compared]:
        ours, flat = of_model[key], of_model[FLAT, *key[1:]]
        row = {"model": setting_names(ours).iloc[0], **_end_means(ours)}
        row |= {f"{of}_over_flat": _step_cost(ours, of) / _step_cost(flat, of) for of in ("seconds", "flops")}
        for unit, name in AGAINST_FLAT.items() if key[0] != FLAT else ():
            interval = t_interval(rows.loc[rows["setting"].eq(row["model"]), unit].to_numpy())
            row |= {f"{name}_nats": interval.mean, f"{unit}_low": interval.low, f"{unit}_high": interval.high}
        found.append(row)
    return pd.DataFrame(found).replace([float("inf"), float("-inf")], float("nan"))


IN_TABLES = {  # claim with a printed table -> its models: their name, and ours
    "001-5": ("transformer, 16 heads", ["llama-16"]),
    "001-6": ("flat mixer", [FLAT]),
    "001-7": ("expanded mixer", ["expanded"]),
    "001-15": ("transformer, by heads", ["llama-16", "llama-8", "llama-4", "llama-2"]),
}
OF_TABLE = re.compile(r"(train|validation)_loss_(\w+)_nats")


@table(
    "Losses by width and by heads",
    where="tables of Scaling Properties and of the section on fewer heads",
    claims=list(IN_TABLES),
    parts=[TRAINING],
)
def losses(learning_curve: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """The article's four tables of losses after 12 hours of one card, and the same models here at the end of training:
    mean over seeds, in nats per token. d is the width, b the batch where the article has two, h the number of heads.
    Models, texts and hours here are smaller, so only the order of models can be compared, not the numbers.
    """
    ours, found = part_rows(learning_curve, TRAINING), []
    for claim, (model, variants) in IN_TABLES.items():
        printed: dict[str, dict[str, float]] = {}
        for key, value in paper[claim].items():
            if cell := OF_TABLE.fullmatch(key):
                printed.setdefault(cell[2].replace("_", ", "), {})[f"{cell[1]}_nats"] = value
        found += [{"model": model, "source": "paper", "size": size, **losses} for size, losses in printed.items()]
        here = ours[ours["variant"].isin(variants) & ours["padding"].eq("right")]
        for (variant, _), rows in here.groupby(["variant", "size"], sort=False):
            size = f"{display(str(variant))}, d{rows['d_model'].iloc[0]}, {rows['n_blocks'].iloc[0]} blocks"
            means = {f"{name}_nats": ends(rows, f"{name}_nats").mean() for name in ("train", "validation")}
            steps, seeds = int(rows["step"].max()), rows["seed"].nunique()
            found.append({"model": model, "source": "here", "size": size, **means, "steps": steps, "seeds": seeds})
    return pd.DataFrame(found).astype({"steps": "Int64", "seeds": "Int64"})


def _end_means(rows: pd.DataFrame) -> dict[str, object]:
    """Seeds, steps, learning rate, and the mean losses at the end, of one model."""
    losses = {f"{name}_at_end_nats": ends(rows, f"{name}_nats").mean() for name in ("train", "validation")}
    steps, rate = int(rows["step"].max()), rows["learning_rate"].iloc[0]
    return {"seeds": rows["seed"].nunique(), "steps": steps, "rate": rate, **losses}


def _step_cost(rows: pd.DataFrame, unit: str) -> float:
    """Seconds or counted FLOPs of one step of one model."""
    after = rows[rows["step"].gt(0)].iloc[0]
    return float(after[unit] / after["step"])


@table("Learning rates: what the search of every model found", parts=[SEARCH])
def learning_rates(cost: pd.DataFrame) -> Rows:
    """Held-out loss (nats) at the end of the search's runs, with the same rates, steps and seeds for every model,
    size and text. Models trained with both paddings are searched with one of them. The seeds are used for nothing
    else. edge: the chosen or the best rate is the smallest or largest tried, so a better one may lie beyond. Of
    rates that tie within a standard error the middle one is chosen where the search has that criterion, else the
    best. The article tunes by hand; a rate of 0.005, which it names twice, occurs in none of its published trainers
    (E001-6).
    """
    rows = search_rows(part_rows(cost, SEARCH))
    rows = rows.assign(model=setting_names(rows) + rows["windows"].map({True: ", windows", False: ""}))
    for _, of_model in rows.groupby(SETTING, sort=False):
        chosen = of_model[of_model["chosen"]].iloc[0]
        losses = {f"at_{rate:g}": loss for rate, loss in zip(of_model["rate"], of_model["loss"], strict=True)}
        edge = "edge" if chosen["at_edge"] else ""
        steps = int(chosen["steps_done"])
        yield {"model": chosen["model"], "steps": steps, "chosen": chosen["rate"], "at": edge, **losses}


@table("Hybrids: who sees later tokens", where="Transformer mixer hybrids", claims=["001-19"], parts=[TRAINING])
def leaks(leak: pd.DataFrame) -> pd.DataFrame:
    """Largest change of a trained hybrid's logits before a place where all later tokens of the text are replaced, over
    held-out rows and seeds, and the share of rows with any change; a causal model has exactly 0. As published,
    attention re-packs rows that are padded on the left, but the mask of the next mixing does not. The article's
    conclusion that hybrids are the most efficient models does not follow from its own numbers, which were made with
    this leak, as its body says (E001-10).
    """
    table = summary(
        leak,
        ["variant", "padding"],
        seeds=("run", "nunique"),
        rows=("rows", "sum"),
        rows_changed_1=("changed_share_1", "mean"),
        largest_change_1=("largest_change_1", "max"),
    )
    return table.rename(columns={"variant": "model"})


@table(
    "A training loss above the held-out loss",
    where="Masked Mixers outperform early CLM Transformers",
    claims=["001-20"],
    parts=[TRAINING],
)
def dropout(dropout: pd.DataFrame) -> pd.DataFrame:
    """Mean loss (nats per token) of a trained early GPT on its last training batches, with its dropout as in training
    and without, and on held-out documents; mean over seeds and 95 % t interval. The article prints a training loss
    above the test loss: only the training loss includes dropout (E001-8).
    """
    values = {"with": "with_dropout_nats", "without": "without_dropout_nats", "held_out": "validation_nats"}
    table = summary(dropout, ["variant"], seeds=("run", "nunique"), **values)
    return table.rename(columns={"variant": "model"})


@table(
    "Matchers on embeddings",
    where="Accurate Representation and Retrieval, losses given in the text",
    claims=["001-22", "001-23", "001-24", "001-25", "001-26", "001-27", "001-own-5", "001-own-6", "001-own-8"],
    parts=[PART],
)
def retrieval(retrieval: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """Lowest loss on held-out pairs over training, with its 95 % t interval over seeds, the loss at the end, and the
    share of held-out queries with their own text first at the end. Chance is the logarithm of the number of candidates.
    Learning rate and normalisation are those of each setting's search, if the scale searches. Shared words: share of a
    query's content words that are in its text, counted on the tokens that the embedder reads. Truncated: share of texts
    and of queries longer than the embedder's context; only their last tokens are read.
    """
    by = ["model", "embedder", "width", "padding", "position", "pairs", "training_queries", "candidates"]
    table = summary(
        retrieval.merge(cost[["run", "parameters", "steps_done"]], on="run"),
        by,
        seeds=("run", "nunique"),
        steps=("steps_done", "max"),
        chance_nats=("chance_nats", "first"),
        lowest_nats="lowest_nats",
        last_nats=("last_nats", "mean"),
        train_nats=("train_nats", "mean"),
        top_1="top_1",
        learning_rate=("learning_rate", "first"),
        normalisation=("normalisation", "first"),
        shared_words_1=("shared_words_1", "first"),
        truncated_1=("truncated_1", "first"),
        truncated_queries_1=("truncated_queries_1", "first"),
        matcher_weights=("parameters", "first"),
    )
    table = table.rename(columns={"lowest_nats_low": "low", "lowest_nats_high": "high"})
    return table.sort_values(["model", "pairs", "candidates", "lowest_nats"])


@table("Learning rates of matchers: what the search of every setting found", parts=[MATCHER_SEARCH])
def matcher_learning_rates(cost: pd.DataFrame) -> Rows:
    """Held-out loss (nats) at the end of the search's runs, mean over seeds that are used for nothing else. edge: the
    chosen or the best rate is the smallest or largest tried, so a better one may lie beyond. Of rates that tie within a
    standard error the middle one is chosen.
    """
    cost = cost.assign(rate=cost["learning_rate"].astype(float))
    for setting, rows in cost.groupby(["model", "embedder", "position", "words"], sort=False):
        choice, steps = chosen_rate(rows), int(rows["steps_done"].iloc[0])
        loss = rows["validation_nats"].where(~rows["diverged"].astype(bool))
        means = loss.groupby(rows["rate"]).agg(lambda of: of.mean(skipna=False))
        about = dict(zip(("model", "embedder", "position", "words"), setting, strict=True))
        losses = {f"at_{rate:g}": mean for rate, mean in means.items()}
        yield {**about, "steps": steps, "chosen": choice.rate, "at": "edge" if choice.edge else "", **losses}


@table(
    "What reads the embeddings how well",
    where="Accurate Representation and Retrieval, of which it gives no accuracy",
    claims=["001-21", "001-own-5", "001-own-6", "001-own-7"],
    parts=[PART],
)
def retrieval_probes(retrieval: pd.DataFrame, distances: pd.DataFrame, embedding_probes: pd.DataFrame) -> pd.DataFrame:
    """Share of held-out queries with their own text first, all on the same draws: mean over seeds and 95 % t interval.
    Probes are closed-form ridge regressions: `text` and `query` predict the words of the query from one side's
    embedding and get those of the other side, `both` gets none, `map` is a linear map from text to query embeddings.
    Distances are between raw embeddings. Chance is one over the number of candidates.
    """
    by = ["words", "embedder", "padding", "position", "candidates", "reader"]
    table = aggregate_seeds(readings(retrieval, distances, embedding_probes), by, "top_1")
    return table.rename(columns={"mean": "top_1", "n": "seeds"})


@table(
    "Does a matcher read its query?",
    where="Accurate Representation and Retrieval, and its public code",
    claims=["001-27"],
    parts=[PART],
)
def query_effect(query_effect: pd.DataFrame) -> pd.DataFrame:
    """Largest change of scores (logits) when one query of a batch is replaced, over all runs of a matcher: its own
    candidates' scores, and those of its neighbours in the batch. The transformer as published, if it was run, attends
    across the batch and not along the candidates; scores that do not depend on a query cannot be learnt from it.
    """
    return summary(
        query_effect,
        ["model"],
        runs=("run", "nunique"),
        smallest_own_change=("own_change_1", "min"),
        largest_own_change=("own_change_1", "max"),
        largest_change_of_others=("others_change_1", "max"),
    )


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


@table("Forward passes of a search by tournament", where="Accurate Representation and Retrieval", claims=["001-30"])
def tournament(tournament_passes: pd.DataFrame) -> pd.DataFrame:
    """Counted passes of the matcher to find one of n texts in groups, passes over n, the limit 1 / (group - 1), and the
    n log n passes of the article (logarithm to the base of the group). Passes over n fall towards the limit: the number
    of passes grows as n (E001-13).
    """
    rows = tournament_passes.drop_duplicates(["group", "texts"])
    n_log_n = rows["texts"] * np.log(rows["texts"]) / np.log(rows["group"])
    return rows.assign(n_log_n=n_log_n)[["group", "texts", "passes", "passes_per_text_1", "limit_1", "n_log_n"]]
