"""Rules on runs with one setting changed (000-15, own claims). The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better, equal
from allmlp.studies.language.classification import STRICT
from allmlp.studies.language.parts import varied, with_control
from allmlp.studies.language.verdicts.classes import BAG_OF_WORDS, N_GRAM
from allmlp.studies.language.verdicts.wear import of_deciding, of_worn, unless_fresh
from allmlp.studies.rules import premise, undecided
from allmlp.studies.seeds import at_end

CONSTANT, EXPLAINED = "constant_share_median_1", "window_share_median_1"


def hardly_dependent(evidence: Evidence) -> Finding:
    """000-15: do the shares hardly depend on the width, and more on the context?"""
    rows, margin = at_end(of_deciding(evidence.table("neuron_classes"))), evidence.margin
    widths, contexts = varied(rows, "d_mlp"), varied(rows, "context")
    shortest = margin["window_tokens"] / (1 - STRICT.low_rows)  # of a shorter context the class leaves no such window
    contexts = contexts[contexts["context"] > shortest]
    wide = sorted(widths["d_mlp"].unique())[2:]
    if len(wide) > 1:
        beyond = equal(ranges(widths[widths["d_mlp"].isin(wide)]).to_numpy(), margin["share_1"], unit="of neurons")
    else:
        text = f"not judged: of the widths {listed(widths['d_mlp'])} fewer than two are beyond the second"
        beyond = undecided(text, widths["seed"].nunique(), "of neurons")
    more = better((ranges(contexts) - ranges(widths)).to_numpy(), 0.0, unit="of neurons")
    more = replace(more, text=f"{more.text}; contexts of {listed(contexts['context'])} tokens")
    parts = {"(a) converged over widths": beyond, "(b) more over contexts than over widths": more}
    return whole({name: of_worn(part, pd.concat([widths, contexts]), margin) for name, part in parts.items()})


def listed(values: pd.Series) -> str:
    """The different values, in order."""
    return ", ".join(f"{value:g}" for value in sorted(values.unique()))


def ranges(rows: pd.DataFrame) -> pd.Series:
    """Per seed, the range over runs of the n-gram share or of the bag-of-words share, the larger of the two."""
    return rows.groupby("seed")[[N_GRAM, BAG_OF_WORDS]].agg(np.ptp).max(axis=1)


def without_long_range(evidence: Evidence) -> Finding:
    """000-own-3: do bag-of-words neurons, and constant parts, need information beyond the sentence?"""
    base, dealt = with_control(_ends(evidence), "sentences")
    margin, fresh = evidence.margin, pd.concat([base, dealt])
    lost = better(_paired(base, dealt, BAG_OF_WORDS), margin["share_1"], unit="of neurons")
    constant = better(_paired(base, dealt, CONSTANT), margin["constant_share_1"], unit="of the energy")
    enough = bool(base[BAG_OF_WORDS].min() >= margin["share_1"])
    lost = premise(lost, "some seed has too few bag-of-words neurons to lose", holds=enough, of="contradicted")
    parts = {"(a) fewer bag-of-words neurons": lost, "(b) less constant energy": constant}
    return whole({name: unless_fresh(finding, fresh, margin) for name, finding in parts.items()})


def without_order(evidence: Evidence) -> Finding:
    """000-own-4: do n-gram neurons need the order of words, and does the constant part grow without it?"""
    base, shuffled = with_control(_ends(evidence), "words")
    margin, fresh = evidence.margin, pd.concat([base, shuffled])
    halved = base.assign(**{N_GRAM: base[N_GRAM] / 2})
    lost = better(_paired(halved, shuffled, N_GRAM), 0.0, unit="of neurons, half minus what is left")
    constant = better(_paired(shuffled, base, CONSTANT), margin["constant_share_1"], unit="of the energy")
    enough = bool(base[N_GRAM].min() >= margin["share_1"])
    lost = premise(lost, "some seed has too few n-gram neurons to lose", holds=enough, of="contradicted")
    parts = {"(a) n-gram neurons halved": lost, "(b) more constant energy": constant}
    return whole({name: unless_fresh(finding, fresh, margin) for name, finding in parts.items()})


def wear_and_start(evidence: Evidence) -> Finding:
    """000-own-5: do e-foldings of decay, and the size of the initial embeddings, decide how many neurons look like a
    class?"""
    rows, margin = varied(_ends(evidence), "weight_decay", "embedding_std"), evidence.margin
    rows = rows.assign(sorted=rows[N_GRAM] + rows[BAG_OF_WORDS])
    decay, std = rows["weight_decay"], rows["embedding_std"]
    small, weak = std == std.min(), decay == decay.min()
    strong = decay == decay.max()
    sorted_by_decay = _paired(rows[small & strong], rows[small & weak], "sorted")
    sorted_by_start = _paired(rows[weak & (std == std.max())], rows[small & weak], "sorted")
    explained = _paired(rows[small & strong], rows[small & weak], EXPLAINED)
    parts = {
        "(a) more after more decay": better(sorted_by_decay, margin["share_1"], unit="of neurons"),
        "(b) more from large embeddings": better(sorted_by_start, margin["share_1"], unit="of neurons"),
        "(c) more energy explained": better(explained, margin["energy_share_1"], unit="of the energy"),
    }
    return whole(parts)


def _ends(evidence: Evidence) -> pd.DataFrame:
    """Shares by the deciding reading and threshold-free numbers after each run's last step, a row per run."""
    numbers = at_end(evidence.table("concentration"))[["run", CONSTANT, EXPLAINED]]
    return at_end(of_deciding(evidence.table("neuron_classes"))).merge(numbers, on="run")


def _paired(first: pd.DataFrame, second: pd.DataFrame, column: str) -> np.ndarray:
    """`column` of the first rows minus the second's, per seed; nan for a seed that only one of them has."""
    return (first.set_index("seed")[column] - second.set_index("seed")[column]).to_numpy()
