"""Models at equal steps, equal time and equal FLOPs: one loss per seed, read from curves of held-out losses.

A budget is the amount that the first model to stop has spent: in steps, in seconds, or in counted FLOPs. A model's
seconds per step are the median of the rounds of a benchmark that timed all models side by side (step_times.py). If it
did not time all of them, they are the median over seeds of the trainings on the device that trained both. Between two
tested steps a loss is interpolated linearly in the logarithm of the steps. If the learning rate decays to the end, a
loss before the end is not that of a finished training. Then each run counts with its end, and runs with ends further
apart than NEARLY are not compared. Equal steps of different batch sizes are not compared either, because they are
different amounts of text.
"""

import numpy as np
import pandas as pd

from allmlp.judging.rules import NotComparableError, NotPlannedError, part_rows
from allmlp.studies.mixers import step_times
from allmlp.studies.mixers.names import FLAT, TRAINING
from allmlp.studies.mixers.parts import setting_names

UNITS = {"steps": "steps", "seconds": "time", "flops": "FLOPs"}  # unit -> how a table, figure or error names it
MODEL = ["variant", "size", "padding"]
TRAININGS = "the trainings, which shared machines"  # the clock if no benchmark timed all models
NO_CLOCK = "none"
BENCHMARKED = "long"  # the scale whose trainings share machines for hours: only the benchmark counts there
NEEDS_BENCHMARK = (
    "needs seconds per step of every model from one benchmark: "
    "`python -m allmlp.studies.mixers.step_times --write` on an idle machine"
)
NEARLY = 1.1  # ends of decaying schedules: largest ratio of the longest to the shortest


def curves(rows: pd.DataFrame, scale: str = "") -> pd.DataFrame:
    """Rows of `learning_curve` with `steps`, and `seconds` by one clock for all."""
    return add_clock(rows.assign(steps=rows["step"], flops_per_step=(rows["flops"] / rows["step"]).round()), scale)


def add_clock(rows: pd.DataFrame, scale: str = "") -> pd.DataFrame:
    """The rows with `seconds` after their `step`, and `clock`, the source of the seconds per step.

    rows: run, step, seconds_per_step, flops_per_step and the labels of runs. Where no benchmark timed all models, a
    model's seconds per step are the median over its trainings, but unknown at the scale BENCHMARKED.
    """
    timed = step_times.model_benchmark(rows)
    if timed is not None:
        medians = {name: float(np.median(seconds)) for name, seconds in timed.seconds.items()}
        first = rows.drop_duplicates("run")
        names = dict(zip(first["run"], map(step_times.model_name, first.to_dict("records")), strict=True))
        per_step = rows["run"].map(names).map(medians)
        return rows.assign(seconds=rows["step"] * per_step, clock=f"a benchmark on {timed.hardware}")
    if scale == BENCHMARKED:
        return rows.assign(seconds=float("nan"), clock=NO_CLOCK)
    median = rows.drop_duplicates("run").groupby(MODEL)["seconds_per_step"].median().rename("median_s")
    per_step = rows.join(median, on=MODEL)["median_s"]
    return rows.assign(seconds=rows["step"] * per_step, clock=TRAININGS)


def spent_budget(rows: pd.DataFrame, unit: str) -> float:
    """The least that a run of these rows has spent at its end; a diverged run has spent its budget."""
    finished = rows[~rows["diverged"].astype(bool)]
    return float((finished if len(finished) else rows).groupby("run")[unit].max().min())


def budget(rows: list[pd.DataFrame], unit: str) -> float:
    """The largest budget in `unit` that all of these models have reached.

    Raises NotComparableError for unknown seconds, for equal steps of different batch sizes, and if a learning rate
    decays and the runs' ends differ by more than NEARLY in `unit`: the longer runs would count in mid-decay.
    """
    amounts = [spent_budget(of_model, unit) for of_model in rows]
    if unit == "seconds" and any(of_model["clock"].eq(NO_CLOCK).any() for of_model in rows if "clock" in of_model):
        raise NotComparableError(NEEDS_BENCHMARK)
    if unit == "steps":
        _refuse_other_batches(rows)
    if any(_has_decay(of_model) for of_model in rows):
        _refuse_other_ends(rows, unit)
    return min(amounts)


def common_steps(rows: list[pd.DataFrame]) -> float:
    """The largest number of steps that all of these models have done, on the way of those that did more.

    Raises NotComparableError for different batch sizes.
    """
    _refuse_other_batches(rows)
    return min(spent_budget(of_model, "steps") for of_model in rows)


def _has_decay(rows: pd.DataFrame) -> bool:
    return bool(rows["schedule"].ne("constant").any())


def _refuse_other_batches(rows: list[pd.DataFrame]) -> None:
    sizes = [sorted(of_model["batch_size"].unique().tolist()) for of_model in rows]
    if len({size for of_model in sizes for size in of_model}) > 1:
        said = (
            f"{_name(of_model)} in batches of {' and '.join(map(str, found))}"
            for of_model, found in zip(rows, sizes, strict=True)
        )
        raise NotComparableError(f"needs one batch size for a comparison at equal steps: {', '.join(said)}")


def _refuse_other_ends(rows: list[pd.DataFrame], unit: str) -> None:
    """Diverged runs are left out: they count as lost, wherever they stopped."""
    finished = [of_model[~of_model["diverged"].astype(bool)] for of_model in rows]
    ends = [(_name(of_model), of_model.groupby("run")[unit].max()) for of_model in finished if len(of_model)]
    if ends and max(of_model.max() for _, of_model in ends) > NEARLY * min(of_model.min() for _, of_model in ends):
        said = ", ".join(f"{name} ends at {of_model.max():.4g}" for name, of_model in ends)
        raise NotComparableError(
            f"needs ends within {NEARLY - 1:.0%} for a comparison at equal {UNITS[unit]} under a learning rate that "
            f"decays: {said} (`longer` in params.yaml says how long a model is trained)"
        )


def _name(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    return f"{first['variant']} of size {first['size']}"


def loss_at_amount(rows: pd.DataFrame, unit: str, amount: float, value: str = "validation_nats") -> pd.Series:
    """seed -> loss of one model after `amount` of `unit`; nan for a diverged seed, and before its first test.

    If the rate decays: the loss at the end, except for steps well before the end.
    """
    on_the_way = unit == "steps" and amount * NEARLY < spent_budget(rows, unit)
    amount = np.inf if _has_decay(rows) and not on_the_way else amount
    points = rows[["seed", "step", "diverged", unit, value]].sort_values(
        "step", kind="stable"
    )  # fewer columns: much faster
    return pd.Series(
        {seed: _read(of_seed, unit, amount, value) for seed, of_seed in points.groupby("seed", sort=True)}, dtype=float
    )


def _read(of_seed: pd.DataFrame, unit: str, amount: float, value: str) -> float:
    points = of_seed[of_seed["step"].gt(0) & of_seed[value].notna()]
    if of_seed["diverged"].any() or points.empty or amount < points[unit].iloc[0] * (1 - 1e-9):
        return float("nan")
    return float(np.interp(np.log(amount), np.log(points[unit]), points[value]))


def loss_differences(
    first: pd.DataFrame, second: pd.DataFrame, unit: str, value: str = "validation_nats"
) -> np.ndarray:
    """The first model's loss minus the second's at their common budget, one number per seed that both have."""
    amount = budget([first, second], unit)
    return paired_differences(
        loss_at_amount(first, unit, amount, value), loss_at_amount(second, unit, amount, value)
    ).to_numpy()


def paired_differences(first: pd.Series, second: pd.Series) -> pd.Series:
    """first minus second by seed, for the seeds that both have: a model may have further ones."""
    return (first - second).reindex(first.index.intersection(second.index))


def ends(rows: pd.DataFrame, value: str = "validation_nats") -> pd.Series:
    """seed -> the loss after the last step; nan for a diverged seed."""
    last = rows.sort_values("step", kind="stable").groupby("seed").tail(1).set_index("seed").sort_index()
    return last[value].where(~last["diverged"].astype(bool)).astype(float)


AGAINST_FLAT = {unit: f"at equal {name}" for unit, name in UNITS.items()}


def differences(learning_curve: pd.DataFrame) -> pd.DataFrame:
    """One row per model and seed: setting, its labels, and its loss minus the flat mixer's at each budget (nats).

    NaN: the two are not comparable at that budget (py says when). Models of a size and padding without a flat
    mixer are left out. Raises NotPlannedError without a flat mixer.
    """
    rows = curves(part_rows(learning_curve, TRAINING))
    rows = rows.assign(setting=setting_names(rows))
    found = []
    for _, of_model in rows[~rows["variant"].eq(FLAT)].groupby(MODEL, sort=False):
        first = of_model.iloc[0]
        flat = rows[rows["variant"].eq(FLAT) & rows["size"].eq(first["size"]) & rows["padding"].eq(first["padding"])]
        if len(flat):
            found.append(_row(of_model, flat))
    if not found:
        raise NotPlannedError("needs a flat mixer and another model, which are not planned")
    return pd.concat(found, ignore_index=True)


def _row(of_model: pd.DataFrame, flat: pd.DataFrame) -> pd.DataFrame:
    labels = ["setting", "model", "variant", "size", "padding"]
    read = {unit: _difference(of_model, flat, unit) for unit in AGAINST_FLAT}
    same = {name: of_model[name].iloc[0] for name in labels}
    return pd.DataFrame(read).rename_axis("seed").reset_index().assign(**same)


def _difference(of_model: pd.DataFrame, flat: pd.DataFrame, unit: str) -> pd.Series:
    try:
        amount = budget([of_model, flat], unit)
    except NotComparableError:
        return pd.Series(float("nan"), index=sorted(of_model["seed"].unique()))
    return paired_differences(loss_at_amount(of_model, unit, amount), loss_at_amount(flat, unit, amount))
