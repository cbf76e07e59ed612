"""The size at which a DCT-MLP's perplexity equals a transformer's (000-13, own claims)."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from allmlp.judging.rules import NotPlannedError

DCT, GPT = BOTH = "dct-mlp", "gpt2"


class Ratios(NamedTuple):
    """log2 of the ratio of sizes at equal perplexity, one per seed, and the sides on which it is censored.

    `low`: some ratio is smaller than its number, because the smallest DCT-MLP is already as good. `high`: some ratio is
    larger. `ends_only`: every ratio is censored; the numbers are then ends of the sizes tried, without a spread over
    seeds.
    """

    log2: np.ndarray
    low: bool
    high: bool
    ends_only: bool
    sizes: int  # transformers in the mean of a seed

    def note(self) -> str:
        """The censored sides, for a finding's text."""
        sides = [side for side, censored in (("below", self.low), ("above", self.high)) if censored]
        return f"censored {' and '.join(sides)}" if sides else f"over {self.sizes} transformers"


def largest_data_multiple(rows: pd.DataFrame) -> int:
    """The largest multiple of the transformer's data that a DCT-MLP is trained on. NotPlannedError for none above 1."""
    most = int(rows.loc[rows["model"] == DCT, "data"].max())
    if most <= 1:
        raise NotPlannedError(f"needs runs of {DCT} with more data, which are not planned")
    return most


def crossings(rows: pd.DataFrame, data: int, size: str = "weights") -> pd.DataFrame:
    """Columns seed, n_blocks (the transformer's), log2, censored ("", "low", "high"); `size` a column of `rows`.

    The size of the smallest DCT-MLP, trained on `data` times the data, that reaches the transformer's loss, with the
    loss interpolated linearly in the logarithm of the size. If no size tried reaches it, the end of the range,
    censored. nan: a diverged run.
    """
    found = []
    for seed, of_seed in rows.groupby("seed"):
        curve = of_seed[(of_seed["model"] == DCT) & (of_seed["data"] == data)].sort_values(size, kind="stable")
        if curve.empty:
            raise NotPlannedError(f"needs runs of {DCT} with {data} times the data, which are not planned")
        log_size, nats = np.log2(curve[size].to_numpy(dtype=float)), curve["validation_nats"].to_numpy()
        others = of_seed[(of_seed["model"] == GPT) & (of_seed["data"] == 1)]
        for n_blocks, own_size, wanted in others[["n_blocks", size, "validation_nats"]].to_numpy(dtype=float):
            at, censored = _first_size(log_size, nats, wanted)
            found.append((seed, int(n_blocks), at - np.log2(own_size), censored))
    return pd.DataFrame(found, columns=["seed", "n_blocks", "log2", "censored"])


def ratios(*tables: pd.DataFrame) -> tuple[Ratios, ...]:
    """Each seed's mean over transformers, of one or several tables of `crossings` over the same transformers.

    The mean is over transformers that are censored in no seed and no table; without such, over all.
    """
    together = pd.concat(tables, ignore_index=True)
    every, censored = set(together["n_blocks"]), set(together.loc[together["censored"] != "", "n_blocks"])
    used = (every - censored) or every
    kept = [table[table["n_blocks"].isin(used)] for table in tables]
    return tuple(
        Ratios(
            table.groupby("seed")["log2"].agg(lambda values: values.mean(skipna=False)).to_numpy(),
            bool((table["censored"] == "low").any()),
            bool((table["censored"] == "high").any()),
            bool((table["censored"] != "").all()),
            len(used),
        )
        for table in kept
    )


def _first_size(log_size: np.ndarray, nats: np.ndarray, wanted: float) -> tuple[float, str]:
    """The smallest logarithm of a size at which the curve reaches `wanted`."""
    if not (np.isfinite(nats).all() and np.isfinite(wanted)):
        return np.nan, ""
    reached = np.flatnonzero(nats <= wanted)
    if not len(reached):
        return float(log_size[-1]), "high"
    right = reached[0]
    if right == 0:
        return float(log_size[0]), "low" if nats[0] < wanted else ""
    left = right - 1
    share = (nats[left] - wanted) / (nats[left] - nats[right])
    return float(log_size[left] + share * (log_size[right] - log_size[left])), ""
