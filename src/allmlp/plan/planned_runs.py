"""The runs that parameters give a study at a scale, each list made once. Imports no torch."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from allmlp.common.errors import UserError
from allmlp.plan import params
from allmlp.plan.context import Context
from allmlp.plan.params import SCALES, Params, Scale
from allmlp.spec import catalogue
from allmlp.spec.run import Run, link_runs

DEVICE_OF_SCALE: dict[str, str] = {"gpu": "cuda", "paper": "cuda"}


def device_of(parameters: Params, scale: Scale) -> str:
    """The device of a scale's runs: as given, or the scale's own."""
    return parameters.device or DEVICE_OF_SCALE.get(scale, "cpu")


class PlannedRuns:
    """The runs of each study and scale.

    `committed`: with corpora as git has them, whatever text lies here.
    `like`: others, whose runs are taken wherever the inputs are the same.
    """

    def __init__(
        self, parameters: Params, root: Path, committed: bool = False, like: "PlannedRuns | None" = None
    ) -> None:
        self.parameters, self.root, self.committed, self.like = parameters, root, committed, like
        self._contexts: dict[str, Context] = {}  # by device; each caches the corpora
        self._made: dict[tuple[str, Scale], list[Run]] = {}
        self._ids: dict[str, set[str]] = {}  # by study

    def of(self, study: str, scale: Scale) -> list[Run]:
        """A study's runs at a scale; none where it has no settings there. UserError for settings without runs."""
        if (study, scale) not in self._made:
            make = self.like.of if self.like and self._are_same(self.like, study, scale) else self._make
            self._made[study, scale] = make(study, scale)
        return self._made[study, scale]

    def ids(self, study: str) -> set[str]:
        """The ids of a study's runs of all scales."""
        if study not in self._ids:
            self._ids[study] = {run.id for scale in SCALES for run in self.of(study, scale)}
        return self._ids[study]

    def inputs(self, study: str, scale: Scale) -> tuple[Any, ...]:
        """All that these runs depend on besides the code and this machine's text."""
        settings = self.parameters.settings.get((study, scale))
        named = {} if settings is None else {name for _, name in params.named_corpora(settings)}
        corpora = {name: self.parameters.corpora[name] for name in named}
        return settings, device_of(self.parameters, scale), corpora

    def _are_same(self, other: "PlannedRuns", study: str, scale: Scale) -> bool:
        """Do both make the same runs? This machine's text may differ from git's."""
        inputs = self.inputs(study, scale)
        if inputs != other.inputs(study, scale):
            return False
        named = inputs[-1] if self.committed != other.committed else ()
        return all(self._context(scale).tokens(name) == other._context(scale).tokens(name) for name in named)

    def _context(self, scale: Scale) -> Context:
        device = device_of(self.parameters, scale)
        return self._contexts.setdefault(device, Context(self.parameters, self.root, device, self.committed))

    def _make(self, study: str, scale: Scale) -> list[Run]:
        if (settings := self.parameters.settings.get((study, scale))) is None:
            return []
        context = self._context(scale)
        try:
            runs = catalogue.module(study, "runs").runs(settings, context)
        except UserError as error:
            if error.key is None:
                raise
            raise UserError(f"{self.parameters.where(study, scale, error.key)}: {study}: {error}") from None
        found = link_runs({run.id: _add_scale_measures(run, scale) for run in runs}, f"{study} at scale {scale}")
        _refuse_other_tokens(found, context)
        return found


def _add_scale_measures(run: Run, scale: Scale) -> Run:
    """The run with the measures that its scale adds to those of its study."""
    added = tuple(m for m in catalogue.FROM_LONG if m not in run.measures)
    wanted = run.steps > 0 and SCALES.index(scale) >= SCALES.index("long")
    return replace(run, measures=(*run.measures, *added)) if wanted and added else run


def _refuse_other_tokens(runs: Iterable[Run], context: Context) -> None:
    """UserError for a run that reads text with weights that learnt other tokens: its ids mean other words there."""
    for run in runs:
        of = run.relatives[run.parent].corpus if run.parent else None
        if of and run.corpus and run.corpus != of and not context.has_shared_tokenizer(run.corpus, of):
            raise UserError(
                f"{run.study}: {run.name} reads the corpus {run.corpus!r} with weights that learnt {of!r}, whose "
                "tokenizer is another one. Name one with `tokenizer_of:` (pairs) or `tokenizer: {kind: shared}` of it."
            )
