"""Rules on where neurons have their energy, in time and frequency (000-6, -8, -9, -10, -16). The unit is the seed."""

import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_above, judge_below, part_rows, premise
from allmlp.judging.statistics import Finding, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM, PAPER_WIDTH
from allmlp.studies.language.names import NEURONS
from allmlp.studies.language.profiles import bimodality
from allmlp.studies.language.verdicts.initial_weights import deciding_rows, withhold_fresh

FEWEST = 10  # neurons of a class in every seed, for a mean over the class


def look_like_their_class(evidence: Evidence) -> Finding:
    """000-6: do n-gram neurons use a few positions, bag-of-words neurons all alike?"""
    rows = _classes_at_end(evidence)
    parts = {
        "(a) n-gram: four positions": _mean_energy(rows, N_GRAM, "window_energy_1", evidence.margin),
        "(b) bag-of-words: constant": _mean_energy(rows, BAG_OF_WORDS, "constant_energy_1", evidence.margin),
    }
    return require_all_parts(parts)


def few_frequencies(evidence: Evidence) -> Finding:
    """000-8: do bag-of-words neurons use the lowest frequency only, n-gram neurons a window of three?"""
    rows = _classes_at_end(evidence)
    parts = {
        "(a) bag-of-words: frequency 0": _mean_energy(rows, BAG_OF_WORDS, "constant_energy_1", evidence.margin),
        "(b) n-gram: last three positions": _mean_energy(rows, N_GRAM, "recent_energy_1", evidence.margin),
    }
    return require_all_parts(parts)


def from_few_rows_to_few_frequencies(evidence: Evidence) -> Finding:
    """000-9: the more large rows a neuron has, the more of its energy is in the lowest frequencies?"""
    rows = _end_rows(part_rows(evidence.table("energy_map"), NEURONS))
    if not (rows["d_model"] == PAPER_WIDTH).all():  # raw norms mean nothing at another width
        ratios = _end_rows(part_rows(evidence.table("l1_l2"), NEURONS))
        rows = rows[["seed", "neuron", "low_energy_1"]]
        rows = rows.merge(ratios[["seed", "neuron", "ratio_1"]], on=["seed", "neuron"], validate="one_to_one")
        rows["large_rows"] = rows["ratio_1"] ** 2
    return judge_better(_rank_correlations(rows, "large_rows", "low_energy_1"), evidence.margin["correlation_1"])


def low_waves_emerge(evidence: Evidence) -> Finding:
    """000-10 and 000-12: do neurons that resemble low cosine waves emerge over training?

    The last rows and a constant explain the other classes and their sums, and a constant is a low frequency too: a wave
    is what has most of its energy in the low frequencies, and not most in those rows and the constant.
    """
    rows, margin = part_rows(evidence.table("energy_map"), NEURONS), evidence.margin
    most = margin["energy_share_1"]
    explained = rows["recent_energy_1"] + rows["constant_energy_1"]
    wave = rows["low_energy_1"].gt(most) & explained.lt(most)
    shares = rows.assign(wave=wave).groupby(["seed", "moment"])["wave"].mean().unstack()
    rise = judge_better((shares["end"] - shares["start"]).to_numpy(), margin["rise_share_1"], unit="of neurons")
    return withhold_fresh(rise, rows, margin)


def inverse_in_frequency(evidence: Evidence) -> Finding:
    """000-16: is the picture of l1/l2 over frequencies the inverse of that over time?"""
    rows, margin = part_rows(evidence.table("l1_l2"), NEURONS), evidence.margin
    end = _end_rows(rows)
    inverse = judge_below(_rank_correlations(end, "ratio_1", "frequency_ratio_1"), margin["correlation_1"], none=0.0)
    of_seeds = [ratios for _, ratios in end.groupby("seed")["frequency_ratio_1"]]
    sarle = [bimodality(ratios.to_numpy()) for ratios in of_seeds]
    middle = (1 + end["bound_1"].max()) / 2
    sides = [min((ratios < middle).mean(), (ratios > middle).mean()) for ratios in of_seeds]
    parts = {
        "(a) inverse to the one over time": withhold_fresh(inverse, rows, margin),
        "(b) Sarle's coefficient": withhold_fresh(judge_above(sarle, margin["bimodality_1"]), rows, margin),
        "(c) neurons on both sides": withhold_fresh(judge_above(sides, margin["side_share_1"]), rows, margin),
    }
    return require_all_parts(parts)


def _end_rows(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["moment"] == "end"]


def _classes_at_end(evidence: Evidence) -> pd.DataFrame:
    return _end_rows(deciding_rows(part_rows(evidence.table("class_energies"), NEURONS)))


def _mean_energy(rows: pd.DataFrame, name: str, column: str, margin: dict[str, float]) -> Finding:
    """Is the class's mean share of energy above the margin? Premise: it is not small in any seed."""
    of_class = rows[rows["class"] == name].set_index("seed")
    fewest = int(of_class["neurons"].min())
    found = judge_above(of_class[column].to_numpy(), margin["energy_share_1"], unit="of the energy")
    return premise(found, f"as few as {fewest} {name} neurons in a seed, of {FEWEST}", holds=fewest >= FEWEST)


def _rank_correlations(rows: pd.DataFrame, a: str, b: str) -> list[float]:
    """Spearman's correlation over neurons for each seed; nan if one of the two is constant."""
    return [float(of_seed[a].rank().corr(of_seed[b].rank())) for _, of_seed in rows.groupby("seed")]
