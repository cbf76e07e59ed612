"""Recovery of an input from the last hidden layer: the descent by its formula, what is asked for, the search."""

import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.models.base import SequenceModel
from allmlp.report import names
from allmlp.studies.mixers.measures.recovery import (
    descend,
    last_hidden_layer,
    read_tokens,
    recovery_rows,
    search,
    shares,
)
from tests import exhibits, judging

ARCHITECTURES = [("masked-mixer", {}), ("masked-mixer", {"expansion": 2.0}), ("llama", {"n_heads": 2})]


def small(architecture: str = "masked-mixer", **own: object) -> SequenceModel:
    torch.manual_seed(0)
    return models.build(architecture, vocabulary=23, context=12, d_model=16, n_blocks=1, **own).eval()


def text(length: int = 8, batch: int = 2) -> torch.Tensor:
    return torch.randint(23, (batch, length), generator=torch.Generator().manual_seed(5))


def test_embeddings_in_place_of_tokens_give_the_tokens_hidden_layer():
    model = small()
    assert torch.equal(last_hidden_layer(model, model.wte(text())), model.hidden(text()))
    assert not model.wte._forward_hooks  # nothing is left behind


def test_descent_is_the_formula_step_by_step():
    """In float64: x <- x - rate_k dL/dx in units of the embeddings' root mean square, L the sum of |differences|."""
    model = small().double()
    tokens, rate, steps = text(batch=1), 0.01, 4
    E = model.wte.weight.detach()
    scale = E.square().mean().sqrt()
    x = torch.randn(1, 8, 16, generator=torch.Generator().manual_seed(3)).double()
    target = model.hidden(tokens).detach()
    for k in range(steps):
        x = x.detach().requires_grad_()
        loss = (last_hidden_layer(model, scale * x) - target).abs().sum()
        loss.backward()
        x = x - rate * (1 - 0.9 * k / steps) * x.grad
    found = descend(model, tokens, ["self"], [rate], steps, seed=3)
    torch.testing.assert_close(found, (scale * x).detach(), rtol=1e-12, atol=1e-12)


def test_rows_descend_side_by_side_as_they_do_alone():
    model = small().double()
    tokens = text(batch=1).expand(3, -1)
    kinds, rates = ["self", "non-self", "self"], [0.02, 0.02, 0.2]
    together = descend(model, tokens, kinds, rates, 5, seed=9)
    tokens_changed = tokens.clone()
    tokens_changed[0] = 1  # another row's text
    other = descend(model, tokens_changed, kinds, rates, 5, seed=9)
    torch.testing.assert_close(together[1:], other[1:])
    assert not torch.equal(together[1], together[2])


def test_non_self_reads_the_hidden_layer_of_later_positions_only():
    """The second half's own outputs hold the second half; the first half moves only by what later positions tell."""
    model = small()
    with torch.no_grad():  # a mixing that passes nothing on: the diagonal alone
        for layer in model.blocks[0].mixer.layers:
            layer.weight.copy_(torch.eye(12).expand_as(layer.weight))
    tokens = text()
    start = descend(model, tokens, ["non-self"] * 2, [0.02] * 2, 0, seed=1)
    moved = descend(model, tokens, ["non-self"] * 2, [0.02] * 2, 20, seed=1)
    assert torch.equal(moved[:, :4], start[:, :4])
    assert not torch.equal(moved[:, 4:], start[:, 4:])
    assert shares(tokens, tokens, ["non-self", "self"]).tolist() == [1, 1]
    wrong = tokens.clone()
    wrong[:, 4:] += 1
    assert shares(wrong, tokens, ["non-self", "self"]).tolist() == [1, 0.5]


def test_true_embeddings_are_read_off_right_and_nothing_that_is_no_number():
    model = small()
    found = read_tokens(model, model.wte(text()).detach())
    assert torch.equal(found["nearest"], text())
    assert (found["inverse"] == text()).double().mean() > 0.9
    assert read_tokens(model, torch.full((1, 3, 16), torch.nan))["nearest"].shape == (1, 3)


@pytest.mark.parametrize(("architecture", "own"), ARCHITECTURES)
def test_the_search_over_tokens_finds_all_of_an_untrained_models_input(architecture, own):
    model, tokens = small(architecture, **own), text()[0]
    assert torch.equal(search(model, tokens), tokens)
    assert not model.unembedding._forward_pre_hooks


def test_the_measure_gives_its_columns_and_finds_an_easy_input():
    model = small()
    rows = pd.DataFrame(recovery_rows(model, text(batch=4), seed=0, steps=150)).assign(step=0, tokens=8)
    assert rows["way"].tolist() == ["self", "non-self"] * 2 + ["search"]
    assert rows.set_index(["way", "rates"]).loc[("self", "searched"), "recovered_1"] > 0.8
    assert rows["recovered_1"].between(0, 1).all()
    again = pd.DataFrame(recovery_rows(model, text(batch=4), seed=0, steps=150)).assign(step=0, tokens=8)
    pd.testing.assert_frame_equal(rows, again)


LEVELS = {"flat": (0.99, 0.9, 0.6), "expanded": (0.5, 0.6, 0.0), "llama-2": (0.6, 0.1, 0.0), "llama-4": (0.7, 0.1, 0.0)}


def table_of(levels: dict[str, tuple[float, float, float]] = LEVELS, seeds: int = 5) -> pd.DataFrame:
    """Rows as measured: variant -> untrained self, trained self, trained non-self (and half of it untrained)."""
    found = []
    for variant, (untrained, trained, others) in levels.items():
        for seed in range(seeds):
            labels = {"run": f"{variant}-{seed}", "seed": seed, "variant": variant, "size": "base", "padding": "right"}
            common = {**labels, "d_model": 64, "n_blocks": 2, "tokens": 32, "rate_1": 0.02, "ceiling_1": 1.0}
            for step, by_way in (
                (0, {"self": untrained, "non-self": others / 2}),
                (400, {"self": trained, "non-self": others}),
            ):
                for way, share in {**by_way, "search": 1.0}.items():
                    jitter = 0.0001 * seed * len(variant)
                    share = {"recovered_1": share - jitter, "nearest_1": share - jitter}
                    rates = "none" if way == "search" else "searched"
                    found.append({**common, "step": step, "way": way, "rates": rates, **share})
    return pd.DataFrame(found)


def judged(claim: str, rows: pd.DataFrame) -> list[str]:
    return judging.parts(judging.judged(claim, scale="gpu", recovery=rows))


def test_the_rules_hold_where_the_paper_is_right_and_fall_where_it_is_not():
    assert judged("001-28", table_of()) == ["reproduced"] * 3
    assert judged("001-own-9", table_of()) == ["reproduced"]
    assert judged("001-own-10", table_of()) == ["reproduced"] * 2
    alike = table_of(dict.fromkeys(LEVELS, (0.99, 0.7, 0.2)))
    assert judged("001-28", alike) == ["below margin", "below margin", "contradicted"], "a hair ahead in every seed"
    assert judged("001-own-9", alike) == ["below margin"]


def test_models_of_which_nothing_or_all_is_recovered_are_not_compared():
    nothing = table_of(dict.fromkeys(LEVELS, (0.99, 0.0, 0.0)))
    assert judged("001-own-9", nothing) == ["undecided"]
    assert judged("001-28", nothing) == ["undecided"] * 3, "(c): a descent that finds nothing shows nothing"
    found = judging.judged("001-28", scale="gpu", recovery=table_of(dict.fromkeys(LEVELS, (1.0, 0.98, 0.0))))
    assert judging.parts(found) == ["undecided", "undecided", "contradicted"]
    assert "leaves no room for 0.2 more" in found.parts[1].premise_not_met


def test_too_few_seeds_decide_nothing():
    assert set(judged("001-28", table_of(seeds=3))) == {"undecided"}


def test_the_figure_and_the_table_show_every_model_and_the_figure_no_untrained_one():
    rows, figure = table_of(), exhibits.figure("mixers", "recovery")
    wider = rows[rows["step"].eq(0)].assign(d_model=128, size="d128-n2-b16", run=lambda r: r["run"] + "-wide")
    shown = exhibits.make_exhibit(figure, {"recovery": pd.concat([rows, wider])})
    assert set(shown.axes[0].get_legend_handles_labels()[1]) - {"search over tokens"} == set(map(names.display, LEVELS))
    assert exhibits.svg(figure, {"recovery": rows}) == exhibits.svg(figure, {"recovery": pd.concat([rows, wider])})
    made = exhibits.table("mixers", "recovery", {"recovery": rows})
    assert set(made["variant"]) == set(LEVELS)
    assert made["seeds"].eq(5).all()
