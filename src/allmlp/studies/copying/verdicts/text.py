"""The rules on text as tests (002-7, 002-own-2): held-out losses of study 002 -> findings. The unit is the seed."""

from dataclasses import replace

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding, equal
from allmlp.studies.copying.parts import text_ends
from allmlp.studies.rules import every, of_corpus, require_models

PAPER, STORIES = "wikitext-bytes", "stories-bytes"  # the corpora of 002-7 and 002-own-2
LINEAR, OTHERS = "linear-causal-rn", ("transformer", "linear-transformer")


def text_convergence(evidence: Evidence) -> Finding:
    """002-7: Linear CausalRN ends as the two Transformers do, on WikiText-103."""
    return _alike(evidence, PAPER)


def text_of_stories(evidence: Evidence) -> Finding:
    """002-own-2: the same on the project's stories."""
    return _alike(evidence, STORIES)


def _alike(evidence: Evidence, corpus: str) -> Finding:
    """TOST of the loss at the end, Linear CausalRN minus each other model."""
    require_models(evidence, "text_curve", (LINEAR, *OTHERS))
    rows = of_corpus(text_ends(evidence.table("text_curve")), corpus)
    losses = rows.pivot(index="seed", columns="model", values="nats_per_byte")
    differences = {f"minus {other}": (losses[LINEAR] - losses[other]).to_numpy() for other in OTHERS}
    margin = evidence.margin["loss_nats"]
    finding = every({name: equal(values, margin, unit="nats per byte") for name, values in differences.items()})
    at_end = ", ".join(f"{model} {losses[model].mean():.3f}" for model in (LINEAR, *OTHERS))
    return replace(finding, text=f"on {corpus}, mean loss at the end in nats per byte: {at_end}; {finding.text}")
