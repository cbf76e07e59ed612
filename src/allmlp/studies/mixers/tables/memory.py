"""Memory of one pass forward and backward beside the paper's tables, and the ratio to the mixer (001-13, 001-14)."""

import pandas as pd

from allmlp.studies.mixers.verdicts.formulae import FUSED, MIB, MIXER, TRANSFORMER, printed_table

MEASURES = ["memory"]
PAPER = "Scaling Properties, memory tables"
CLAIMS = ["001-13", "001-14", "001-own-11"]
TITLE = "Memory against context and depth"
CAPTION = (
    "MB (2^20 bytes) of one sequence through models of the paper's width and back, without the head, in float32: "
    "counted weights, gradients and bytes kept for the backward pass, and the peak of a device where the runs had "
    "one. The ratio is of what is kept and held, over the flat mixer's. The paper's numbers hold a base of driver and"
    " context besides; where it ran out of memory it prints none."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per number of layers, context and model."""
    rows = tables["memory"].drop_duplicates(["model", "n_blocks", "context"])
    keys = pd.MultiIndex.from_frame(rows[["n_blocks", "context"]])
    mixer = rows[rows["model"].eq(MIXER)].set_index(["n_blocks", "context"])["total_bytes"]
    paper = tables["paper"]
    said = pd.Series(float("nan"), index=rows.index)
    for model, claim in {MIXER: "001-13", TRANSFORMER: "001-14"}.items():
        printed = printed_table(paper[paper["claim"].eq(claim)].set_index("key")["value"].to_dict())
        said = said.where(rows["model"].ne(model), pd.Series(printed.reindex(keys).to_numpy(), index=rows.index))
    table = pd.DataFrame(
        {
            "layers": rows["n_blocks"],
            "context": rows["context"],
            "model": rows["model"],
            "weights_and_gradients_mb": (2 * rows["parameters_bytes"] / MIB).round(),
            "kept_mb": (rows["kept_bytes"] / MIB).round(),
            "counted_mb": (rows["total_bytes"] / MIB).round(),
            "over_flat_mixer": (rows["total_bytes"].to_numpy() / mixer.reindex(keys).to_numpy()).round(2),
            "device_peak_mb": (rows["peak_bytes"] / MIB).round(),
            "paper_mb": said,
        }
    )
    order = {MIXER: 0, TRANSFORMER: 1, FUSED: 2}
    return table.sort_values(["layers", "context", "model"], key=lambda c: c.map(order) if c.name == "model" else c)
