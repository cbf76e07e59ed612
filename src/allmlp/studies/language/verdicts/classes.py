"""Rules on the classes' shares and on l1/l2 over time (000-5, -7). The unit is the seed."""

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_above, judge_all, judge_below, part_rows, premise
from allmlp.judging.statistics import Finding, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.language.names import NEURONS
from allmlp.studies.language.profiles import bimodality
from allmlp.studies.language.verdicts.initial_weights import deciding_rows, withhold_fresh

N_GRAM, BAG_OF_WORDS = "n_gram_share_1", "bag_of_words_share_1"


def class_shares(evidence: Evidence) -> Finding:
    """000-5: n-gram neurons first, bag-of-words gradually, at the end most neurons in the two classes."""
    rows, margin = part_rows(evidence.table("neuron_classes"), NEURONS), evidence.margin
    seeds = deciding_rows(rows).groupby("seed").apply(_course, margin["emerged_share_1"], int(rows["step"].max()))
    lead = judge_better(seeds["lead"].to_numpy(), margin["lead_share_1"])
    stays = bool(seeds["words"].gt(0).all())
    delay = judge_better(seeds["delay"].to_numpy(), margin["delay_share_1"])
    gradual = {
        "rise": judge_better(seeds["rise"].to_numpy(), margin["rise_share_1"]),
        "delay": premise(delay, "no bag-of-words neuron at the end of some seed", holds=stays),
    }
    majority = {
        "both classes": judge_above(seeds["sum"].to_numpy(), margin["majority_share_1"]),
        "smaller class": judge_above(seeds["smaller"].to_numpy(), margin["rise_share_1"]),
    }
    emerged = bool(seeds["emerged"].all())
    parts = {
        "(a) n-gram first": premise(lead, "no class emerged in some seed", holds=emerged, of="contradicted"),
        "(b) bag-of-words gradually": withhold_fresh(judge_all(gradual), rows, margin),
        "(c) most at the end": withhold_fresh(judge_all(majority), rows, margin),
    }
    return require_all_parts(parts)


def l1_l2_bimodality(evidence: Evidence) -> Finding:
    """000-7: l1/l2 is concentrated at the start, at the end bimodal with peaks at both ends of its range."""
    rows, margin = part_rows(evidence.table("l1_l2"), NEURONS), evidence.margin
    seeds = rows.groupby("seed").apply(_histogram_numbers)
    peaks = judge_above(seeds["sarle"].to_numpy(), margin["bimodality_1"])
    extremes = judge_above(seeds["extreme"].to_numpy(), margin["extreme_share_1"])
    parts = {
        "(a) concentrated at the start": judge_below(seeds["width"].to_numpy(), margin["width_1"]),
        "(b) Sarle's coefficient at the end": withhold_fresh(peaks, rows, margin),
        "(c) neurons at both extremes": withhold_fresh(extremes, rows, margin),
    }
    return require_all_parts(parts)


def _course(of_seed: pd.DataFrame, emerged: float, total: int) -> pd.Series:
    """The numbers of 000-5 of one seed's shares over the kept steps of a training of `total` steps."""
    rows = of_seed.sort_values("step", ignore_index=True, kind="stable")
    steps, n_gram, words = rows["step"].to_numpy(), rows[N_GRAM].to_numpy(), rows[BAG_OF_WORDS].to_numpy()
    there = np.flatnonzero(np.maximum(n_gram, words) >= emerged)
    tenth = int(np.argmin(np.abs(steps - total / 10)))
    return pd.Series(
        {
            "emerged": len(there) > 0,
            "lead": n_gram[there[0]] - words[there[0]] if len(there) else 0.0,
            "rise": words[-1] - words[tenth],
            "delay": _half_time(steps, words, total) - _half_time(steps, n_gram, total),
            "words": words[-1],
            "sum": n_gram[-1] + words[-1],
            "smaller": min(n_gram[-1], words[-1]),
        }
    )


def _half_time(steps: np.ndarray, share: np.ndarray, total: int) -> float:
    """First step with half of the end's share, in shares of training; 1 for a class that is empty then."""
    return float(steps[np.flatnonzero(share >= share[-1] / 2)[0]] / total) if share[-1] > 0 else 1.0


def _histogram_numbers(of_seed: pd.DataFrame) -> pd.Series:
    """000-7's numbers of one seed's ratios: width at the start; Sarle's coefficient, extremes at the end."""
    bound = of_seed["bound_1"].max()
    start, end = (of_seed.loc[of_seed["moment"] == moment, "ratio_1"] for moment in ("start", "end"))
    position = (end - 1) / (bound - 1)
    return pd.Series(
        {
            "width": (start.quantile(0.95) - start.quantile(0.05)) / (bound - 1),
            "sarle": bimodality(end.to_numpy()),
            "extreme": min((position <= 0.1).mean(), (position >= 0.9).mean()),
        }
    )
