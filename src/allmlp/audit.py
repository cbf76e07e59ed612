"""Causality audit: does a prediction depend on what it must not see, or ignore what it was given?

Every check alters an input and looks at predictions, on fresh weights drawn so large that every path matters, or on the
weights of a trained run, in float64. A check that does not concern an architecture is not applicable. An architecture
kept as published declares in LEAKS which checks it fails: the audit is in order if these fail and no others do.
"""

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from allmlp import models
from allmlp.errors import UserError
from allmlp.models.base import SequenceModel

if TYPE_CHECKING:
    from allmlp.training.checkpoint import Trained

TINY = {"vocabulary": 11, "context": 12, "d_model": 8, "n_blocks": 2, "n_heads": 2, "d_mlp": 16, "features": 4}
PAD = 10  # the last token of the tiny vocabulary
# What an architecture is audited with besides: options that change which token reads which.
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
TOLERANCE = 1e-9  # of the largest prediction: what float64 rounds is far less, what leaks far more
MOST_POSITIONS = 12  # that are altered, or asked for gradients, evenly spaced
Result = Literal["pass", "fail", "not applicable"]


@dataclass(frozen=True)
class Finding:
    """What one check found. Of a failure, `source` is the altered position and `position` the first prediction, of the
    same row, that shows it (or does not, where it should); -1 where a whole row or its one prediction is meant."""

    architecture: str
    check: str
    result: Result
    position: int = -1
    source: int = -1
    declared: str = ""  # why this check is known to fail
    detail: str = ""

    @property
    def in_order(self) -> bool:
        """Fails if and only if that is declared, where it applies."""
        return self.result == "not applicable" or (self.result == "fail") == bool(self.declared)

    @property
    def word(self) -> str:
        """One word for a table."""
        return {"pass": "pass", "fail": "leaks" if self.declared else "FAIL", "not applicable": "-"}[self.result]


class LeakError(Exception):
    """Raised by a check at the first offending position."""

    def __init__(self, detail: str, position: int = -1, source: int = -1) -> None:
        super().__init__(detail)
        self.position, self.source = position, source


class NotApplicableError(Exception):
    """Raised by a check that does not concern the model, with the reason."""


@dataclass(frozen=True)
class Subject:
    """A model in float64 and eval mode, and the token that pads its rows; None: it was built without one."""

    model: SequenceModel
    pad: int | None

    def rows(self, batch: int = 1, seed: int = 0) -> Tensor:
        """Full rows of random tokens, none of them padding, or of random patches."""
        drawn, model = torch.Generator().manual_seed(seed), self.model
        if model.features is not None:
            return torch.randn(batch, model.context, model.features, dtype=torch.float64, generator=drawn)
        return self._named(torch.randint(self._text_tokens, (batch, model.context), generator=drawn))

    def altered(self, rows: Tensor, position: int) -> Tensor:
        """The rows with another token, or other numbers, at one position of the first row."""
        changed = rows.clone()
        if rows.is_floating_point():
            changed[0, position] = self.rows(seed=1000 + position)[0, position]
        else:
            number = changed[0, position] - (0 if self.pad is None else (changed[0, position] > self.pad).long())
            changed[0, position] = self._named((number + 1) % self._text_tokens)
        return changed

    def padded(self, text: Tensor, before: int) -> Tensor:
        """One row of `before` tokens of padding, then as much of the text as has room."""
        assert self.pad is not None
        padding = text.new_full((1, before), self.pad)
        return torch.cat([padding, text], dim=1)[:, : self.model.context]

    @property
    def _text_tokens(self) -> int:
        return self.model.vocabulary - (self.pad is not None)

    def _named(self, numbers: Tensor) -> Tensor:
        return numbers if self.pad is None else numbers + (numbers >= self.pad)


def spaced(start: int, end: int) -> list[int]:
    """At most MOST_POSITIONS of start .. end - 1, evenly spaced, both ends among them."""
    count = min(MOST_POSITIONS, end - start)
    return sorted({start + round(i * (end - 1 - start) / max(1, count - 1)) for i in range(count)})


def differs(a: Tensor, b: Tensor) -> Tensor:
    """Which predictions of two passes differ by more than rounding: (..., V), (..., V) -> (...) bool."""
    scale = torch.stack([a.abs().amax(), b.abs().amax()]).amax()
    return ~((a - b).abs().amax(-1) <= TOLERANCE * scale)  # not a number is a difference


def _first(where: Tensor) -> int:
    return int(where.nonzero()[0, 0])


def _look_for_the_future(subject: Subject, row: Tensor, first: int) -> None:
    """Alter tokens `first` and later of a row, one at a time: nothing before them may change."""
    known = subject.model(row)[0]
    for source in spaced(max(1, first), row.shape[1]):
        seen = differs(known, subject.model(subject.altered(row, source))[0])[:source]
        if seen.any():
            position = _first(seen)
            raise LeakError(f"the prediction at {position} changes with token {source}", position, source)


def later_tokens(subject: Subject) -> None:
    """No prediction changes with a later token."""
    _needs_causal(subject)
    _look_for_the_future(subject, subject.rows(), first=1)


@torch.enable_grad()
def later_gradients(subject: Subject) -> None:
    """No gradient comes back from a prediction to a later token's embedding."""
    _needs_causal(subject)
    embedded, logits = from_embeddings(subject)
    weights_V = torch.randn(logits.shape[-1], dtype=logits.dtype, generator=torch.Generator().manual_seed(1))
    for position in spaced(0, logits.shape[1] - 1):
        (gradient_BTD,) = torch.autograd.grad(logits[0, position] @ weights_V, embedded, retain_graph=True)
        size_T = gradient_BTD[0].abs().amax(-1)
        seen = ~(size_T[position + 1 :] <= TOLERANCE * size_T.max())
        if seen.any():
            source = position + 1 + _first(seen)
            raise LeakError(f"the prediction at {position} has a gradient at token {source}", position, source)


def left_padding(subject: Subject) -> None:
    """No prediction changes with a later token where rows begin with padding, little of it or much."""
    _needs_causal(subject)
    _needs_padding(subject)
    T = subject.model.context
    for before in sorted({1, T // 4, T // 2, T - 2} & set(range(1, T))):
        try:
            _look_for_the_future(subject, subject.padded(subject.rows(), before), first=before)
        except LeakError as leak:
            raise LeakError(f"after {before} of padding, {leak}", leak.position, leak.source) from None


def more_padding(subject: Subject) -> None:
    """The same text after more padding gets the same predictions, from a model that says so (`pad`)."""
    if subject.model.pad is None:
        raise NotApplicableError("it does not say that it ignores padding")
    T = subject.model.context
    text = subject.rows()[:, : max(1, T // 2)]
    known = subject.model(text)[0]
    for before in spaced(1, T - text.shape[1] + 1):
        changed = differs(known, subject.model(subject.padded(text, before))[0, before:])
        if changed.any():
            position = _first(changed)
            raise LeakError(f"{before} of padding before the text alters its prediction at {position}", position)


def right_padding(subject: Subject) -> None:
    """A text followed by padding gets the same predictions as alone."""
    _needs_causal(subject)
    _needs_padding(subject)
    T = subject.model.context
    for length in sorted({1, T // 2, T - 1} & set(range(1, T))):
        text = subject.rows()[:, :length]
        padded = text.new_full((1, T), subject.pad or 0)
        padded[:, :length] = text
        try:
            alone = subject.model(text)[0]
        except UserError as error:
            raise NotApplicableError("it reads full rows only") from error
        changed = differs(alone, subject.model(padded)[0, :length])
        if changed.any():
            position = _first(changed)
            raise LeakError(f"padding after {length} tokens alters the prediction at {position}", position, length)


def batch_neighbours(subject: Subject) -> None:
    """No prediction changes with the other rows of its batch, or without them."""
    rows, others = subject.rows(4, seed=2), subject.rows(4, seed=3)
    known = subject.model(rows)
    for row in range(len(rows)):
        changed = others.clone()
        changed[row] = rows[row]
        for what, again in (("change with", changed), ("need", rows[row : row + 1])):
            found = subject.model(again)[row if len(again) > 1 else 0]
            seen = differs(known[row], found)
            if seen.any():
                position = _first(seen) if seen.ndim else -1
                raise LeakError(f"predictions of a row {what} the other rows of its batch", position)


def inputs_matter(subject: Subject) -> None:
    """Every input of a row alters a prediction of that row."""
    rows = subject.rows(3, seed=4)
    known = subject.model(rows)[0]
    for source in spaced(0, rows.shape[1]):
        if not differs(known, subject.model(subject.altered(rows, source))[0]).any():
            raise LeakError(f"no prediction of a row changes with its input {source}", source=source)


CHECKS: dict[str, Callable[[Subject], None]] = {
    "later tokens": later_tokens,
    "later gradients": later_gradients,
    "left padding": left_padding,
    "more padding": more_padding,
    "right padding": right_padding,
    "batch neighbours": batch_neighbours,
    "inputs matter": inputs_matter,
}


def _needs_causal(subject: Subject) -> None:
    if not subject.model.causal:
        raise NotApplicableError("it does not say that it is causal")


def _needs_padding(subject: Subject) -> None:
    if subject.pad is None:
        raise NotApplicableError("it was built without a padding token")


def from_embeddings(subject: Subject) -> tuple[Tensor, Tensor]:
    """Token embeddings of one row, as a leaf, and the predictions (1, T, V) that follow from it."""
    name = subject.model.EMBEDDINGS.get("token_embedding", "").rpartition(".")[0]
    leaves: list[Tensor] = []

    def as_leaf(module: torch.nn.Module, given: Any, embedded: Tensor) -> Tensor:
        leaves.append(embedded.detach().requires_grad_())
        return leaves[-1]

    hook = subject.model.get_submodule(name).register_forward_hook(as_leaf)
    try:
        logits = subject.model(subject.rows())
    finally:
        hook.remove()
    if len(leaves) != 1:
        raise NotApplicableError("its tokens are not embedded by one module")
    return leaves[0], logits


def examine(name: str, subject: Subject) -> Iterator[Finding]:
    """Every check of one model, in the order of CHECKS."""
    leaks = subject.model.LEAKS
    if unknown := set(leaks) - set(CHECKS):
        raise ValueError(f"{type(subject.model).__name__}.LEAKS: no check {', '.join(sorted(unknown))}")
    for check, look in CHECKS.items():
        declared = leaks.get(check, "")
        try:
            with torch.no_grad():
                look(subject)
        except NotApplicableError as reason:
            yield Finding(name, check, "not applicable", declared=declared, detail=str(reason))
        except LeakError as leak:
            yield Finding(name, check, "fail", leak.position, leak.source, declared, str(leak))
        else:
            yield Finding(name, check, "pass", declared=declared)


def loud(model: SequenceModel) -> SequenceModel:
    """The model itself in float64 and eval mode, its weights drawn so large that every path through it matters."""
    torch.manual_seed(0)
    for weight in model.double().eval().parameters():
        torch.nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)
    return model


def tiny(name: str, **options: Any) -> SequenceModel:
    """`name` at a size for checks, `loud`."""
    takes = models.hyperparameters(name)
    sizes = {key: TINY[key] for key in takes if key in TINY and (key != "context" or takes[key] != 2)}
    return loud(models.build(name, **{**sizes, **options}))


def leak(model: SequenceModel) -> str | None:
    """What a causal model of that form sees of later tokens in full rows without padding; None if nothing."""
    subject = Subject(loud(copy.deepcopy(model)), None)
    try:
        with torch.no_grad():
            later_tokens(subject)
            later_gradients(subject)
    except NotApplicableError:
        return None
    except LeakError as found:
        return f"position {found.position} changes with token {found.source}, which comes after it"
    return None


def audit_architecture(name: str) -> list[Finding]:
    """Every check of an architecture of the registry and its VARIANTS, tiny, with fresh weights.

    Padding is handled where that can be asked for. UserError, with the right names, for a wrong one.
    """
    padded = {"pad": PAD} if "pad" in models.hyperparameters(name) else {}
    findings: list[Finding] = []
    for options in [{}, *VARIANTS.get(name, [])]:
        model = tiny(name, **padded, **options)
        pad = None if model.features is not None else model.vocabulary - 1
        findings += examine(" ".join([name, *map("{}={}".format, options, options.values())]), Subject(model, pad))
    return findings


def audit_run(trained: "Trained") -> list[Finding]:
    """Every check of a run's last weights, at its own size."""
    run, model = trained.run, trained.model().double().eval()
    pad = run.hyperparameters.get(
        "pad", None if "pad" in models.hyperparameters(run.architecture) else model.vocabulary - 1
    )
    return list(examine(run.id, Subject(model, None if model.features is not None else pad)))


def audit(names: Iterable[str]) -> list[Finding]:
    """Every check of these architectures."""
    return [finding for name in names for finding in audit_architecture(name)]


def show(findings: list[Finding], format: str) -> int:
    """Print findings for people or for machines. Returns how many are not in order."""
    wrong = [finding for finding in findings if not finding.in_order]
    if format == "json":
        rows = [{**asdict(finding), "in_order": finding.in_order} for finding in findings]
        print(json.dumps({"findings": rows, "not_in_order": len(wrong)}, indent=1))
        return len(wrong)
    subjects = list(dict.fromkeys(finding.architecture for finding in findings))
    width = max(map(len, subjects), default=0)
    print(" " * width, *CHECKS, sep="  ")
    for subject in subjects:
        cells = {finding.check: finding.word for finding in findings if finding.architecture == subject}
        print(subject.ljust(width), *(cells[check].ljust(len(check)) for check in CHECKS), sep="  ")
    for finding in findings:
        if finding.result == "fail":
            print(f"{finding.architecture}: {finding.check}: {finding.detail}. {finding.declared or 'NOT DECLARED'}")
        elif not finding.in_order:
            print(f"{finding.architecture}: {finding.check}: passes, but LEAKS says: {finding.declared}")
    print(f"{len(subjects)} audited; not in order: {len(wrong)}")
    return len(wrong)
