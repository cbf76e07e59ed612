"""Every number of claims.yaml has a label and a unit, and rules are printed in words."""

import pytest

from allmlp.common.errors import UserError
from allmlp.spec import catalogue, labels

ROW = {"margin": {"loss_nats": 0.02}, "paper": {}, "statistic": "loss", "reproduced_if": "above loss_nats"}


@pytest.mark.parametrize("study", catalogue.STUDIES)
def test_every_number_of_a_study_has_a_label(study: str) -> None:
    labels.check(catalogue.ledger(study))


def test_every_label_is_of_some_claim() -> None:
    rows = [row for study in catalogue.STUDIES for row in catalogue.ledger(study)]
    texts = " ".join(str(row.get(key)) for row in rows for key in labels.RULE)
    used = {*labels.NAME.findall(texts), *(name for row in rows for name in (*row["margin"], *row["paper"]))}
    assert set(labels.read_labels()) - used == {
        "d_model",
        "n_blocks",
        "learning_rate",
        "n_heads",
    }  # of cells in findings


@pytest.mark.parametrize(
    ("changed", "lacking"),
    [
        ({"margin": {"new_share_1": 0.1}}, "new_share_1"),
        ({"paper": {"printed_nats": 1.0}}, "printed_nats"),
        ({"reproduced_if": "above rise_nats"}, "rise_nats"),
    ],
)
def test_a_number_without_a_label_is_refused(changed: dict[str, object], lacking: str) -> None:
    labels.check([ROW])
    with pytest.raises(UserError, match=f"labels.yaml: lacks {lacking}, which claims.yaml names"):
        labels.check([{**ROW, **changed}])


def test_a_rule_is_printed_with_its_margins() -> None:
    said = labels.fill_names("n_gram_share_1 above share_1, inside +- loss_nats", {"share_1": 0.1, "loss_nats": 1.0})
    assert said == "the n-gram share of neurons above 0.1, inside +- 1 nat"
    assert labels.find_label("largest_model_parameters").amount(9e8) == "900,000,000 parameters"
