"""Causality audit: does a prediction depend on later tokens, padding or other rows, or ignore its inputs?

Every check alters an input and compares predictions in float64, on fresh weights large enough that every path matters,
or on the weights of a trained run. A check that does not concern an architecture is not applicable. An architecture
kept as published declares in LEAKS which checks it fails: the audit passes if these fail and no others do.

    subject     the model, its rows, and their alterations
    checks      the changes, and the predictions that must not follow
    findings    the results, as a table or as JSON
"""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from allmlp import models
from allmlp.models.audit.checks import LeakError, NotApplicableError, later_gradients, later_tokens
from allmlp.models.audit.findings import Finding, examine
from allmlp.models.audit.subject import PAD, Subject, amplify_weights, build_small
from allmlp.models.base import SequenceModel

# Further options that an architecture is audited with: those that change which token reads which.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "causal-rn": [{"activation": "relu", "pre_norm": "none"}, {"pre_norm": "approximate"}],
    "masked-mixer": [
        {"n_heads": 1},
        {"n_heads": 1, "expansion": 2.0},
        {"n_heads": 1, "expansion": 0.5},
        {"n_heads": 1, "kernel": 4, "parallel": 2},
        {"n_heads": 1, "positions": "every", "extra_linear": True},
    ],
    "llama": [{"fused": False}],
    "hybrid": [{"order": "beside"}, {"order": "after"}],
    "triangular": [{"form": "reshape"}],
}


def audit(names: Iterable[str]) -> list[Finding]:
    """Every check of these architectures."""
    return [finding for name in names for finding in audit_architecture(name)]


def audit_architecture(name: str) -> list[Finding]:
    """Every check of an architecture of the registry and its VARIANTS, tiny, with fresh weights.

    With padding where the architecture has the option. UserError, with the right names, for an unknown one.
    """
    padded = {"pad": PAD} if "pad" in models.hyperparameters(name) else {}
    findings: list[Finding] = []
    for options in [{}, *VARIANTS.get(name, [])]:
        model = build_small(name, **padded, **options)
        pad = None if model.features is not None else model.vocabulary - 1
        findings += examine(" ".join([name, *map("{}={}".format, options, options.values())]), Subject(model, pad))
    return findings


def audit_weights(
    name: str, architecture: str, hyperparameters: Mapping[str, Any], model: SequenceModel
) -> list[Finding]:
    """Every check of trained weights, at their own size. name: what the findings call them."""
    model = model.double().eval()
    pad = hyperparameters.get("pad", None if "pad" in models.hyperparameters(architecture) else model.vocabulary - 1)
    return list(examine(name, Subject(model, None if model.features is not None else pad)))


def leak(model: SequenceModel) -> str | None:
    """A leak of later tokens in full rows without padding, in words; None if there is none."""
    subject = Subject(amplify_weights(copy.deepcopy(model)), None)
    try:
        with torch.no_grad():
            later_tokens(subject)
            later_gradients(subject)
    except NotApplicableError:
        return None
    except LeakError as found:
        return f"position {found.position} changes with token {found.source}, which comes after it"
    return None
