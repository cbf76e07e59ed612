"""Runs on text by bytes: architectures x seeds on one corpus, with held-out losses on the way (002-7)."""

from pydantic import Field

from allmlp.protocols import Context
from allmlp.run import Run, log_spaced
from allmlp.studies import SHARED
from allmlp.studies.copying.runs.trainings import TrainingSettings
from allmlp.studies.settings import StudySettings

RELATIONS = ("causal-rn", "linear-causal-rn")
OF_EVERY_TEXT_RUN = ("text_curve", "text_samples", *SHARED)


class Settings(TrainingSettings):
    """Windows of `context` bytes; losses are held out on `validation_tokens`."""

    context: int = Field(gt=0)
    validation_tokens: int = Field(gt=0)


def runs(settings: Settings, study: StudySettings, context: Context) -> list[Run]:
    """One run per model and seed; `study` says how a run computes."""
    return [_run(settings, study, context, architecture, seed) for architecture, seed in settings.trainings()]


def _run(settings: Settings, study: StudySettings, context: Context, architecture: str, seed: int) -> Run:
    model = settings.models[architecture]
    sizes = {"context": settings.context, "d_model": settings.d_model, "n_blocks": settings.n_blocks}
    # as published: with d_h = 4 d a relation's block has the weights of a Transformer's
    wide = {"d_relation": 4 * settings.d_model} if architecture in RELATIONS else {}
    return Run(
        study="copying",
        name=f"{architecture}-text-{settings.corpus}",
        labels={"model": architecture, "part": "text", "corpus": settings.corpus, **sizes},
        architecture=architecture,
        hyperparameters={"vocabulary": context.vocabulary(settings.corpus), **sizes, **wide, **model.hyperparameters},
        task="next-token",
        task_parameters={
            "context": settings.context,
            "batch_size": settings.batch_size,
            "validation_tokens": settings.validation_tokens,
        },
        corpus=settings.corpus,
        tokens=context.tokens(settings.corpus),
        corpus_settings=context.corpus_settings(settings.corpus),
        optimiser=settings.optimiser_of(architecture),
        steps=settings.steps,
        seed=seed,
        measures=OF_EVERY_TEXT_RUN,
        keep=log_spaced(settings.steps, settings.kept_per_decade),
        **study.machine(context.device),
    )
