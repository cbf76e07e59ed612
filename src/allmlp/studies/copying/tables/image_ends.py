"""Test loss and accuracy of image runs at the end of training, beside heat, weights and operations (002-8, 002-9)."""

import pandas as pd

from allmlp.studies.copying.verdicts.images import ends
from allmlp.studies.seeds import over_seeds

MEASURES = ["image_curve", "heat_shares", "cost"]
PAPER = "Figure 7"
CLAIMS = ["002-8", "002-9", "002-own-3"]
TITLE = "Images: the end of training"
CAPTION = (
    "Loss and accuracy on held-out images after the last step, mean over seeds and 95 % t interval. Heat: how much of "
    "what the class token gathers lies in the middle of an image, beyond the middle's share of the area, mean over "
    "test images and seeds; networks without relations have none. Weights are all but positions and head; operations "
    "those of the whole training, forward and backward, as counted. The paper gives drawings, no numbers."
)

BY = ["corpus", "model"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per corpus and model; interval ends are empty for a single seed."""
    rows = ends(tables["image_curve"]).merge(
        tables["cost"][["run", "non_embedding_parameters", "steps_done", "counted_flops"]], on="run"
    )
    loss = over_seeds(rows, BY, "test_nats").rename(
        columns={"mean": "test_nats", "low": "nats_low", "high": "nats_high", "n": "seeds"}
    )
    accuracy = over_seeds(rows, BY, "test_accuracy_1").drop(columns="n")
    accuracy = accuracy.rename(columns={"mean": "test_accuracy_1", "low": "accuracy_low", "high": "accuracy_high"})
    same = rows.groupby(BY, as_index=False).agg(
        weights=("non_embedding_parameters", "first"),
        steps=("steps_done", "max"),
        counted_flops=("counted_flops", "max"),
    )
    shares = tables["heat_shares"]
    shares = shares.assign(heat_beyond_area_1=shares["centre_share_1"] - shares["area_share_1"])
    heat = shares.groupby(BY, as_index=False).agg(heat_beyond_area_1=("heat_beyond_area_1", "mean"))
    table = loss.merge(accuracy, on=BY).merge(heat, on=BY, how="left").merge(same, on=BY)
    shown = ["seeds", "test_nats", "nats_low", "nats_high", "test_accuracy_1", "accuracy_low", "accuracy_high"]
    return table[[*BY, *shown, "heat_beyond_area_1", "weights", "steps", "counted_flops"]]
