"""The held-out losses of study 001's models over counted operations, for the place where the lead changes hands."""

import pandas as pd

from allmlp.judging.rules import NotComparableError
from allmlp.studies.shared.crossing import Curve


def curves(rows: pd.DataFrame) -> dict[int, Curve]:
    """seed -> curve of one model's rows of `learning_curve`; NaN for a diverged seed.

    Raises NotComparableError if the learning rate decays: a loss before the end is then not that of a finished
    training.
    """
    if rows["schedule"].ne("constant").any():
        raise NotComparableError("needs a constant learning rate: a loss in mid-decay is that of no finished training")
    tested = rows[rows["step"].gt(0) & rows["validation_nats"].notna()].sort_values("step", kind="stable")
    losses = tested["validation_nats"].where(~tested["diverged"].astype(bool)).astype(float)
    tested = tested.assign(loss=losses, operations=tested["flops"].astype(float))
    seeds = {seed: tested[tested["seed"].eq(seed)] for seed in sorted(tested["seed"].unique().tolist())}
    return {seed: Curve(of["operations"].to_numpy(), of["loss"].to_numpy()) for seed, of in seeds.items()}
