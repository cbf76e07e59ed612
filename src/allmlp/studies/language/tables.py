"""Tables of study 000."""

import numpy as np
import pandas as pd

from allmlp.judging.rules import part_rows
from allmlp.judging.statistics import t_interval
from allmlp.report.seeds import aggregate_seeds, last_rows, summary
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import table
from allmlp.studies.language import isoflop
from allmlp.studies.language.classification import CLASSES, share_column
from allmlp.studies.language.crossings import BOTH
from allmlp.studies.language.isoflop import BUDGET, SIZE, minima
from allmlp.studies.language.keywords import RANDOM
from allmlp.studies.language.parts import SETTINGS
from allmlp.studies.language.verdicts.forms import READING
from allmlp.studies.language.verdicts.initial_weights import deciding_rows
from allmlp.studies.language.verdicts.words import DECIDING
from allmlp.studies.shared.overlap import single_line


def sort_by_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with a `reading` and a `class`, in the order of Appendix H."""
    order = {name: place for place, name in enumerate(CLASSES)}
    return rows.sort_values(["reading", "class"], key=lambda of: of.map(order).fillna(of), ignore_index=True)


@table("Energy of the neurons of each class", where="Figures 4, 6 and 12", claims=["000-6", "000-8"], parts=["neurons"])
def class_energies(class_energies: pd.DataFrame) -> pd.DataFrame:
    """After the last step, means over the neurons of each class, then over seeds with 95 % t intervals: number of
    neurons, share of energy in the most energetic four positions in a row, in the last three positions, constant in
    time (frequency 0), and in the three lowest frequencies of the orthonormal DCT-II. Shares are empty for a seed
    without a neuron of the class.
    """
    shown = summary(
        class_energies[class_energies["moment"] == "end"],
        ["reading", "class"],
        seeds=("run", "nunique"),
        neurons="neurons",
        four_positions_1="window_energy_1",
        last_three_1="recent_energy_1",
        constant_1="constant_energy_1",
        three_frequencies_1="low_energy_1",
    )
    return sort_by_class(shown)


@table(
    "Which reading of the thresholds sorts neurons whose class is known",
    where="Appendix H",
    claims=["000-19"],
    parts=["untrained"],
)
def constructed_neurons(constructed_neurons: pd.DataFrame) -> pd.DataFrame:
    """Share of constructed neurons that each reading of Appendix H's undefined norms classifies correctly, at the width
    with the lowest share. The neurons are n-grams of one to four recent positions, equal rows with relative noise, and
    fresh initial weights, which belong to no class. Rows: raw norms, or over the neuron's largest. Variance: of each
    row over its own norm, over the mean norm, or over the root mean square; threshold as printed or scaled to the
    width. `worst_1` is the lowest share of the row.
    """
    kinds = list(constructed_neurons["kind"].unique())
    lowest = constructed_neurons.groupby([*READING, "kind"])["right_share_1"].min().unstack()[kinds]
    shown = lowest.assign(worst_1=lowest.min(axis=1)).sort_values("worst_1", ascending=False, kind="stable")
    return shown.reset_index().rename_axis(columns=None)


@table("What a DCT neuron can express", where="Appendix C.1", claims=["000-18"])
def dct_identities(dct_identities: pd.DataFrame) -> pd.DataFrame:
    """Largest difference, in float64 on random sequences, between a DCT neuron and its target: a random linear function
    of the last k tokens (window t = k), or a linear function of the mean of all tokens (k = 1, t = T). Also the counted
    weights of the neuron. The identities hold only with the frequencies 0 to k - 1 over a window of exactly t tokens
    (E000-5).
    """
    neuron = ["identity", "window", "frequencies", "d_model"]
    return dct_identities.drop_duplicates(neuron)[[*neuron, "weights", "difference_1"]]


@table("Keywords of neurons", where="Figures 13 and 14", claims=["000-11"], parts=["neurons"])
def keywords(keywords: pd.DataFrame) -> pd.DataFrame:
    """For the first seed, after the last step: the six neurons of least variance over time (bag-of-words, by their mean
    row), the six with the least row norm (n-gram, by their row of largest norm), neurons of the class first, and six
    random vectors. For each: the ten tokens nearest by dot product with the input embedding (the paper's text has five,
    E000-7), their coherence (mean NPMI in held-out documents), and the model's next token after each of the first five,
    with all other inputs zero. A space within a token is shown as ▁, the end of a document as ∎.
    """
    rows = keywords[(keywords["seed"] == keywords["seed"].min()) & (keywords["nearness"] == DECIDING)]
    random = rows["class"] == RANDOM
    neuron = rows["neuron"].astype(str).mask(random, "")
    in_class = rows["in_class"].gt(0).map({True: "yes", False: "no"}).mask(random, "")
    shown = rows.assign(neuron=neuron, in_class=in_class)
    return shown[["class", "neuron", "in_class", "keywords", "coherence_1", "completions"]]


@table(
    "Classes of first-layer neurons at the end of training",
    where="Figure 4, left, at its right end",
    claims=["000-5", "000-10", "000-12"],
    parts=["neurons"],
)
def neuron_classes(neuron_classes: pd.DataFrame) -> pd.DataFrame:
    """Share of first-layer neurons in each class of Appendix H after the last step, under each reading of its norms
    (E000-2, E000-3); mean over seeds and 95 % t interval. The paper gives a drawing without numbers.
    """
    last = last_rows(neuron_classes)
    shares = {"share_1": "mean", "low_1": "low", "high_1": "high", "seeds": "n"}
    parts = [aggregate_seeds(last, ["reading"], share_column(name)).assign(**{"class": name}) for name in CLASSES]
    found = sort_by_class(pd.concat(parts)).rename(columns={column: name for name, column in shares.items()})
    return found[["reading", "class", *shares]]


@table("DCT-MLPs and GPT-2s", where="Figure 9", claims=["000-13"], parts=["perplexity"])
def perplexities(perplexity: pd.DataFrame) -> pd.DataFrame:
    """Weights without and with embeddings, training tokens and perplexity per token on held-out documents at the end of
    training: mean over seeds and 95 % t interval.
    """
    rows = part_rows(perplexity, "perplexity", models=BOTH)
    means = aggregate_seeds(rows, ["model", "tokens", "n_blocks", "weights", "all_weights"], "perplexity_1")
    names = {"n_blocks": "blocks", "mean": "perplexity_1", "low": "low_1", "high": "high_1", "n": "seeds"}
    columns = ["model", "blocks", "weights", "all_weights", "tokens", "perplexity_1", "low_1", "high_1", "seeds"]
    return means.rename(columns=names)[columns]


@table("What the models write", where="Appendix A", claims=["000-17"])
def samples(samples: pd.DataFrame) -> pd.DataFrame:
    """The first seed's continuation of each of the paper's six prompts, for each model, at the paper's temperature.
    Means over seeds: the share of trigrams of tokens that occur in the training text; the longest part that occurs
    there word for word, in bytes; how much more likely the prompt's last word is in context than after only the word
    before it, in nats. One changed bit of a weight changes a sample, so other machines write other words.
    """
    rows = samples.assign(text=samples["text"].map(single_line)).sort_values("seed", kind="stable")
    shown = rows.groupby(["prompt", "model", "d_model", "d_mlp"], as_index=False).agg(
        corpus=("corpus", "first"),
        prompt_text=("prompt_text", "first"),
        text=("text", "first"),
        seeds=("seed", "nunique"),
        known_trigrams_1=("known_trigrams_1", "mean"),
        longest_copy_bytes=("longest_copy_bytes", "mean"),
        context_gain_nats=("context_gain_nats", "mean"),
    )
    return shown.drop(columns="prompt")


@table("Exponents of compute", where="Figure 1, centre and right", claims=["000-2", "000-own-2"], parts=["scaling"])
def scaling_exponents(scaling: pd.DataFrame) -> pd.DataFrame:
    """Exponents a of the best size and b of the best number of supervised targets in compute, by a parabola for each
    budget; only minima inside the sizes tried are used. Mean over seeds with 95 % t interval. Also the percentile
    interval of a bootstrap over runs within each budget and size, with the share of draws that gave an exponent; this
    interval is too narrow at a few seeds, and decides nothing. Three counts: all weights and C = 6 N D, as in the
    paper; weights without embeddings, same C; all weights, and in place of C the counted operations of the best run.
    Empty if fewer than two budgets of a seed are left. With all weights and C = 6 N D, a + b is 1 by construction.
    """
    spent = minima(scaling).groupby(["model", BUDGET])["best_counted_flops"].mean()
    counted = scaling.assign(**{BUDGET: spent.loc[pd.MultiIndex.from_frame(scaling[["model", BUDGET]])].to_numpy()})
    kinds = {
        "all weights, 6 N D": (scaling, SIZE),
        "without embeddings, 6 N D": (scaling, "non_embedding_parameters"),
        "all weights, counted operations": (counted, SIZE),
    }
    found = []
    for kind, (rows, size) in kinds.items():
        draws = isoflop.bootstrap(rows, size).set_index("model")
        for model, laws in isoflop.exponents(minima(rows, size)).groupby("model"):
            drawn = draws.loc[str(model)]
            row: dict[str, object] = {"counted": kind, "model": model, "seeds": len(laws)}
            row["fewest_budgets"] = int(laws["budgets"].min())
            for name, letter in (("size", "a"), ("data", "b")):
                interval = t_interval(laws[f"{name}_1"].to_numpy())
                row |= {letter: interval.mean, f"{letter}_low": interval.low, f"{letter}_high": interval.high}
                row |= {f"{letter}_{end}_bootstrap": drawn[f"{name}_{end}"] for end in ("low", "high")}
            found.append({**row, "draws_1": drawn["share_1"]})
    return pd.DataFrame(found).replace([float("inf"), float("-inf")], float("nan"))


@table(
    "The best size of each budget",
    where="Figure 1, left, and Figure 3",
    claims=["000-1", "000-2", "000-3"],
    parts=["scaling"],
)
def scaling_minima(scaling: pd.DataFrame) -> Rows:
    """For each budget C = 6 N D: the sizes tried; the vertex of the parabola in log N through the means over seeds, and
    on which side of the sizes it lies (a vertex outside is left out of every power law; nowhere: the parabola opens
    downwards); the share of seeds with a vertex inside; the lowest mean loss with its 95 % t interval over seeds; the
    size with this loss, how often it saw each sequence, and its counted operations over C. The paper gives drawings
    without numbers.
    """
    for _, rows in scaling.groupby(["model", BUDGET]):
        mean, each = minima(isoflop.pool_seeds(rows)).iloc[0], minima(rows)
        losses = aggregate_seeds(rows, [SIZE], "validation_nats").sort_values("mean", kind="stable").iloc[0]
        best = rows[rows[SIZE] == losses[SIZE]]
        tried = {"sizes": rows[SIZE].nunique(), "smallest": rows[SIZE].min(), "largest": rows[SIZE].max()}
        inside = each["side"].eq("inside").mean()
        vertex = {"vertex": mean["n_opt"], "vertex_is": mean["side"], "seeds_inside_1": inside}
        lowest = {"lowest_nats": losses["mean"], "low": losses["low"], "high": losses["high"]}
        head = {"model": mean["model"], "budget_flops": mean[BUDGET], "seeds": rows["seed"].nunique()}
        spent = {"at_weights": int(losses[SIZE]), "epochs": best["epochs_1"].mean()}
        over = float(np.mean(best["counted_flops"] / best[BUDGET]))
        yield {**head, **tried, **vertex, **lowest, **spent, "counted_over_budget": over}


@table(
    "The MLP with one thing changed",
    where="Figure 11",
    claims=["000-15", "000-own-3", "000-own-4", "000-own-5"],
    parts=["variation"],
    also=["control"],
)
def variations(neuron_classes: pd.DataFrame, concentration: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """Every variation after its last step: corpus, context, hidden width, weight decay, standard deviation of the
    initial embeddings, and the e-foldings of the initial weights; mean over seeds with 95 % t intervals. The numbers
    are the shares of n-gram and of bag-of-words neurons (by the deciding reading), the medians over neurons of the
    constant energy before the last three rows and of the energy explained by these rows and one constant (all of it at
    a context of four tokens), and the loss on held-out documents.
    """
    numbers = last_rows(concentration)[["run", "constant_share_median_1", "window_share_median_1"]]
    numbers = numbers.merge(cost[["run", "validation_nats"]], on="run")
    return summary(
        last_rows(deciding_rows(neuron_classes)).merge(numbers, on="run"),
        list(SETTINGS),
        seeds=("run", "nunique"),
        wear_1=("wear_1", "mean"),
        n_gram_1="n_gram_share_1",
        bag_of_words_1="bag_of_words_share_1",
        constant_1="constant_share_median_1",
        explained_1="window_share_median_1",
        validation_nats="validation_nats",
    )
