"""The rules on text and images (002-7 to 002-9, 002-own-2, -3, -5 to -7). The unit is the seed."""

from dataclasses import replace

import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import corpus_rows, judge_all, require_models
from allmlp.judging.statistics import Finding, judge_better, judge_equal
from allmlp.report.seeds import last_rows
from allmlp.spec.protocols import Evidence
from allmlp.studies.copying.parts import text_ends

TEXT, STORIES, NOVELS = "wikitext-bytes", "stories-bytes", "classics-bytes"  # of 002-7, 002-own-2 and 002-own-5
LINEAR_TEXT, OTHERS_TEXT = "linear-causal-rn", ("transformer", "linear-transformer")


def text_convergence(evidence: Evidence) -> Finding:
    """002-7: Linear CausalRN ends as the two Transformers do, on WikiText-103."""
    return _judge_text(evidence, TEXT)


def text_of_stories(evidence: Evidence) -> Finding:
    """002-own-2: the same on the project's stories."""
    return _judge_text(evidence, STORIES)


def text_of_novels(evidence: Evidence) -> Finding:
    """002-own-5: the same on novels."""
    return _judge_text(evidence, NOVELS)


def _judge_text(evidence: Evidence, corpus: str) -> Finding:
    """TOST of the loss at the end, Linear CausalRN minus each other model."""
    require_models(evidence, "text_curve", (LINEAR_TEXT, *OTHERS_TEXT))
    rows = corpus_rows(text_ends(evidence.table("text_curve")), corpus)
    losses = rows.pivot(index="seed", columns="model", values="nats_per_byte")
    differences = {f"minus {other}": (losses[LINEAR_TEXT] - losses[other]).to_numpy() for other in OTHERS_TEXT}
    margin = evidence.margin["loss_nats"]
    finding = judge_all(
        {name: judge_equal(values, margin, unit="nats per byte") for name, values in differences.items()}
    )
    at_end = ", ".join(f"{model} {losses[model].mean():.3f}" for model in (LINEAR_TEXT, *OTHERS_TEXT))
    return replace(finding, text=f"on {corpus}, mean loss at the end in nats per byte: {at_end}; {finding.text}")


LINEAR, OTHERS = "linear-birn", ("transformer-classifier", "linear-transformer-classifier")
EXACT = "birn"
PAPER, SMALL, REAL = "cifar5m", "digits", "cifar10"  # of the paper's claims, of 002-own-3, of 002-own-6 and -7
NUMBERS = {"test_nats": ("loss_nats", "nats"), "test_accuracy_1": ("accuracy_1", "")}  # column: margin, unit


def images_end_alike(evidence: Evidence) -> Finding:
    """002-8: on CIFAR-5m Linear BiRN ends as the two Transformers do, in test loss and accuracy."""
    return _judge_images(evidence, PAPER)


def photographs_end_alike(evidence: Evidence) -> Finding:
    """002-own-6: the same on CIFAR-10."""
    return _judge_images(evidence, REAL)


def _judge_images(evidence: Evidence, corpus: str) -> Finding:
    require_models(evidence, "image_curve", (LINEAR, *OTHERS))
    rows = corpus_rows(last_rows(evidence.table("image_curve")), corpus)
    loss, accuracy = (_judge_equality(evidence, rows, column, LINEAR, OTHERS) for column in NUMBERS)
    return require_all_parts({"(a) test loss": loss, "(b) test accuracy": accuracy})


def digits_end_alike(evidence: Evidence) -> Finding:
    """002-own-3: on digits Linear BiRN ends as the two Transformers do, and BiRN as Linear BiRN does."""
    require_models(evidence, "image_curve", (EXACT, LINEAR, *OTHERS))
    rows = corpus_rows(last_rows(evidence.table("image_curve")), SMALL)
    names = {"test_nats": "test loss", "test_accuracy_1": "test accuracy"}
    linear = {names[column]: _judge_equality(evidence, rows, column, LINEAR, OTHERS) for column in NUMBERS}
    exact = {
        f"{names[column]} of BiRN": _judge_equality(evidence, rows, column, EXACT, (LINEAR,)) for column in NUMBERS
    }
    parts = zip("abcd", (linear | exact).items(), strict=True)
    return require_all_parts({f"({letter}) {name}": finding for letter, (name, finding) in parts})


def heat_in_the_centre(evidence: Evidence) -> Finding:
    """002-9: Linear BiRN's class token takes more from the middle of photographs than the middle's share of the area.

    Linear BiRN is the network of the published heat-map code and of Figure 7. The text also reports BiRN, if it is
    planned.
    """
    return _judge_centre(evidence, PAPER)


def heat_in_photographs(evidence: Evidence) -> Finding:
    """002-own-7: the same on CIFAR-10."""
    return _judge_centre(evidence, REAL)


def _judge_centre(evidence: Evidence, corpus: str) -> Finding:
    require_models(evidence, "heat_shares", (LINEAR,))
    rows = corpus_rows(evidence.table("heat_shares"), corpus)
    excess = (rows["centre_share_1"] - rows["area_share_1"]).groupby([rows["model"], rows["seed"]]).mean()
    finding = judge_better(
        excess[LINEAR].to_numpy(), evidence.margin["heat_share_1"], unit="of the heat beyond the area"
    )
    layers = ", ".join(str(layer) for layer in sorted(rows["layer"].unique()))
    text = f"layer {layers} of {LINEAR}: {finding.text}"
    if EXACT in excess.index.get_level_values("model"):
        text += f"; {EXACT}: mean {excess[EXACT].mean():.3g}"
    return replace(finding, text=text)


def _judge_equality(
    evidence: Evidence, rows: pd.DataFrame, column: str, model: str, others: tuple[str, ...]
) -> Finding:
    """TOST of a number at the end, `model` minus each of `others`, paired by seed."""
    values = rows.pivot(index="seed", columns="model", values=column)
    margin, unit = NUMBERS[column]
    differences = {f"minus {other}": (values[model] - values[other]).to_numpy() for other in others}
    found = {name: judge_equal(numbers, evidence.margin[margin], unit=unit) for name, numbers in differences.items()}
    finding = judge_all(found)
    at_end = ", ".join(f"{name} {values[name].mean():.3f}" for name in (model, *others))
    return replace(finding, text=f"mean at the end: {at_end}; {finding.text}")
