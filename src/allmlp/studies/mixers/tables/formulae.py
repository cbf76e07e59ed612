"""Tables without training: the audit, masks, hidden units, dimensions, memory, tournaments."""

import numpy as np
import pandas as pd

from allmlp.report.exhibits import Paper, table
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIB, MIXER, TRANSFORMER, printed_table

WORDS = {"pass": "pass", "fail": "leaks", "not applicable": "-"}


@table("Causality audit", where="Transformer mixer hybrids", claims=["001-1", "001-19", "001-27"])
def audit(audit: pd.DataFrame) -> pd.DataFrame:
    """Every architecture of the registry, tiny, with fresh weights in double precision. Later tokens: no prediction
    changes with a later token. Later gradients: no prediction has a gradient at a later token. Left padding: "later
    tokens" in rows that begin with padding. More padding: it changes no prediction, if the architecture declares this.
    Right padding: a text before padding is predicted as without it. Batch neighbours: other rows change no prediction.
    Inputs matter: each input changes a prediction of its row. A dash: the check does not apply. Architectures that leak
    are kept as published, so that the audit has something to catch.
    """
    rows = audit[audit["run"] == audit["run"].iloc[0]]  # no run is used: all have the same rows
    word = rows["result"].map(WORDS).mask(rows["result"].eq("fail") & rows["declared"].eq(""), "FAILS")
    cells = rows.assign(word=word).pivot(index="architecture", columns="check", values="word")
    failed = rows[rows["result"] == "fail"]
    leaks = (failed["check"] + ": " + failed["detail"]).groupby(failed["architecture"]).agg("; ".join)
    table = cells.loc[rows["architecture"].unique(), rows["check"].unique()]
    return table.assign(found=leaks.reindex(table.index).fillna("")).reset_index()


@table("What the mask keeps out", where="Language Mixer Basics, worked example", claims=["001-1"])
def masking(masking: pd.DataFrame) -> pd.DataFrame:
    """In float64: the difference from the paper's printed matrices; the largest change of outputs up to a position when
    all later tokens change, over all positions; the largest gradient of a weight above the diagonal. Each is 0 where
    the property holds.
    """
    rows = masking.drop_duplicates(["form", "property"])
    wide = rows.pivot(index="form", columns="property", values="difference_1")
    return wide.reindex(rows["form"].unique()).reset_index()


@table("Hidden units under the triangular masks", where="Flat Mixers Train Faster", claims=["001-9"])
def hidden_units(hidden_units: pd.DataFrame) -> pd.DataFrame:
    """An expanded mixing with two lower triangular matrices: which hidden units, inputs and weights influence an
    output, by the gradients of random weights. Above a factor of 1 the further units have no influence; below it the
    last inputs have none (the residual stream still carries them at their own position).
    """
    rows = hidden_units.drop_duplicates("expansion_1").rename(columns={"expansion_1": "expansion"})
    return rows[["expansion", "hidden", "hidden_used", "inputs", "inputs_lost", "weights", "weights_used"]]


@table("Dimensions for m points", where="Background", claims=["001-2"])
def dimensions(dimensions: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """8 ln(m), the number of dimensions that hold m points by the Johnson-Lindenstrauss lemma, beside the number that
    the paper prints. For English sentences it prints ln(m), without the 8, so its conclusion, that so many hidden nodes
    suffice for any English sentence, does not hold. The lemma bounds how well a random projection keeps distances (here
    at an error of 1, which keeps hardly any), not what a network needs.
    """
    rows = dimensions.drop_duplicates("points")
    printed = rows["key"].map(paper["001-2"]).astype(float)
    return pd.DataFrame(
        {
            "points": rows["points"],
            "log10_points": rows["log10_points"].round(2),
            "logarithm": rows["logarithm_nats"].round(1),
            "8_logarithm": rows["dimensions"].round(1),
            "paper": printed,
            "paper_over_8_logarithm": (printed / rows["dimensions"]).round(3),
            "paper_over_logarithm": (printed / rows["logarithm_nats"]).round(3),
        }
    )


@table(
    "Memory against context and depth",
    where="Scaling Properties, memory tables",
    claims=["001-13", "001-14", "001-own-11"],
)
def memory(memory: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """MB (2^20 bytes) of one sequence through models of the paper's width and back, without the head, in float32:
    counted weights, gradients and bytes kept for the backward pass, and the peak of a device if the runs had one. The
    ratio is that of the counted total to the flat mixer's. The paper's numbers include driver and context; if it ran
    out of memory it prints none.
    """
    at = ["n_blocks", "context"]
    rows = memory.drop_duplicates(["model", *at])
    mixer = rows[rows["model"].eq(MIXER)].set_index(at)["total_bytes"].reindex(pd.MultiIndex.from_frame(rows[at]))
    printed = {MIXER: printed_table(paper["001-13"]).to_dict(), TRANSFORMER: printed_table(paper["001-14"]).to_dict()}
    said = [printed.get(model, {}).get((n, c)) for model, n, c in rows[["model", *at]].itertuples(index=False)]
    table = pd.DataFrame(
        {
            "layers": rows["n_blocks"],
            "context": rows["context"],
            "model": rows["model"],
            "weights_and_gradients_mb": (2 * rows["parameters_bytes"] / MIB).round(),
            "kept_mb": (rows["kept_bytes"] / MIB).round(),
            "counted_mb": (rows["total_bytes"] / MIB).round(),
            "over_flat_mixer": (rows["total_bytes"] / mixer.to_numpy()).round(2),
            "device_peak_mb": (rows["peak_bytes"] / MIB).round(),
            "paper_mb": said,
        }
    )
    order = {MIXER: 0, TRANSFORMER: 1, FUSED: 2}
    return table.sort_values(["layers", "context", "model"], key=lambda c: c.map(order) if c.name == "model" else c)


@table("Forward passes of a search by tournament", where="Accurate Representation and Retrieval", claims=["001-30"])
def tournament(tournament_passes: pd.DataFrame) -> pd.DataFrame:
    """Counted passes of the matcher to find one of n texts in groups, passes over n, the limit 1 / (group - 1), and the
    n log n passes of the article (logarithm to the base of the group). Passes over n fall towards the limit: the number
    of passes grows as n (E001-13).
    """
    rows = tournament_passes.drop_duplicates(["group", "texts"])
    n_log_n = rows["texts"] * np.log(rows["texts"]) / np.log(rows["group"])
    return rows.assign(n_log_n=n_log_n)[["group", "texts", "passes", "passes_per_text_1", "limit_1", "n_log_n"]]
