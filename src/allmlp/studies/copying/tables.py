"""Tables of study 002."""

import numpy as np
import pandas as pd

from allmlp.judging.rules import part_rows
from allmlp.measurements.search_losses import milestones
from allmlp.report.seeds import last_rows, summary
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import Paper, table
from allmlp.spec.search_rules import choose, decisive_values
from allmlp.studies.copying.parts import SEARCH, sharpness, text_ends, variants
from allmlp.studies.shared.overlap import single_line


@table(
    "What each part of CausalRN is for",
    where="Figure 2",
    claims=["002-1", "002-2", "002-3"],
    parts=["comparison", "ablation"],
)
def ablations(falls: pd.DataFrame, iterations_to_99: pd.DataFrame) -> pd.DataFrame:
    """CausalRN as published and with one part changed: mean over seeds of the first step below half the plateau, of the
    steps from nine tenths of it to one over the steps before (below 1: a sudden fall), of the largest fall of the loss
    within 25 iterations, and of the step where it begins, with 95 % t intervals. Events that did not happen within the
    budget count with the budget.
    """
    rows = variants(falls)
    largest = variants(iterations_to_99)[["run", "fall_nats", "fall_step"]]
    return summary(
        rows.assign(sharpness_1=sharpness(rows)).merge(largest, on="run"),
        ["variant"],
        seeds=("run", "nunique"),
        reached_99=("reached", "sum"),
        budget=("budget", "max"),
        steps_to_half="to_half_steps",
        fall_over_plateau="sharpness_1",
        largest_fall_nats="fall_nats",
        at_step="fall_step",
    )


@table(
    "Learning rates: iterations to 99 % in the search",
    where="Appendix D, whose rates are for width 192",
    claims=["002-1", "002-2", "002-3", "002-4", "002-5", "002-own-4"],
    parts=[SEARCH],
)
def learning_rates(falls: pd.DataFrame) -> Rows:
    """Geometric mean over the search's seeds, which nothing else uses, of the iterations to 99 % at each rate; a run
    that does not get there counts with the budget. In brackets how many got there; without any, the steps to a tenth,
    a half or nine tenths of the plateau choose the rate. Rates whose paired difference from
    the best is within its standard error tie; the middle one is chosen, never one beside a rate at which a run
    diverged. edge: the best or the chosen rate is the lowest or the highest that was tried.
    """
    search = part_rows(falls, SEARCH)
    for (length, model, variant), rows in search.groupby(["string_length", "model", "variant"], sort=False):
        rows = rows.sort_values("seed", kind="stable")
        of_rates = {rate: rows[rows["learning_rate"].eq(rate)] for rate in sorted(rows["learning_rate"].unique())}
        reached = {rate: [milestones(row) or () for row in of.to_dict("records")] for rate, of in of_rates.items()}
        chosen = choose(decisive_values(reached))
        cells = {f"at_{rate:g}": _arrivals(of_rate) for rate, of_rate in of_rates.items()}
        edge = "edge" if chosen.edge else ""
        setting = {"string_length": length, "model": model, "variant": variant, "budget": rows["budget"].max()}
        yield {**setting, "chosen": chosen.rate, "at": edge, **cells}


def _arrivals(rows: pd.DataFrame) -> str:
    """`212 (3 of 3)`."""
    mean = 2 ** np.log2(rows["iterations"].clip(lower=1)).mean()
    diverged = f", {n} diverged" if (n := int(rows["diverged"].sum())) else ""
    return f"{mean:.0f} ({int(rows['reached'].sum())} of {len(rows)}{diverged})"


@table("Copying as it is used", where="Section 3", claims=["002-4"])
def greedy_decoding(greedy_decoding: pd.DataFrame) -> pd.DataFrame:
    """Share of fresh strings that the trained models copy without an error, by greedy decoding, and given the true
    letters before each letter (the logged accuracy of training): mean over seeds, with the 95 % t interval of the
    first.
    """
    shown = summary(
        greedy_decoding,
        ["string_length", "model", "variant"],
        seeds=("run", "nunique"),
        strings_right="strings_1",
        strings_right_if_told=("told_strings_1", "mean"),
        letters_right=("letters_1", "mean"),
        letters_right_if_told=("told_letters_1", "mean"),
    )
    return shown.rename(columns={"strings_right_low": "low", "strings_right_high": "high"})


@table(
    "Images: the end of training",
    where="Figure 7",
    claims=["002-8", "002-9", "002-own-3"],
    parts=["images"],
)
def image_ends(image_curve: pd.DataFrame, heat_shares: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """Loss and accuracy on held-out images after the last step, mean over seeds and 95 % t interval. Heat: the share of
    the class token's heat in the middle of an image, less the middle's share of the area, mean over test images and
    seeds; networks without relations have none. Weights are all but positions and head; operations are those of the
    whole training, forward and backward, counted. The paper gives drawings without numbers.
    """
    return _image_ends(image_curve, heat_shares, cost)


@table("Photographs: the end of training", claims=["002-own-6", "002-own-7"], parts=["photographs"])
def photograph_ends(image_curve: pd.DataFrame, heat_shares: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """Loss and accuracy on the 10,000 test photographs of CIFAR-10 after the last step, mean over seeds and 95 % t
    interval. Heat: the share of the class token's heat in the middle of a photograph, less the middle's share of the
    area; networks without relations have none. Weights are all but positions and head; operations are those of the
    whole training, counted.
    """
    return _image_ends(image_curve, heat_shares, cost)


def _image_ends(image_curve: pd.DataFrame, heat_shares: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    spent = cost[["run", "non_embedding_parameters", "steps_done", "counted_flops"]]
    beyond = (heat_shares["centre_share_1"] - heat_shares["area_share_1"]).rename("heat")
    heat = beyond.groupby([heat_shares["corpus"], heat_shares["model"]]).mean()
    shown = summary(
        last_rows(image_curve).merge(spent, on="run").join(heat, on=["corpus", "model"]),
        ["corpus", "model"],
        seeds=("run", "nunique"),
        test_nats="test_nats",
        test_accuracy_1="test_accuracy_1",
        heat_beyond_area_1=("heat", "first"),
        weights=("non_embedding_parameters", "first"),
        steps=("steps_done", "max"),
        counted_flops=("counted_flops", "max"),
    )
    short = {"test_nats": "nats", "test_accuracy_1": "accuracy"}
    ends = {f"{of}_{end}": f"{name}_{end}" for of, name in short.items() for end in ("low", "high")}
    return shown.rename(columns=ends)


@table("Iterations to 99 % accuracy", where="Figure 4", claims=["002-5"], parts=["comparison"], also=["long"])
def iterations_to_99(iterations_to_99: pd.DataFrame) -> pd.DataFrame:
    """First iteration with 99 % of the tokens of a batch right: mean over seeds and 95 % t interval. A run that did not
    reach it counts with its budget, so the mean is then a lower bound. Also the largest fall of the loss within 25
    iterations; a sudden fall is near the plateau's height of about 3 nats.
    """
    shown = summary(
        iterations_to_99,
        ["string_length", "model"],
        seeds=("run", "nunique"),
        reached=("reached", "sum"),
        budget=("budget", "max"),
        iterations="iterations",
        fall="fall_nats",
    )
    return shown.rename(columns={f"fall{end}": f"fall{end}_nats" for end in ("", "_low", "_high")})


@table("Operations against length", where="Equation 5", claims=["002-11"])
def operations(operations: pd.DataFrame) -> Rows:
    """Counted operations of a forward and backward pass over one sequence, and of one more token after a sequence of
    this length: matrix products and pairs of the relation by their size, all others by the numbers that they write. The
    exponents are the slopes of their logarithms over the logarithm of the length.
    """
    for model, rows in operations.groupby("model"):
        row: dict[str, object] = {"model": model}
        for kind in ("training", "generation"):
            row |= {f"{kind}_{length}": count for length, count in zip(rows["length"], rows[kind], strict=True)}
            slope = np.polyfit(np.log(rows["length"]), np.log(rows[kind]), 1)[0]
            row[f"{kind}_exponent"] = round(float(slope), 6) + 0.0  # a constant's: 0 on any machine
        yield row


@table("Weights at the paper's size", where="Appendix D", claims=["002-10"])
def parameter_counts(parameter_counts: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """Weights of blocks and classifier head, as the paper counts, and all weights, embeddings among them."""
    named = parameter_counts["model"].str.replace("-", "_") + "_parameters_millions"
    shown = parameter_counts.assign(paper_millions=named.map(dict(paper["002-10"])))
    return shown[["model", "blocks_and_head", "paper_millions", "total"]]


@table(
    "Text by characters: the loss at the end",
    where="Figure 6, left",
    claims=["002-7", "002-own-2"],
    parts=["text"],
)
def text_losses(text_curve: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """Loss on held-out documents after the last step: mean over seeds and 95 % t interval, in nats and in bits per byte
    of text, and the entropy of the text where it is known. Weights are those of the blocks, and all of them; operations
    are those of the whole training, forward and backward, counted. The paper gives a drawing without numbers.
    """
    return _text_losses(text_curve, cost)


@table("Novels by characters: the loss at the end", claims=["002-own-5"], parts=["novels"])
def novel_losses(text_curve: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """Loss on held-out passages of 26 English novels after the last step: mean over seeds and 95 % t interval, in nats
    and in bits per byte. Weights are those of the blocks, and all of them; operations are those of the whole training,
    forward and backward, counted. No window of text was read twice.
    """
    return _text_losses(text_curve, cost).drop(columns="entropy_bits_per_byte")  # nobody knows that of a novel


def _text_losses(text_curve: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    spent = cost[["run", "parameters", "non_embedding_parameters", "steps_done", "counted_flops"]]
    shown = summary(
        text_ends(text_curve).merge(spent, on="run"),
        ["corpus", "model"],
        seeds=("run", "nunique"),
        nats_per_byte="nats_per_byte",
        bits_per_byte="validation_bits_per_byte",
        entropy_bits_per_byte=("floor_bits_per_byte", "first"),
        weights=("non_embedding_parameters", "first"),
        weights_with_embeddings=("parameters", "first"),
        steps=("steps_done", "max"),
        counted_flops=("counted_flops", "max"),
    )
    shown = shown.drop(columns=["bits_per_byte_low", "bits_per_byte_high"])
    return shown.rename(columns={"nats_per_byte_low": "low", "nats_per_byte_high": "high"})


@table("What the models write", where="Figure 6, right", claims=["002-7"], parts=["text"])
def text_samples(text_samples: pd.DataFrame) -> pd.DataFrame:
    """The first sample of the first seed of each model, after the paper's prompt, at the temperature of the published
    code (the paper states none). Means over all samples and seeds: the share of words that occur in the searched
    training text, and the longest part that occurs there word for word, in bytes. One changed bit of a weight changes a
    sample, so other machines write other words. The paper prints two samples of its Linear CausalRN.
    """
    rows = text_samples.assign(text=text_samples["text"].map(single_line))
    return (
        rows.sort_values(["seed", "sample"])
        .groupby("model", as_index=False)
        .agg(
            **{name: (name, "first") for name in ("corpus", "temperature_1", "prompt", "text")},
            samples=("sample", "size"),
            known_words_1=("known_words_1", "mean"),
            longest_copy_bytes=("longest_copy_bytes", "mean"),
        )
    )
