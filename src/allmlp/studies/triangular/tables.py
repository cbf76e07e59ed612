"""Tables of study 004."""

import pandas as pd

from allmlp.report.seeds import summary
from allmlp.spec.exhibits import Paper, table
from allmlp.studies.shared.overlap import single_line
from allmlp.studies.triangular.early_steps import early_nats
from allmlp.studies.triangular.paper_numbers import OF_THE_PAPER
from allmlp.studies.triangular.parts import OF_VARIANTS, SEARCH, search_table


@table(
    "The search for learning rates",
    where="Methods and Materials, which name one rate",
    claims=["004-2", "004-4", "004-5", "004-7"],
    parts=[SEARCH],
)
def learning_rates(cost: pd.DataFrame) -> pd.DataFrame:
    """Held-out loss (nats per token) after the search's steps, a mean over the search's own seeds, for every learning
    rate; the variant's runs are trained with the chosen one: of the lowest loss, or, where the search has a criterion,
    the middle one of those that tie with it. `edge`: the chosen or the best rate is the lowest or the highest that was
    tried, so a better one may lie beyond it. The discounted mask hardly differs from the averaging one and shares
    its rate. `steps` is the same for all. A rate at which a run diverged, or that widened the grid of another variant,
    has no loss. Scales with one rate for all have no such table.
    """
    return search_table(cost)


WORDS = {
    "words_iterations": "meaningful words",
    "phrases_iterations": "some phrases",
    "sentences_iterations": "small sentences",
    "understanding_iterations": "understanding of the past context",
}
OF_SAMPLES = ["word_share_1", "pair_share_1", "four_word_share_1", "known_word_characters", "distinct_pairs"]


@table("What samples hold, iteration by iteration", where="Section 4", claims=["004-6"])
def milestones(milestones: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """Means over seeds for samples of the model in training: share of words, pairs and sequences of four words that
    occur in the training text (in four million characters of a longer one), mean length of correctly spelled words,
    different pairs of words, ends of sentences per 1,000 characters, and the reduction of held-out loss by the
    document's own context. The paper's words are given at the iterations that it names.
    """
    by_step = milestones.groupby("step")
    means = by_step[[*OF_SAMPLES, "sentence_ends", "context_nats"]].mean()
    words = {step: WORDS[key] for key, step in paper["004-6"].items()}
    return means.assign(seeds=by_step["seed"].nunique(), paper_says=means.index.map(words).fillna("")).reset_index()


@table("Which model has the printed number of weights", where="Methods and Materials", claims=["004-1"])
def parameter_counts(parameter_counts: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """Weights of three readings of the text at its printed sizes, the part of them above the diagonals of triangles,
    which is unused, and the paper's number (millions). The abstract has one triangle.
    """
    shown = parameter_counts[["reading", "parameters", "masked"]]
    return shown.assign(paper_millions=paper["004-1"]["parameters_millions"])


@table("What the models write, and what of it is copied", where="Figure 6", claims=["004-7"])
def samples(samples: pd.DataFrame) -> pd.DataFrame:
    """The first sample of the first seed of each part, and the paper's Figure 6. Between ⟦ and ⟧ is the longest run of
    words that occurs in the training text of the row's corpus, in eight million characters of a longer one (for the
    paper's sample also in the held-out text, because the paper holds nothing out). Also the number of words of the run,
    and the mean over all samples and seeds. One changed bit of a weight changes a sample, so other machines write other
    words.
    """
    keys, printed = ["part", "corpus"], samples["sample"] == OF_THE_PAPER
    rows = samples.assign(part=samples["part"].mask(printed, "the paper's Figure 6"))
    first = rows.sort_values([*keys, "seed", "sample"]).drop_duplicates(keys)
    means = rows.groupby(keys, as_index=False).agg(
        seeds=("seed", "nunique"), samples=("run", "size"), mean_copied_words=("copied_words", "mean")
    )
    paper = means["part"] == "the paper's Figure 6"  # the same text in all runs
    means.loc[paper, ["seeds", "samples"]] = 1
    written = [mark_copy(*run) for run in first[["text", "copied_from", "copied_to"]].itertuples(index=False)]
    first = first.assign(prompt=first["prompt"].map(single_line), written=list(map(single_line, written)))
    return first[[*keys, "prompt", "written", "copied_words"]].merge(means, on=keys)


def mark_copy(text: str, start: int, stop: int) -> str:
    """The text with ⟦ and ⟧ around its copied run."""
    return f"{text[:start]}⟦{text[start:stop]}⟧{text[stop:]}"


@table(
    "Variants of the model in numbers",
    where="Sections 2 and 3, which print no loss",
    **OF_VARIANTS,
)
def variants(learning: pd.DataFrame, loss_curve: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds with 95 % t intervals (empty for one seed), in nats per token: training loss over the beginning,
    the steps until the first variant of the seed is down to 1.95 nats per character, and held-out loss at the end; the
    learning rate; seconds per step on the machine that trained it; runs that diverged. {rates}
    """
    names = list(learning["variant"].unique())
    early = pd.Series(early_nats(loss_curve, *names).stack(), name="early_nats")
    return summary(
        learning.drop(columns="early_nats").join(early, on=["seed", "variant"]),
        ["variant"],
        corpus=("corpus", "first"),
        seeds=("run", "nunique"),
        learning_rate=("learning_rate", "median"),
        diverged=("diverged", "sum"),
        step_seconds=("step_seconds", "median"),
        early_nats="early_nats",
        end_nats="end_nats",
    )
