"""Runs on pairs: matchers x embedders x seeds, on embeddings of queries and texts (001-21 to 001-27, own-5 to own-8).

Every embedder is treated alike. A comparison may ask for both padding sides, both positions and every normalisation. A
matcher's learning rate and normalisation are the best of its own search, with the same number of runs for each
embedder, on a separate seed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from allmlp.common.errors import UserError
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.studies.mixers.matcher_settings import (
    ALL,
    BASE,
    MATCHER_SEARCH,
    OTHER_WORDS,
    PART,
    SHARED_WORDS,
    WIDE,
    Setting,
    read_setting,
)
from allmlp.studies.mixers.names import EMBEDDER
from allmlp.studies.mixers.runs.retrieval_settings import (
    EMBEDDERS,
    MATCHERS,
    Embedder,
    Matching,
    Normalisation,
    Padding,
    Position,
    RetrievalSettings,
)
from allmlp.studies.mixers.runs.settings import TrainingSettings
from allmlp.studies.mixers.runs.training import embedder

WITH_HEADS = MATCHERS[1:]
OF_EVERY_MATCHER = ("retrieval", "retrieval_curve", *SHARED)
OF_PROBED = ("distances", "embedding_probes", "tournament_search", "query_effect")
CHOSEN = "chosen"  # the label of values that a search chooses


class Case(NamedTuple):
    """The settings in which matchers differ besides seed and context."""

    embedder: Embedder
    padding: Padding
    matcher: str
    pairs: str
    position: Position
    training_pairs: int | None = None
    d_model: int | None = None


def runs(retrieval: RetrievalSettings | None, settings: TrainingSettings, context: Context) -> list[Run]:
    """Embedders, searches and matchers of all comparisons.

    Runs of one embedder are adjacent, so that a process computes its embeddings once.
    """
    if retrieval is None:
        return []
    made = _Matchers(settings, retrieval, context)
    matchers = merge_runs([run for comparison in retrieval.active_comparisons for run in made.matchers(comparison)])
    _refuse_duplicates(matchers)
    place = {parent: number for number, parent in enumerate(made.parents)}
    of_one_embedder_together = sorted(matchers, key=lambda run: place[run.parent or ""])
    return [*made.parents.values(), *made.searches.values(), *of_one_embedder_together]


class _Matchers:
    """Makes matchers, and collects the embedders and searches that they need, by id, because comparisons share them."""

    def __init__(self, settings: TrainingSettings, retrieval: RetrievalSettings, context: Context) -> None:
        self.settings, self.retrieval, self.context = settings, retrieval, context
        self.parents: dict[str, Run] = {}
        self.searches: dict[str, Run] = {}

    def matchers(self, comparison: Matching) -> Iterator[Run]:
        """Every matcher of one comparison."""
        steps = comparison.steps or self.retrieval.steps
        measures = (*OF_EVERY_MATCHER, *(OF_PROBED if comparison.probes else ()))
        for case in _cases(comparison):
            search = self._search(case._replace(training_pairs=None))
            for context, seed in product(comparison.contexts, self.retrieval.seeds or self.settings.seeds):
                run = self._matcher(case, context, seed, steps)
                yield replace(run, search=search, criterion=self._criterion, measures=measures)

    @property
    def _criterion(self) -> str:
        """The number by which rates are compared; "" where the lowest mean wins."""
        return (self.retrieval.search and self.retrieval.search.criterion) or ""

    def _parent(self, case: Case, seed: int) -> Run:
        untrained = case.embedder.startswith("untrained")
        training = embedder(EMBEDDERS[case.embedder], self.settings, self.context, case.padding, case.d_model)
        run = training.run(seed, 0 if untrained else None, EMBEDDER, measures=())
        self.parents |= {one.id: one for one in (*([] if untrained else training.searches), run)}
        return run

    def _search(self, case: Case) -> tuple[str, ...]:
        """The ids of the runs that choose the case's rate and normalisation."""
        if (search := self.retrieval.search) is None:
            return ()
        found = [
            self._searched(self._run(case, search.context, seed, search.steps, rate, normalisation), rate)
            for (seed, rate), normalisation in product(search.settings(), search.normalisations)
        ]
        self.searches |= {run.id: run for run in found}
        return tuple(run.id for run in found)

    def _searched(self, run: Run, rate: float) -> Run:
        """A run of a search, whose loss is kept where a criterion compares it with those of other seeds."""
        if not (criterion := self._criterion):
            return run
        labels = run.labels | {"part": MATCHER_SEARCH, "learning_rate": rate, "criterion": criterion}
        return replace(run, name=f"{run.name}-rate{rate:g}", labels=labels, measures=SHARED)

    def _matcher(self, case: Case, context: int, seed: int, steps: int) -> Run:
        rate, searched = self.retrieval.optimiser.learning_rate, self.retrieval.search
        normalisations = searched.normalisations if searched else [self.retrieval.normalisation]
        normalisation = normalisations[0] if len(normalisations) == 1 else None  # None: as the best of the search
        run = self._run(case, context, seed, steps, rate, normalisation)
        tested = tuple(sorted({round(steps * i / self.retrieval.tested) for i in range(self.retrieval.tested)}))
        return replace(run, tested=tested)

    def _run(
        self, case: Case, context: int, seed: int, steps: int, rate: float, normalisation: Normalisation | None
    ) -> Run:
        parent, retrieval = self._parent(case, seed), self.retrieval
        pairs = self.context.pairs_corpus(case.pairs, self.settings.corpus)
        width = parent.hyperparameters["d_model"]
        heads = {"n_heads": retrieval.n_heads} if case.matcher in WITH_HEADS else {}
        fewer = {} if case.training_pairs is None else {"training_pairs": case.training_pairs}
        return Run(
            study="mixers",
            name=f"{case.matcher}-{case.embedder}-d{width}-{case.padding}-c{context}",
            labels={
                "part": PART,
                "model": case.matcher,
                "embedder": case.embedder,
                "padding": case.padding,
                "pairs": pairs,
                "words": OTHER_WORDS if case.pairs == retrieval.control else SHARED_WORDS,
                "context": context,
                "position": case.position,
                "training_pairs": str(case.training_pairs or ALL),
                "normalisation": normalisation or CHOSEN,
                "size": BASE if case.d_model is None else WIDE,
                "width": width,
            },
            architecture=case.matcher,
            hyperparameters={"features": width, "context": context, "n_blocks": retrieval.n_blocks, **heads},
            task="retrieval",
            task_parameters={
                "context": context,
                "batch_size": retrieval.batch_size,
                "position": case.position,
                "normalisation": normalisation,
                "validation_draws": retrieval.validation_draws,
                **fewer,
            },
            corpus=pairs,
            tokens=self.context.tokens(pairs),
            corpus_settings=self.context.corpus_settings(pairs),
            optimiser={**retrieval.optimiser.model_dump(), "learning_rate": rate},
            steps=steps,
            seed=seed,
            measures=(),
            parent=parent.id,
            **{**self.settings.machine(self.context.device), "runs_per_process": retrieval.runs_per_process},
        )


def _refuse_duplicates(runs: Iterable[Run]) -> None:
    """UserError for two runs of one seed in one setting: verdicts would count them as two seeds."""
    known: dict[tuple[Setting, Any, int], Run] = {}
    for run in runs:
        other = known.setdefault((read_setting(run.labels), run.labels["padding"], run.seed), run)
        if other is not run:
            said = " and ".join(
                f"{one.id} ({one.corpus}, {one.labels['training_pairs']} pairs, {one.steps} steps)"
                for one in (other, run)
            )
            raise UserError(
                f"config/mixers: studies.mixers.retrieval.comparisons ask for {said}, which no verdict tells apart. "
                "Leave one out, or put it into an overlay of its own."
            )


def _cases(comparison: Matching) -> Iterator[Case]:
    asked = comparison
    tried = (asked.embedders, asked.paddings, asked.matchers, asked.pairs, asked.positions, asked.training_pairs)
    return (Case(*values, asked.d_model) for values in product(*tried))


def merge_runs(runs: list[Run]) -> list[Run]:
    """Runs with the same id as one, with the place and labels of the first and the measures of all."""
    found: dict[str, Run] = {}
    for run in runs:
        first = found.get(run.id, run)
        found[run.id] = replace(first, measures=tuple(dict.fromkeys((*first.measures, *run.measures))))
    return list(found.values())
