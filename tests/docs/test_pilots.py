"""What docs/pilots.md says of the trainings that memorised English is what the store holds of them."""

import pandas as pd

from allmlp.measurements import store
from tests.conftest import PROJECT

PAGE = PROJECT / "docs/pilots.md"
NEURONS, VARIATION = "mlp-d256-w4096-english-seed200", "mlp-d256-t{}-w4096-decay1-std0.02-english-seed200"


def of(measure: str, name: str) -> pd.DataFrame:
    """The rows of a measure, of the runs whose id begins so."""
    stored = store.read_measure("language", measure)
    return stored.table([key for key in stored.places if key[0].startswith(name)]).to_pandas()


def span(values: "pd.Series[float]", form: str = ".2f") -> str:
    low, high = format(values.min(), form), format(values.max(), form)
    return low if low == high else f"{low} to {high}"


def held_out(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row per run: of its least held-out loss, and of its last one."""
    rows = of("loss_curve", name).dropna(subset=["validation_nats"]).sort_values("step")
    by_run = rows.groupby("run")
    return rows.loc[by_run["validation_nats"].idxmin()], by_run.last()


def losses(rows: pd.DataFrame) -> str:
    return span(rows["validation_nats"])


def test_the_page_says_what_was_measured() -> None:
    least, last = held_out(NEURONS)
    curve = of("loss_curve", NEURONS).sort_values("step")
    training = curve.groupby("run")["loss_nats"].apply(lambda x: x.tail(3).mean())
    classes = of("neuron_classes", NEURONS)
    classes = classes[classes["reading"] == "relative"]
    shares = {step: span(100 * rows["n_gram_share_1"], ".0f") for step, rows in classes.groupby("step")}
    assert len(last) == len(training) == classes["run"].nunique() == 5
    assert classes["bag_of_words_share_1"].max() == 0
    ends = {context: held_out(VARIATION.format(context)) for context in (4, 8, 15, 32)}
    learning = pd.concat([ends[4][1], ends[8][1]])
    said = (
        f"training loss {span(training)}, held-out loss {losses(least)} at its least, after {span(least['step'], ',')} "
        f"steps, and {losses(last)} in the end",
        f"{shares[1000]} % are n-gram neurons (relative reading) after 1,000 steps, {shares[12000]} % in the end, none "
        "are bag-of-words neurons at any time",
        f"contexts of 4 and 8 tokens still learn at the end ({losses(learning)})",
        *(f"{context} tokens fall to {losses(a)} and end at {losses(b)}" for context, (a, b) in [*ends.items()][2:]),
    )
    page = PAGE.read_text(encoding="utf-8")
    assert [one for one in said if one not in page] == []
    for context in (4, 8):
        assert losses(ends[context][0]) == losses(ends[context][1])
