"""Study 004's rules on tables of made-up losses, and on what no training alters."""

import numpy as np
import pandas as pd
import pytest

from allmlp.judging.rules import NotPlannedError
from allmlp.spec import exhibits
from allmlp.studies.triangular import early_steps
from allmlp.studies.triangular.measures.mixing import causality, parameter_counts
from allmlp.studies.triangular.parts import RATES, SHAKESPEARE
from allmlp.studies.triangular.runs import PUBLISHED
from tests import judging
from tests.unit.known_triangular import EARLY, begun, learnt, searched, written

SEARCHED = searched("two-averaging")


def judged(claim: str, **tables: pd.DataFrame):
    return judging.judged(claim, **{"cost": SEARCHED, **tables})


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        ("004-2", {}, "reproduced"),
        ("004-2", {"one-plain": 5.0}, "contradicted"),
        ("004-2", {"one-plain": 5.052}, "undecided"),
        ("004-4", {}, "partly"),  # the averaging mask leaves nothing for a second triangle to gain
        ("004-4", {"two-averaging": 4.8}, "reproduced"),
        ("004-5", {}, "contradicted"),
        ("004-5", {"gelu": 5.0}, "reproduced"),
        ("004-own-1", {}, "reproduced"),
        ("004-own-1", {"reshape": 5.0}, "contradicted"),
        ("004-own-2", {}, "reproduced"),
        ("004-own-2", {"two-plain": 4.8}, "contradicted"),
    ],
)
def test_rules_on_variants(claim, change, verdict) -> None:
    changed = {**EARLY, **change}
    assert judged(claim, learning=learnt(changed), loss_curve=begun(changed)).verdict == verdict


@pytest.mark.parametrize("claim", ["004-2", "004-4", "004-5", "004-own-1", "004-own-2"])
@pytest.mark.parametrize("without", [SEARCHED.iloc[:0], SEARCHED.assign(part="comparison"), pd.DataFrame()])
def test_a_rule_on_rates_that_were_searched_for_is_not_applied_to_one_rate_for_all(claim, without) -> None:
    _, row = judging.claim_of(claim)
    if "same budget" not in " ".join(row["statistic"].split()):
        found = judged(claim, learning=learnt(EARLY), loss_curve=begun(EARLY), cost=without)
        assert found.verdict != "undecided"
        return
    with pytest.raises(NotPlannedError, match="needs a search of learning rates, which is not planned"):
        judged(claim, learning=learnt(EARLY), cost=without)


def test_a_finding_names_the_variants_whose_best_rate_is_at_an_edge_of_the_search() -> None:
    def text(cost: pd.DataFrame) -> str:
        return judged("004-2", learning=learnt(EARLY), loss_curve=begun(EARLY), cost=cost).text

    said = text(searched("one-plain", "gelu"))
    assert "best rate at an edge of the search: one-plain (highest, fresh on stories-chunks), one-plain" in said
    assert "gelu" not in said
    assert "edge" not in text(searched("one-plain", corpus="another"))
    within = searched("one-plain").assign(diverged=False)
    assert "edge" not in text(within)
    assert "edge" not in text(searched("gelu"))


def test_captions_say_how_rates_were_set_at_every_scale() -> None:
    shown = {**exhibits.study_exhibits("triangular", "tables"), **exhibits.study_exhibits("triangular", "figures")}
    for name in ("differences", "loss_curves", "fine_tuning", "variants"):
        assert RATES in shown[name].caption
    assert not any("published model" in exhibit.caption for exhibit in shown.values())


def test_a_discount_is_equal_in_loss_and_a_tie_in_time_is_no_gain() -> None:
    rows = learnt(EARLY)
    for machines, verdict in ((1, "undecided"), (5, "reproduced")):  # the unit of a speed is the machine
        hardware = (rows["seed"] % machines).map("machine {}".format)
        cost = pd.concat([SEARCHED, rows[["run"]].assign(hardware=hardware)])
        slower = rows["step_seconds"].where(rows["variant"].ne("one-discounted"), 1.5 + 0.01 * rows["seed"])
        found = judged("004-3", learning=rows.assign(step_seconds=slower), cost=cost)
        assert (found.parts[0].verdict, found.parts[1].verdict) == ("reproduced", verdict)
        tie = judged("004-3", learning=rows, cost=cost).parts[1]
        assert tie.verdict != "reproduced"


def test_a_variant_that_is_not_planned_or_diverged_is_reported() -> None:
    with pytest.raises(NotPlannedError, match="needs the variants one-plain, which are not planned"):
        judged("004-2", learning=learnt({"one-averaging": 5.0}), loss_curve=begun({"one-averaging": 5.0}))
    rows = begun(EARLY)
    of_one = (rows["variant"] == "one-plain") & (rows["seed"] == 3)
    stopped = rows[~of_one | (rows["step"] < 50)]
    assert judged("004-2", learning=learnt(EARLY), loss_curve=stopped).verdict == "undecided"
    later = rows[~of_one | (rows["step"] < 200)]  # after the beginning
    assert judged("004-2", learning=learnt(EARLY), loss_curve=later).verdict == "reproduced"


def falling(steps: np.ndarray, speed: float, kept: slice = slice(None)) -> early_steps.Curve:
    """A loss from 7 nats towards 3 that is faster or slower, of which some rows are kept."""
    return early_steps.Curve(steps[kept], (3 + 4 * np.exp(-speed * steps / 50))[kept], 0.5)


def test_the_beginning_is_the_same_whatever_the_budget_and_the_rows_that_are_kept() -> None:
    lead = {}
    for name, steps, kept in (
        ("short", np.arange(350), slice(None)),
        ("long", np.arange(4000), slice(None)),
        ("thinned", np.arange(4000), slice(None, None, 3)),
    ):
        slow, fast = early_steps.early_losses([falling(steps, 1.0, kept), falling(steps, 1.2, kept)])
        lead[name] = slow - fast
    assert lead["short"] == lead["long"] > 0.1
    assert lead["thinned"] == pytest.approx(lead["long"], rel=0.02)
    assert early_steps.last_step([falling(np.arange(20), 1.0)]) == 19, "all steps, where none gets to words"


@pytest.mark.parametrize("corpus", SHAKESPEARE)
def test_fine_tuning_is_judged_on_shakespeare_in_two_parts(corpus) -> None:
    tuned = learnt({PUBLISHED: 5.0}, "fine-tuning", corpus)

    def found(lowest: float, learning: pd.DataFrame = tuned, copied: int = 5, part: str = "alone-as-long") -> list[str]:
        """`lowest`: what training alone reaches on the way, in nats per token; it ends a nat higher."""
        alone = learnt({PUBLISHED: lowest}, part, corpus).rename(
            columns={"end_nats_per_character": "validation_nats_per_character"}
        )
        after = alone.assign(validation_nats_per_character=alone["validation_nats_per_character"] + 1)
        curve = pd.concat([alone.assign(step=500), after.assign(step=11000)])
        return judging.parts(judged("004-7", learning=learning, loss_curve=curve, samples=written(copied, corpus)))

    assert found(5.5) == ["reproduced", "reproduced"]
    assert found(5.5, copied=40) == ["reproduced", "contradicted"]
    assert found(5.5, copied=3) == ["reproduced", "undecided"], "no more than words in no order"
    assert found(5.0)[0] == "contradicted", "as good as fine-tuning before it learned its text by heart"
    with pytest.raises(NotPlannedError, match="needs runs on shakespeare or gutenberg-shakespeare"):
        found(5.5, learning=tuned.assign(corpus="stories-dealt"))
    with pytest.raises(NotPlannedError, match="needs runs of alone-as-long, which are not planned"):
        found(5.5, part="alone")


def test_counts_and_causality_are_judged_exactly() -> None:
    counts = parameter_counts()
    assert judged("004-1", parameter_counts=counts).verdict == "reproduced"
    rows = causality()
    assert judged("004-8", causality=rows).verdict == "reproduced"
    assert judged("004-8", causality=rows.assign(leak_1=1e-300)).verdict == "partly"
