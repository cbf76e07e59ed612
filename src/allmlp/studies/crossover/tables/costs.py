"""What each architecture costs on each task: weights, operations, memory, speed."""

import pandas as pd

MEASURES = ["resources", "cost"]
PAPER = ""
CLAIMS: list[str] = []
TITLE = "What each architecture costs"
CAPTION = (
    "At the size of the matrix. Operations are forward and backward, counted; kept bytes are what a forward pass holds "
    "for the backward pass, without the head, each storage once. Speeds are of the machine named, tokens a "
    "second: of training, and of one continuation, token after token, half a context after half a context. Steps are "
    "what the task's budget of operations paid for. Learning rate: as the search chose it, beside the largest that it "
    "tried; where the two are one, a larger may or may not have been better."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per task and architecture, of its first seed."""
    steps = tables["cost"][["run", "steps_done", "counted_flops"]]
    rows = tables["resources"].merge(steps, on="run")
    shown = ["task", "family", "model", "parameters", "flops_per_token", "kept_bytes_per_token"]
    rates = {"learning_rate_1": "learning_rate", "largest_rate_1": "largest_rate"}
    speeds = ["training_tokens_per_s", "generation_tokens_per_s", "hardware"]
    whole = rows.assign(kept_bytes_per_token=rows["kept_bytes_per_token"].round().astype(int))
    names = {"steps_done": "steps", **rates}
    return whole[[*shown, "steps_done", "counted_flops", *rates, *speeds]].rename(columns=names)
