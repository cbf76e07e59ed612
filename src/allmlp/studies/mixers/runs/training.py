"""Trainings on language: every model, size and padding with every seed, and the search that chooses their rates.

`embedder` gives one such training to the parts of the study that use the trained model.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from allmlp.errors import UserError
from allmlp.models import REGISTRY
from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies import SHARED
from allmlp.studies.mixers.parts import BASE, EMBEDDER, SEARCH, TRAINING, WINDOWS
from allmlp.studies.mixers.runs.settings import Model, Padding, Size, TrainingSettings

OF_EVERY_TRAINING = ("learning_curve", *SHARED)
OF_ARCHITECTURE = {"hybrid": ("leak",), "hybrid-as-published": ("leak",), "openai-gpt": ("dropout",)}
EMBEDDERS = {"masked-mixer": "flat", "llama": "llama-4", "mixer-autoencoder": "autoencoder"}
MEASURED_MEMORY = ("flat", "expanded", "llama-4", "llama-16")
KEPT = ("flat", "expanded", "llama-2", "llama-4", "autoencoder")  # models with kept weights before the end
SEES_PADDING = ("llama", "hybrid", "hybrid-as-published")  # attention that masks leading tokens `pad`
RECONSTRUCTS = ("mixer-autoencoder",)  # its targets are its inputs


class Training(NamedTuple):
    """The settings in which trainings differ, besides the seed."""

    name: str
    model: Model
    size: Size
    padding: Padding = "right"
    windows: bool = False


def runs(settings: TrainingSettings, context: Context) -> list[Run]:
    """The search of every model, then seed after seed, so that a first seed covers everything."""
    searched = [(training, _search(settings, context, training)) for training in _trainings(settings)]
    found = list({run.id: run for _, of_training in searched for run in of_training}.values())
    further = [seed for model in settings.chosen.values() for seed in model.further_seeds]
    for seed in dict.fromkeys([*settings.seeds, *further]):
        found += [
            _run(settings, context, training, seed, of_training)
            for training, of_training in searched
            if seed in settings.seeds or (_is_base(training) and seed in training.model.further_seeds)
        ]
    return found


def embedder(
    model: str,
    seed: int,
    settings: TrainingSettings,
    context: Context,
    *,
    padding: Padding = "right",
    steps: int | None = None,
    measures: tuple[str, ...] = (),
    d_model: int | None = None,
    n_blocks: int | None = None,
) -> Run:
    """One model trained as in the comparison, with the same run id if the comparison has it; `steps=0`: untrained.

    model: a name of `models`, or an architecture (EMBEDDERS names its model). The runs that choose its rate are its
    `searches`, which a study must list too.
    """
    training = _embedding(model, settings, padding, d_model, n_blocks)
    searched = [] if steps == 0 else _search(settings, context, training)
    return replace(_run(settings, context, training, seed, searched, steps, EMBEDDER), measures=measures)


def searches(
    model: str,
    settings: TrainingSettings,
    context: Context,
    *,
    d_model: int | None = None,
    n_blocks: int | None = None,
) -> list[Run]:
    """The runs that choose the learning rate of that embedder, for both paddings; none if its rate is given."""
    return _search(settings, context, _embedding(model, settings, "right", d_model, n_blocks))


def _trainings(settings: TrainingSettings) -> Iterator[Training]:
    for name, model in settings.chosen.items():
        for padding in model.paddings:
            yield Training(name, model, settings.base(model), padding)
        for size in model.sizes:
            yield Training(name, model, size, model.paddings[0])
    for name in settings.windows:
        model = settings.models[name]
        yield Training(name, model, settings.base(model).model_copy(update={"longer": 1.0}), windows=True)


def _is_base(training: Training) -> bool:
    """The comparison's own size, padded on the right: what a model's further seeds are for."""
    return training.size not in training.model.sizes and training.padding == "right" and not training.windows


def _embedding(
    model: str, settings: TrainingSettings, padding: Padding, d_model: int | None, n_blocks: int | None
) -> Training:
    name = EMBEDDERS.get(model, model)
    if name not in settings.models and model not in REGISTRY:
        raise UserError(f"no model {model!r} in studies.mixers.models. There are: {', '.join(settings.models)}.")
    found = settings.models.get(name) or Model(architecture=model)
    size = settings.base(found)
    if (d_model or size.d_model, n_blocks or settings.n_blocks) != (size.d_model, settings.n_blocks):
        size = Size(d_model=d_model or size.d_model, n_blocks=n_blocks, batch_size=size.batch_size)
    return Training(name, found, size, padding)


def _search(settings: TrainingSettings, context: Context, training: Training) -> list[Run]:
    """Both sides of padding take the rate that was chosen on one, because both supervise the same tokens."""
    training = training._replace(padding=training.model.paddings[0])
    if settings.search is None or training.model.learning_rate is not None:
        return []
    optimiser = settings.optimiser.model_dump()
    shorter = min(1.0, training.size.longer) if settings.search.in_proportion else 1.0
    steps = round(settings.search.steps * shorter)
    return [
        Run(
            study="mixers",
            **_network(settings, context, training, SEARCH, rate),
            optimiser={**optimiser, "learning_rate": rate},
            steps=steps,
            seed=seed,
            measures=SHARED,
            **settings.machine(context.device),
        )
        for seed, rate in settings.search.settings()
    ]


def _run(
    settings: TrainingSettings,
    context: Context,
    training: Training,
    seed: int,
    searched: list[Run],
    steps: int | None = None,
    part: str = TRAINING,
) -> Run:
    steps = round(settings.steps * training.size.longer) if steps is None else steps
    optimiser = settings.optimiser.model_dump()
    if training.model.learning_rate is not None:
        optimiser["learning_rate"] = training.model.learning_rate
    return Run(
        study="mixers",
        **_network(settings, context, training, WINDOWS if training.windows else part),
        optimiser=optimiser,
        steps=steps,
        seed=seed,
        measures=_measures(training),
        keep=_kept(settings, steps) if training.name in KEPT and not training.windows else (),
        search=tuple(run.id for run in searched),
        tested=_tested(settings, steps),
        **settings.machine(context.device),
    )


def _measures(training: Training) -> tuple[str, ...]:
    """The measures of a training: the curve, and those that only some have."""
    if training.windows:
        return OF_EVERY_TRAINING
    memory = ("training_memory",) if training.name in MEASURED_MEMORY else ()
    return (*OF_EVERY_TRAINING, *memory, *OF_ARCHITECTURE.get(training.model.architecture, ()))


def _kept(settings: TrainingSettings, steps: int) -> tuple[int, ...]:
    return tuple(sorted({int(steps * share) for share in settings.kept})) if steps else ()


def _tested(settings: TrainingSettings, steps: int) -> tuple[int, ...]:
    """Evenly spaced, with the same distance in longer runs, so that testing takes the same share of every run's
    time."""
    apart = max(1, settings.steps // settings.tested)
    return tuple(sorted({apart // 4, apart // 2, *range(apart, steps, apart)} - {0})) if steps > apart else ()


def _network(
    settings: TrainingSettings, context: Context, training: Training, part: str, rate: float | None = None
) -> dict[str, Any]:
    """The fields of `Run` up to the corpus, without steps and optimiser."""
    name, model, size, padding, windows = training
    n_blocks, batch = size.n_blocks or settings.n_blocks, size.batch_size or settings.batch_size
    base = settings.base(model)
    own = (size.d_model, n_blocks, size.batch_size) == (base.d_model, settings.n_blocks, base.batch_size)
    sizes = {"context": settings.context, "d_model": size.d_model, "n_blocks": n_blocks}
    tokens = context.tokens(settings.corpus)
    sees_padding = padding == "left" and model.architecture in SEES_PADDING
    pad = {"pad": end_token(settings.end_token, tokens)} if sees_padding else {}
    searched = "" if rate is None else f"-rate{rate:g}"
    where = "-windows" if windows else "-left" if padding == "left" else ""
    return {
        "name": f"{name}-d{size.d_model}-n{n_blocks}-b{batch}{where}-{settings.corpus}{searched}",
        "labels": {
            "model": model.architecture,
            "variant": name,
            "part": part,
            "padding": padding,
            "size": BASE if own else f"d{size.d_model}-n{n_blocks}-b{batch}",
            "d_model": size.d_model,
            "n_blocks": n_blocks,
            "batch_size": batch,
            "text": "windows" if windows else "documents",
            "schedule": settings.optimiser.schedule,
            "corpus": settings.corpus,
            **({} if rate is None else {"learning_rate": rate}),
        },
        "architecture": model.architecture,
        "hyperparameters": {"vocabulary": context.vocabulary(settings.corpus), **sizes, **model.hyperparameters, **pad},
        **_task(settings, training, batch),
        "corpus": settings.corpus,
        "tokens": tokens,
        "corpus_settings": context.corpus_settings(settings.corpus),
    }


def _task(settings: TrainingSettings, training: Training, batch: int) -> dict[str, Any]:
    sizes = {"context": settings.context, "batch_size": batch}
    held_out = settings.validation_documents
    if training.windows:
        return {"task": "next-token", "task_parameters": {**sizes, "validation_tokens": held_out * settings.context}}
    parameters = {**sizes, "padding": training.padding, "validation_documents": held_out}
    task = "autoencode" if training.model.architecture in RECONSTRUCTS else "documents"
    return {"task": task, "task_parameters": parameters}


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
