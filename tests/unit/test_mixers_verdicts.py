"""The rules of study 001's trainings on made-up measurements where the answer is known."""

import numpy as np
import pandas as pd
import pytest

from allmlp.judging.rules import NotComparableError, NotPlannedError
from allmlp.judging.statistics import Finding
from allmlp.studies.mixers.verdicts import common, expansion
from tests import judging
from tests.unit.made_up_curves import SEEDS, curve, leaks, table


def judged(claim: str, rows: pd.DataFrame, scale: str = "workstation", **more: pd.DataFrame) -> Finding:
    return judging.judged(claim, scale=scale, learning_curve=rows, **more)


def parts(*args, **more) -> list[str]:
    return judging.parts(judged(*args, **more))


def test_flat_against_expanded():
    slow = {"seconds": 0.015}
    rows = table(curve("flat", 2.0), curve("expanded", 2.0, **slow))
    assert parts("001-7", rows) == ["reproduced", "undecided"]
    rows = table(curve("flat", 2.1), curve("expanded", 2.0, **slow))
    assert parts("001-7", rows) == ["contradicted", "undecided"]
    wide = {"size": "d128-n2-b16", "d_model": 128}
    rows = table(rows, curve("flat", 1.5, **wide), curve("expanded", 2.0, **wide))  # the smallest over widths
    assert parts("001-7", rows)[0] == "contradicted"


def test_expanded_at_equal_samples_and_its_throughput():
    rows = table(curve("flat", 2.0), curve("expanded", 2.07, seconds=0.015))
    assert parts("001-8", rows) == ["reproduced", "undecided", "undecided"]
    assert "timed on 1 machine, 5 are needed: 0.333 on" in judged("001-8", rows).parts[1].premise_not_met
    rows = table(curve("flat", 2.0), curve("expanded", 1.9, seconds=0.03))
    assert parts("001-8", rows) == ["contradicted", "undecided", "undecided"]


def test_losses_after_an_epoch_are_not_those_of_a_longer_run():
    rows = table(curve("flat", 2.111), curve("expanded", 2.183))
    printed = judged("001-8", rows, scale="paper").parts[2]
    assert "runs end after 400 steps or more, the epoch after 125,000" in printed.premise_not_met


def test_llama_of_half_the_width_and_speed():
    half = {"size": "d32-n2-b16", "d_model": 32}
    rows = table(curve("expanded", 2.0), curve("llama-16", 2.0, seconds=0.06, **half))
    memory = rows[["run"]].drop_duplicates().assign(peak_bytes=100.0)
    memory.loc[memory["run"].str.startswith("llama"), "peak_bytes"] = 400.0
    found = judged("001-4", rows, training_memory=memory)
    assert judging.parts(found) == ["undecided", "undecided", "reproduced", "reproduced"]
    assert found.parts[1].premise_not_met == "both have trained for 400 of 160,000 steps"
    late = rows.assign(step=rows["step"] * 400, flops=rows["flops"] * 400)
    assert parts("001-4", late, training_memory=memory)[1] == "reproduced"
    assert parts("001-4", late[late["seed"] < 4], training_memory=memory)[1] == "undecided"


def test_one_machine_decides_nothing_of_a_speed_and_five_do(monkeypatch):
    half = {"size": "d32-n2-b16", "d_model": 32}
    rows = table(curve("expanded", 2.0), curve("llama-16", 2.0, seconds=0.06, **half))
    found = judged("001-31", rows)
    assert judging.parts(found) == ["undecided"] * 2
    assert all("timed on 1 machine, 5 are needed: 6 on" in part.premise_not_met for part in found.parts)
    assert all(part.p is None and part.p_against is None for part in found.parts)
    ratios = {f"machine {number}": 6 + 0.1 * number for number in range(5)}
    monkeypatch.setattr(expansion, "_planned_size_ratios", lambda evidence: ratios)
    assert parts("001-31", rows) == ["contradicted", "reproduced"]
    monkeypatch.setattr(
        expansion, "_planned_size_ratios", lambda evidence: {name: 2.5 * of for name, of in ratios.items()}
    )
    assert parts("001-31", rows) == ["reproduced", "contradicted"]


def test_best_widths():
    of_width, seeds = {128: 2.2, 256: 2.1, 512: 2.0, 1024: 2.3}, range(8)
    llamas = [
        curve("llama-16", loss, d_model=width, size="base" if width == 512 else f"d{width}", seeds=seeds)
        for width, loss in of_width.items()
    ]
    assert parts("001-5", table(*llamas)) == ["undecided", "reproduced"]
    flats = [
        curve("flat", loss, d_model=width, size="base" if width == 512 else f"d{width}", seeds=seeds)
        for width, loss in {256: 2.1, 512: 2.0, 1024: 1.8, 2048: 2.2}.items()
    ]
    assert parts("001-6", table(*llamas, *flats)) == ["undecided", "reproduced", "reproduced"]
    assert parts("001-6", table(*llamas, *flats[:2])) == ["undecided", "contradicted", "undecided"]
    lost = judged("001-6", table(*llamas, *flats[:2])).parts[1]
    assert "the flat mixer of width 512 against Llamas of width 128" in lost.text
    few = judged("001-5", table(*(llama for llama in llamas if llama["d_model"].iloc[0] in (128, 512)))).parts[1]
    assert (few.verdict, "needs width 256 and 1,024" in few.text) == ("undecided", True)


def test_printed_losses_are_judged_at_the_articles_size_alone():
    mixer = curve("expanded", 2.2, gap=0.03, d_model=256, n_blocks=8)
    assert judged("001-3", mixer).verdict == "undecided"
    assert judged("001-3", mixer, scale="paper").verdict == "reproduced"
    assert judged("001-3", curve("expanded", 2.5, d_model=256), scale="paper").verdict == "contradicted"
    llamas = [
        curve("llama-16", loss, gap=gap, d_model=width, size="base" if width == 512 else f"d{width}")
        for width, loss, gap in ((128, 2.4, 0.02), (256, 2.02, 0.03), (512, 1.91, 0.04), (1024, 2.5, 0.01))
    ]
    assert parts("001-5", table(*llamas), scale="paper")[0] == "contradicted"  # two of six outside


def test_printed_digits_are_rounded_as_they_are_printed():
    assert [common.rounding(value) for value in (2.4, 2.38, 2.169)] == [0.5e-2, 0.5e-2, 0.5e-3]


def test_deep_and_narrow():
    deep = curve("flat", 2.7, size="d16-n32-b16", d_model=16, n_blocks=32, seconds=0.05)
    assert parts("001-12", table(curve("flat", 2.0), deep)) == ["reproduced", "undecided"]
    near = curve("flat", 2.0, size="d16-n32-b16", d_model=16, n_blocks=32)
    assert parts("001-12", table(curve("flat", 2.0), near)) == ["contradicted", "undecided"]


def test_the_wide_model_beside_a_deep_one_is_of_the_width_that_the_claim_names():
    deep = curve("flat", 2.7, size="d64-n64-b16", n_blocks=64)
    named, wider = ({"size": f"d{d}-n2-b16", "d_model": d} for d in (1024, 2048))
    rows = table(curve("flat", 2.5), deep, curve("flat", 2.0, **named), curve("flat", 2.4, **wider))
    found = judged("001-12", rows).parts[0]
    assert (found.verdict, "2 blocks of width 1024" in found.name) == ("reproduced", True)


def test_a_part_whose_runs_are_not_comparable_leaves_the_others():
    decaying = {"schedule": "linear"}
    rows = table(curve("flat", 2.0, **decaying), curve("llama-4", 1.9, seconds=0.02, flops=2000, **decaying))
    found = judged("001-own-1", rows)
    assert [part.verdict for part in found.parts] == ["reproduced", "undecided", "undecided"]
    assert "not judged: needs ends within 10%" in found.parts[1].text
    with pytest.raises(NotComparableError):
        judged("001-17", table(curve("kernel-4", 2.0), curve("kernel-4-linear", 2.0, **decaying),
                               curve("llama-4", 2.0, seconds=0.02, size="d32", d_model=32, **decaying)))  # fmt: skip


def test_the_lead_changes_hands_at_a_number_of_operations():
    """Per doubling of its steps the flat mixer falls by 0.1 nats, the Llama by 0.3; a step of it costs twice as much.

    0.1 log2(400,000 / x) = 0.3 log2(800,000 / x), so x is 400,000 times 2 to the power of 1.5.
    """
    llama = curve("llama-4", 2.0, flops=2000, steps=1600)
    llama["validation_nats"] -= 0.2 * np.log2(llama["step"] / 400)
    rows = table(curve("flat", 2.0, steps=3200), llama)
    found = judged("001-own-12", rows, "long")
    assert (found.verdict, found.unit) == ("reproduced", "billion operations")
    assert found.value == pytest.approx(1e-9 * 400_000 * 2**1.5, rel=0.02)
    assert judged("001-own-12", rows.query("step < 100"), "long").verdict == "contradicted"
    with pytest.raises(NotComparableError, match="needs a constant learning rate"):
        judged("001-own-12", rows.assign(schedule="cosine"), "long")


def test_parallel_convolutions_by_both_readings():
    slower = {"seconds": 0.012}  # a quarter of a doubling: 0.026 nats
    flat, slowest = curve("flat", 2.0), {"seconds": 0.015}
    linear = curve("parallel-2", 1.97, **slower), curve("parallel-4", 1.98, **slowest)
    published = curve("parallel-2-gelu", 1.97, **slower), curve("parallel-4-gelu", 1.98, **slowest)
    assert parts("001-10", table(flat, *linear, *published)) == ["reproduced"] * 6
    published = curve("parallel-2-gelu", 2.1), curve("parallel-4-gelu", 1.9)
    assert parts("001-10", table(flat, *linear, *published)) == ["reproduced"] * 3 + ["contradicted"] * 3
    without = judged("001-10", table(flat, *linear)).parts
    assert [part.verdict for part in without] == ["reproduced"] * 3 + ["undecided"] * 3
    assert all("not judged: needs parallel-2-gelu" in part.text for part in without[3:])
    with pytest.raises(NotPlannedError):
        judged("001-10", table(flat, *published))


def test_positions():
    rows = table(curve("flat", 2.0), curve("positions-first", 2.005), curve("positions-every", 2.1))
    assert parts("001-11", rows) == ["reproduced", "reproduced"]
    rows = table(curve("flat", 2.0), curve("positions-first", 2.1), curve("positions-every", 2.0))
    assert parts("001-11", rows) == ["contradicted", "contradicted"]


@pytest.mark.parametrize(("llama", "expected"), [(2.1, "reproduced"), (2.004, "below margin"), (1.9, "contradicted")])
def test_a_small_lead_is_not_refuted(llama, expected):
    narrow = curve("llama-4", llama, size="d32-n2-b16", d_model=32)
    alike = table(curve("llama-4", 1.0), curve("kernel-4-linear", 2.0), curve("kernel-4", 2.0))
    assert parts("001-17", table(alike, narrow))[0] == expected
    with pytest.raises(NotPlannedError, match="needs llama-4 of half the width of kernel-4-linear"):
        judged("001-17", alike)
    heads = table(curve("kernel-4", llama), curve("heads-2", 2.0))
    assert parts("001-18", heads)[0] == expected


def test_hybrids_gain_by_their_leak_alone():
    left = {"padding": "left"}
    rows = table(
        curve("llama-4", 2.0), curve("llama-4", 2.0, **left), curve("hybrid-before", 2.0), curve("hybrid-after", 2.01),
        curve("hybrid-as-published", 1.8, **left),
    )  # fmt: skip
    assert parts("001-19", rows, leak=leaks()) == ["reproduced"] * 4
    better = rows.assign(validation_nats=rows["validation_nats"] - 0.1 * rows["variant"].eq("hybrid-before"))
    assert parts("001-19", better, leak=leaks(before=1e-9)) == [
        "reproduced",
        "contradicted",
        "contradicted",
        "reproduced",
    ]
    assert parts("001-19", rows, leak=leaks(as_published=0.0))[0] == "contradicted"


def test_heads():
    cheap = {16: 0.03, 8: 0.02, 4: 0.012, 2: 0.01}
    rows = table(*(curve(f"llama-{heads}", 2.0 - heads / 200, seconds=s) for heads, s in cheap.items()))
    assert parts("001-15", rows) == ["reproduced", "reproduced", "undecided"]
    rows = table(*(curve(f"llama-{heads}", 2.0 + heads / 100) for heads in cheap))
    assert parts("001-15", rows)[1] == "contradicted"
    without_8 = rows[~rows["variant"].eq("llama-8")]  # it is asked for by the printed losses alone
    assert parts("001-15", without_8) == parts("001-15", rows)
    with pytest.raises(NotPlannedError, match="needs llama-8"):
        parts("001-15", without_8, scale="paper")


FURTHER = (*SEEDS, 90, 91, 92)
COMPARED = {
    "flat": 1.9,
    "gpt-4": 2.0,
    "llama-16": 2.1,
    "llama-4": 2.0,
    "expanded": 2.2,
    "kernel-4": 2.0,
    "heads-2": 1.9,
}


@pytest.mark.parametrize("claim", ["001-5", "001-6", "001-7", "001-8", "001-18", "001-20", "001-own-1"])
@pytest.mark.parametrize("model", ["flat", "llama-16"])
def test_pairs_are_judged_on_the_seeds_that_both_have(claim, model):
    """Further seeds of one model alone change no verdict, and leave no seed without a number."""
    lost = pd.DataFrame(
        {"part": ["training"], "with_dropout_nats": 2.0, "without_dropout_nats": 1.8, "validation_nats": 1.9}
    )

    def found(seeds):
        base = [
            curve(name, loss, seeds=seeds if name == model else SEEDS, d_model=512) for name, loss in COMPARED.items()
        ]
        sizes = [
            curve(name, loss + 0.1, d_model=width, size=f"d{width}")
            for name, loss in COMPARED.items()
            for width in (128, 256, 1024)
        ]
        return judged(claim, table(*base, *sizes), dropout=lost)

    few, more = found(SEEDS), found(FURTHER)
    assert [part.verdict for part in more.parts] == [part.verdict for part in few.parts]
    assert not [part.text for part in more.parts if "no mean" in part.text]


def test_three_settings_need_the_articles_runs():
    names = {"llama-4-v100": (1.82, 0.04), "llama-4-v100-large-rate": (1.79, 0.03), "llama-4-v100-b32": (1.73, 0.05)}
    rows = table(*(curve(name, loss, gap=gap) for name, (loss, gap) in names.items()))
    assert judged("001-16", rows, scale="paper").verdict == "reproduced"
    with pytest.raises(NotPlannedError, match="four V100"):
        judged("001-16", rows)


def test_the_early_gpt_is_tuned_before_it_loses():
    rows = table(curve("flat", 1.9), curve("gpt-4", 2.0), curve("gpt-16", 2.1))
    lost = pd.DataFrame(
        {"part": ["training"], "with_dropout_nats": 2.0, "without_dropout_nats": 1.8, "validation_nats": 1.9}
    )
    found = judged("001-20", rows, dropout=lost)
    assert [part.verdict for part in found.parts] == ["reproduced", "undecided"]
    assert "with dropout and 1.8" in found.parts[0].text
    near = table(curve("flat", 1.99), curve("gpt-4", 2.0), curve("gpt-16", 2.1))
    assert parts("001-20", near, dropout=lost)[0] == "below margin"


def test_own_statements():
    dear = {"seconds": 0.03, "flops": 3000}
    rows = table(curve("flat", 2.0), curve("llama-4", 1.95, **dear))
    assert parts("001-own-1", rows) == ["reproduced"] * 3
    windows = table(rows, curve("flat", 2.3, part="windows"), curve("llama-4", 2.1, part="windows"))
    assert judged("001-own-2", windows).verdict == "reproduced"
    # a gap that closes on the way: the longer runs on documents are read where those on windows end
    closing = curve("flat", 2.0, steps=800)
    closing["validation_nats"] += 0.2 * (closing["step"] <= 400)
    longer = table(closing, curve("llama-4", 1.95, steps=800), curve("flat", 2.2, part="windows"),
                   curve("llama-4", 1.95, part="windows"))  # fmt: skip
    assert judged("001-own-2", longer).verdict == "contradicted"
    added = [curve(name, 1.99, flops=2000) for name in ("heads-2", "kernel-4", "parallel-2", "parallel-4")]
    assert parts("001-own-3", table(rows, *added)) == ["reproduced"] * 4
    assert judged("001-own-4", table(rows, curve("kernel-4", 2.0, gap=0.2))).verdict == "reproduced"
    assert judged("001-own-4", table(rows, curve("kernel-4", 2.0))).verdict == "contradicted"


def test_five_seeds_are_needed():
    rows = table(curve("flat", 2.0, seeds=range(4)), curve("expanded", 2.5, seeds=range(4)))
    assert parts("001-7", rows)[0] == "undecided"
