"""Memory counted without allocating: real tensors to the byte, linear in layers, and what is said of it."""

import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.studies.mixers.measures.costs import CONTEXTS, LAYERS, Bytes, bytes_by_depth, count, count_bytes, memory
from allmlp.studies.mixers.verdicts import formulae
from tests import exhibits, judging

SIZES = {"d_model": 32, "vocabulary": 16}
KINDS = [
    ("masked-mixer", {}),
    ("masked-mixer", {"expansion": 2.0}),
    ("llama", {"n_heads": 4, "fused": False}),
    ("llama", {"n_heads": 4, "fused": True}),
]


@pytest.mark.parametrize(("architecture", "own"), KINDS)
def test_what_is_counted_without_values_is_what_real_tensors_keep(architecture, own):
    sizes = {**SIZES, **own, "context": 96, "n_blocks": 2}
    torch.manual_seed(0)
    real = count_bytes(models.build(architecture, **sizes), torch.zeros(1, 96, dtype=torch.int64))
    assert count(architecture, **sizes) == real
    assert real.kept > 0


@pytest.mark.parametrize(("architecture", "own"), KINDS)
def test_each_further_layer_adds_the_same(architecture, own):
    sizes = {**SIZES, **own, "context": 64}
    direct = {n: count(architecture, n_blocks=n, **sizes) for n in (1, 3, 5)}
    assert bytes_by_depth(architecture, [1, 3, 5], **sizes) == direct


def test_a_mixer_keeps_what_its_formula_says():
    """A flat mixer's block, float32: norms keep input, mean and 1/deviation; mixing, GELU and maps their inputs."""
    T, D = 64, 32
    one, two = (count("masked-mixer", context=T, n_blocks=n, **SIZES) for n in (1, 2))
    of_features = {
        "norm input": 1,
        "normed, mixed": 1,
        "norm input again": 1,
        "normed, fed": 1,
        "before and after GELU": 8,
    }
    assert two.kept - one.kept == 4 * (T * D * sum(of_features.values()) + 2 * 2 * T)
    assert two.parameters - one.parameters == 4 * (T * T + T + 8 * D * D + 5 * D + 4 * D)


def test_fused_attention_keeps_nothing_of_the_size_of_the_context_squared():
    def growth(fused: bool) -> float:
        short, double = (
            bytes_by_depth("llama", [4], context=context, n_heads=4, fused=fused, **SIZES)[4].kept
            for context in (128, 256)
        )
        return double / short

    assert growth(fused=True) == pytest.approx(2, rel=0.01)
    assert growth(fused=False) > 2.5


def test_a_head_takes_no_part():
    small, large = (
        count("masked-mixer", context=8, d_model=4, n_blocks=1, vocabulary=vocabulary) for vocabulary in (10, 20)
    )
    assert large.parameters - small.parameters == 4 * 10 * 4  # the embedding's rows alone


def rows(**changed: float) -> pd.DataFrame:
    """A memory table like the paper's: its printed numbers where it has them, else a made-up one."""
    paper, found = exhibits.paper("mixers"), []
    for model, claim in {formulae.MIXER: "001-13", formulae.TRANSFORMER: "001-14", formulae.FUSED: "001-13"}.items():
        printed = formulae.printed_table(paper[claim])
        for n in LAYERS:
            for context in CONTEXTS:
                total = printed.get((n, context), 2000.0 * n + context) * changed.get(model, 1.0) * formulae.MIB
                found.append((model, n, context, 0, 0, 0, total, float("nan")))
    return pd.DataFrame(found, columns=list(memory.columns)).assign(run="r", seed=0)


def judged(claim: str, found: pd.DataFrame) -> list[str]:
    return judging.parts(judging.judged(claim, memory=found))


def test_the_printed_tables_agree_with_themselves_and_other_numbers_do_not():
    assert judged("001-13", rows()) == ["reproduced", "reproduced"]
    assert judged("001-14", rows()) == ["reproduced", "reproduced"]
    assert judged("001-13", rows(**{formulae.MIXER: 2.0}))[0] == "contradicted"
    assert judged("001-14", rows(**{formulae.TRANSFORMER: 0.2})) == ["contradicted", "contradicted"]


def test_a_device_peak_stands_in_place_of_the_count_and_what_did_not_fit_is_not_met():
    found = rows()
    found["peak_bytes"] = found["total_bytes"]
    found["total_bytes"] = 1.0
    assert judged("001-13", found) == ["reproduced", "reproduced"]
    mixer = found["model"].eq(formulae.MIXER) & found["n_blocks"].gt(4)
    found.loc[mixer & found["context"].ne(2048) & found["context"].ne(8192), "peak_bytes"] = float("nan")
    assert judged("001-13", found)[0] == "contradicted"


def test_a_growth_that_did_not_fit_the_device_refutes_nothing():
    found = rows()
    found["peak_bytes"] = found["total_bytes"]
    long = found["context"].eq(8192) & found["n_blocks"].eq(8)
    found.loc[long, "peak_bytes"] = float("nan")
    assert judged("001-own-11", found)[1] == "undecided"
    assert judged("001-13", found)[1] == "undecided"
    found.loc[found["model"].eq(formulae.TRANSFORMER) & found["context"].eq(2048), "peak_bytes"] = float("nan")
    assert judged("001-14", found)[0] == "undecided"


def test_fused_attention_is_judged_by_both_ends_of_the_contexts():
    as_the_mixer = rows()
    assert judged("001-own-11", as_the_mixer) == ["reproduced", "contradicted"]


def test_the_table_and_the_figure_hold_every_printed_number():
    tables = {"memory": rows(), "paper": exhibits.paper("mixers")}
    made = exhibits.table("mixers", "memory", tables)
    assert len(made) == len(rows())
    assert made["paper_mb"].notna().sum() == 14 + 8
    assert made.loc[made["model"].eq(formulae.MIXER), "over_flat_mixer"].eq(1).all()
    assert len(exhibits.make_exhibit(exhibits.figure("mixers", "memory"), tables).axes) == len(LAYERS)


def test_totals_are_weights_twice_buffers_and_what_is_kept():
    assert Bytes(parameters=10, buffers=3, kept=5).total == 28
