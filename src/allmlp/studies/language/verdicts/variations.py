"""Rules on runs with one setting changed (000-15, own claims). The unit is the seed."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_all, premise, undecided_finding
from allmlp.judging.statistics import Finding, judge_better, judge_equal
from allmlp.report.seeds import last_rows
from allmlp.spec.protocols import Evidence
from allmlp.studies.language.classification import STRICT
from allmlp.studies.language.parts import base_and_control, require_variations
from allmlp.studies.language.verdicts.classes import BAG_OF_WORDS, N_GRAM
from allmlp.studies.language.verdicts.initial_weights import deciding_rows, require_worn, withhold_fresh

CLASSES = {"n-gram": N_GRAM, "bag-of-words": BAG_OF_WORDS}
CONSTANT, EXPLAINED = "constant_share_median_1", "window_share_median_1"


def hardly_dependent(evidence: Evidence) -> Finding:
    """000-15: do the shares hardly depend on the width, and more on the context?"""
    rows, margin = last_rows(deciding_rows(evidence.table("neuron_classes"))), evidence.margin
    widths, contexts = require_variations(rows, "d_mlp"), require_variations(rows, "context")
    shortest = margin["window_tokens"] / (1 - STRICT.low_rows)  # of a shorter context the class leaves no such window
    contexts = contexts[contexts["context"] > shortest]
    wide = sorted(widths["d_mlp"].unique())[2:]
    of_width = dict(list(widths.groupby("d_mlp")))
    if len(wide) > 1:
        beyond = judge_all(
            {
                f"{name}, {second:,} and {first:,} neurons": judge_equal(
                    _paired_differences(of_width[second], of_width[first], column), margin["share_1"], unit="of neurons"
                )
                for name, column in CLASSES.items()
                for first, second in itertools.combinations(wide, 2)
            }
        )
    else:
        text = f"not judged: of the widths {list_values(widths['d_mlp'])} fewer than two are beyond the second"
        beyond = undecided_finding(text, widths["seed"].nunique(), "of neurons")
    of_contexts, of_widths = change(contexts, "context"), change(widths, "d_mlp")
    more = judge_better((of_contexts - of_widths).to_numpy(), 0.0, unit="of neurons")
    more = replace(
        more,
        text=f"{more.text}; {of_contexts.mean():.3g} over contexts of {list_values(contexts['context'])} tokens, "
        f"{of_widths.mean():.3g} over {list_values(widths['d_mlp'])} neurons",
    )
    parts = {"(a) converged over widths": beyond, "(b) more over contexts than over widths": more}
    return require_all_parts(
        {name: require_worn(part, pd.concat([widths, contexts]), margin) for name, part in parts.items()}
    )


def list_values(values: pd.Series) -> str:
    """The different values, in order."""
    return ", ".join(f"{value:g}" for value in sorted(values.unique()))


def change(rows: pd.DataFrame, setting: str) -> pd.Series:
    """Per seed, how far the n-gram share and the bag-of-words share of the largest setting are from those of the
    smallest one, the farther of the two. A range over all settings would grow with their number by noise alone."""
    values, shares = rows[setting], rows.set_index("seed")[[N_GRAM, BAG_OF_WORDS]]
    ends = (shares[values.eq(end).to_numpy()] for end in (values.max(), values.min()))
    return next(ends).sub(next(ends)).abs().max(axis=1, skipna=False)


def without_long_range(evidence: Evidence) -> Finding:
    """000-own-3: do bag-of-words neurons, and constant parts, need information beyond the sentence?"""
    base, dealt = base_and_control(_ends(evidence), "sentences")
    margin, fresh = evidence.margin, pd.concat([base, dealt])
    lost = judge_better(_paired_differences(base, dealt, BAG_OF_WORDS), margin["share_1"], unit="of neurons")
    constant = judge_better(
        _paired_differences(base, dealt, CONSTANT), margin["constant_share_1"], unit="of the energy"
    )
    enough = bool(base[BAG_OF_WORDS].min() >= margin["share_1"])
    lost = premise(lost, "some seed has too few bag-of-words neurons to lose", holds=enough, of="contradicted")
    parts = {"(a) fewer bag-of-words neurons": lost, "(b) less constant energy": constant}
    return require_all_parts({name: withhold_fresh(finding, fresh, margin) for name, finding in parts.items()})


def without_order(evidence: Evidence) -> Finding:
    """000-own-4: do n-gram neurons need the order of words, and does the constant part grow without it?"""
    base, shuffled = base_and_control(_ends(evidence), "words")
    margin, fresh = evidence.margin, pd.concat([base, shuffled])
    halved = base.assign(**{N_GRAM: base[N_GRAM] / 2})
    lost = judge_better(_paired_differences(halved, shuffled, N_GRAM), 0.0, unit="of neurons, half minus what is left")
    constant = judge_better(
        _paired_differences(shuffled, base, CONSTANT), margin["constant_share_1"], unit="of the energy"
    )
    enough = bool(base[N_GRAM].min() >= margin["share_1"])
    lost = premise(lost, "some seed has too few n-gram neurons to lose", holds=enough, of="contradicted")
    parts = {"(a) n-gram neurons halved": lost, "(b) more constant energy": constant}
    return require_all_parts({name: withhold_fresh(finding, fresh, margin) for name, finding in parts.items()})


def wear_and_start(evidence: Evidence) -> Finding:
    """000-own-5: do e-foldings of decay, and the size of the initial embeddings, decide how many neurons look like a
    class?"""
    rows, margin = require_variations(_ends(evidence), "weight_decay", "embedding_std"), evidence.margin
    rows = rows.assign(sorted=rows[N_GRAM] + rows[BAG_OF_WORDS])
    decay, std = rows["weight_decay"], rows["embedding_std"]
    small, weak = std == std.min(), decay == decay.min()
    strong = decay == decay.max()
    sorted_by_decay = _paired_differences(rows[small & strong], rows[small & weak], "sorted")
    sorted_by_start = _paired_differences(rows[weak & (std == std.max())], rows[small & weak], "sorted")
    explained = _paired_differences(rows[small & strong], rows[small & weak], EXPLAINED)
    parts = {
        "(a) more after more decay": judge_better(sorted_by_decay, margin["share_1"], unit="of neurons"),
        "(b) more from large embeddings": judge_better(sorted_by_start, margin["share_1"], unit="of neurons"),
        "(c) more energy explained": judge_better(explained, margin["energy_share_1"], unit="of the energy"),
    }
    return require_all_parts(parts)


def _ends(evidence: Evidence) -> pd.DataFrame:
    """Shares by the deciding reading and threshold-free numbers after each run's last step, a row per run."""
    numbers = last_rows(evidence.table("concentration"))[["run", CONSTANT, EXPLAINED]]
    return last_rows(deciding_rows(evidence.table("neuron_classes"))).merge(numbers, on="run")


def _paired_differences(first: pd.DataFrame, second: pd.DataFrame, column: str) -> np.ndarray:
    """`column` of the first rows minus the second's, per seed; nan for a seed that only one of them has."""
    return (first.set_index("seed")[column] - second.set_index("seed")[column]).to_numpy()
