"""Trainings on language: every model, size and padding with every seed, and the search that chooses their rates.

`embedder` gives one such model to the parts of the study that use it trained.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from allmlp.common.errors import UserError, parameter_error
from allmlp.common.schema import suggest_nearest
from allmlp.models import REGISTRY
from allmlp.spec.catalogue import SHARED
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.studies.mixers.names import BASE, SEARCH, TRAINING, WINDOWS
from allmlp.studies.mixers.runs.settings import Model, Padding, Size, TrainingSettings
from allmlp.studies.shared.texts import corpus_fields

OF_EVERY_TRAINING = ("learning_curve", *SHARED)
OF_ARCHITECTURE = {"hybrid": ("leak",), "hybrid-as-published": ("leak",), "openai-gpt": ("dropout",)}
EMBEDDERS = {"masked-mixer": "flat", "llama": "llama-4", "mixer-autoencoder": "autoencoder"}
MEASURED_MEMORY = ("flat", "expanded", "llama-4", "llama-16")
KEPT = ("flat", "expanded", "llama-2", "llama-4", "autoencoder")  # models with kept weights before the end
SEES_PADDING = ("llama", "hybrid", "hybrid-as-published")  # attention that masks leading tokens `pad`
RECONSTRUCTS = ("mixer-autoencoder",)  # its targets are its inputs


@dataclass(frozen=True)
class Training:
    """A model at one size and padding, on documents or on windows. Its runs differ in seed, steps and rate."""

    settings: TrainingSettings
    context: Context
    name: str
    model: Model
    size: Size
    padding: Padding = "right"
    windows: bool = False

    @property
    def is_base(self) -> bool:
        """The comparison's own size, padded on the right: what a model's further seeds are for."""
        return self.size not in self.model.sizes and self.padding == "right" and not self.windows

    @cached_property
    def searches(self) -> list[Run]:
        """The runs that choose its learning rate; none if the rate is given.

        Both sides of padding take the rate that was chosen on one, because both supervise the same tokens.
        """
        if (search := self.settings.search) is None or self.model.learning_rate is not None:
            return []
        one_side = replace(self, padding=self.model.paddings[0])
        steps = round(search.steps * (min(1.0, self.size.longer) if search.in_proportion else 1.0))
        tried = search.settings_of(self.size.name(self.name) if self.size in self.model.sizes else self.name)
        return [one_side._run(SEARCH, seed, steps, rate, measures=SHARED) for seed, rate in tried]

    @property
    def criterion(self) -> str:
        """The number by which its rates are compared; "" where the lowest mean wins."""
        if (search := self.settings.search) is None:
            return ""
        named = search.criterion_of is None or (self.is_base and self.name in search.criterion_of)
        return search.criterion or "" if named else ""

    def run(
        self, seed: int, steps: int | None = None, part: str = TRAINING, measures: tuple[str, ...] | None = None
    ) -> Run:
        """The training with one seed. `steps`, `measures`: in place of its own; with 0 steps it stays untrained."""
        search = () if steps == 0 else tuple(run.id for run in self.searches)
        steps = round(self.settings.steps * self.size.longer) if steps is None else steps
        keeps = self.name in KEPT and not self.windows and steps
        return self._run(
            WINDOWS if self.windows else part,
            seed,
            steps,
            measures=self._measures if measures is None else measures,
            keep=tuple(sorted({int(steps * share) for share in self.settings.kept})) if keeps else (),
            search=search,
            criterion=self.criterion if search else "",
            tested=_test_steps(self.settings, steps),
        )

    @property
    def _measures(self) -> tuple[str, ...]:
        """The curve, and the measures that only some trainings have."""
        if self.windows:
            return OF_EVERY_TRAINING
        memory = ("training_memory",) if self.name in MEASURED_MEMORY else ()
        return (*OF_EVERY_TRAINING, *memory, *OF_ARCHITECTURE.get(self.model.architecture, ()))

    def _run(self, part: str, seed: int, steps: int, searched: float | None = None, **own: Any) -> Run:
        """`searched`: the learning rate of a run of the search."""
        settings, context, model, size = self.settings, self.context, self.model, self.size
        n_blocks, batch = size.n_blocks or settings.n_blocks, size.batch_size or settings.batch_size
        base = settings.base(model)
        is_own = (size.d_model, n_blocks, size.batch_size) == (base.d_model, settings.n_blocks, base.batch_size)
        tokens, rate = context.tokens(settings.corpus), model.learning_rate if searched is None else searched
        tuned = {"learning_rate": rate, "warmup_steps": model.warmup_steps}
        sees_padding = self.padding == "left" and model.architecture in SEES_PADDING
        where = "-windows" if self.windows else "-left" if self.padding == "left" else ""
        name = f"{self.name}-d{size.d_model}-n{n_blocks}-b{batch}{where}-{settings.corpus}"
        return Run(
            study="mixers",
            name=name if searched is None else f"{name}-rate{searched:g}",
            labels={
                "model": model.architecture,
                "variant": self.name,
                "part": part,
                "padding": self.padding,
                "size": BASE if is_own else f"d{size.d_model}-n{n_blocks}-b{batch}",
                "d_model": size.d_model,
                "n_blocks": n_blocks,
                "batch_size": batch,
                "text": "windows" if self.windows else "documents",
                "schedule": settings.optimiser.schedule,
                "corpus": settings.corpus,
                **({} if searched is None else {"learning_rate": searched}),
                **({} if searched is None or not self.criterion else {"criterion": self.criterion}),
            },
            architecture=model.architecture,
            hyperparameters={
                "vocabulary": context.vocabulary(settings.corpus),
                "context": settings.context,
                "d_model": size.d_model,
                "n_blocks": n_blocks,
                **model.hyperparameters,
                **({"pad": end_token(settings.end_token, tokens)} if sees_padding else {}),
            },
            **self._task(batch),
            **corpus_fields(context, settings.corpus),
            optimiser=settings.optimiser.model_dump() | {key: of for key, of in tuned.items() if of is not None},
            steps=steps,
            seed=seed,
            **own,
            **settings.machine(context.device),
        )

    def _task(self, batch: int) -> dict[str, Any]:
        sizes, held_out = {"context": self.settings.context, "batch_size": batch}, self.settings.validation_documents
        if self.windows:
            held_out *= self.settings.context
            return {"task": "next-token", "task_parameters": {**sizes, "validation_tokens": held_out}}
        task = "autoencode" if self.model.architecture in RECONSTRUCTS else "documents"
        return {"task": task, "task_parameters": {**sizes, "padding": self.padding, "validation_documents": held_out}}


def runs(settings: TrainingSettings, context: Context) -> list[Run]:
    """The search of every model, then seed after seed, so that a first seed covers everything."""
    trainings = list(_trainings(settings, context))
    found = list({run.id: run for training in trainings for run in training.searches}.values())
    further = [seed for model in settings.compared_models.values() for seed in model.further_seeds]
    for seed in dict.fromkeys([*settings.seeds, *further]):
        found += [
            training.run(seed)
            for training in trainings
            if seed in settings.seeds or (training.is_base and seed in training.model.further_seeds)
        ]
    return found


def embedder(
    model: str,
    settings: TrainingSettings,
    context: Context,
    padding: Padding = "right",
    d_model: int | None = None,
    n_blocks: int | None = None,
) -> Training:
    """One model as in the comparison: its runs have the same ids there. A study must list its `searches` too.

    model: a name of `models`, or an architecture (EMBEDDERS names its model).
    """
    name = EMBEDDERS.get(model, model)
    if name not in settings.models and model not in REGISTRY:
        advice = suggest_nearest(model, settings.models, "There are")
        raise parameter_error("models", model, f"no model of that name in studies.mixers.models. {advice}")
    found = settings.models.get(name) or Model(architecture=model)
    size = settings.base(found)
    if (d_model or size.d_model, n_blocks or settings.n_blocks) != (size.d_model, settings.n_blocks):
        size = Size(d_model=d_model or size.d_model, n_blocks=n_blocks, batch_size=size.batch_size)
    return Training(settings, context, name, found, size, padding)


def _trainings(settings: TrainingSettings, context: Context) -> Iterator[Training]:
    for name, model in settings.compared_models.items():
        for padding in model.paddings:
            yield Training(settings, context, name, model, settings.base(model), padding)
        for size in model.sizes:
            yield Training(settings, context, name, model, size, model.paddings[0])
    for name in settings.windows:
        size = settings.base(settings.models[name]).model_copy(update={"longer": 1.0})
        yield Training(settings, context, name, settings.models[name], size, windows=True)


def _test_steps(settings: TrainingSettings, steps: int) -> tuple[int, ...]:
    """Evenly spaced, at the same distance in longer runs, so that testing takes the same share of every run's time."""
    apart = max(1, settings.steps // settings.tested)
    return tuple(sorted({apart // 4, apart // 2, *range(apart, steps, apart)} - {0})) if steps > apart else ()


def end_token(asked: int, tokens: str) -> int:
    """The setting `end_token`, checked against the corpus's tokens once these exist.

    tokens: their id. Raises UserError if another token ends a document: attention would then read the padding.
    """
    meta = Path("results/tokens") / tokens / "meta.json"
    try:
        found = json.loads(meta.read_text(encoding="utf-8"))["eod"]
    except (FileNotFoundError, ValueError, KeyError):
        return asked  # a plan needs no corpus; the training reads the whole file and reports damage
    if found != asked:
        raise UserError(
            f"config/mixers: studies.mixers.end_token is {asked!r}, but in {meta} token {found} ends a document, and "
            f"pads it: attention would read the padding. Set `end_token: {found}`."
        )
    return asked
