"""Runs on text by bytes: architectures x seeds on one corpus, with held-out losses on the way (002-7)."""

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies import SHARED
from allmlp.studies.copying.runs.trainings import TrainingSettings
from allmlp.studies.settings import Count, StudySettings
from allmlp.studies.texts import next_token

RELATIONS = ("causal-rn", "linear-causal-rn")
OF_EVERY_TEXT_RUN = ("text_curve", "text_samples", *SHARED)


class Settings(TrainingSettings):
    """Windows of `context` bytes; losses are held out on `validation_tokens`."""

    context: Count
    validation_tokens: Count


def runs(settings: Settings, study: StudySettings, context: Context) -> list[Run]:
    """One run per model and seed; `study` says how a run computes."""
    vocabulary = {"vocabulary": context.vocabulary(settings.corpus)}
    # as published: with d_h = 4 d a relation's block has the weights of a Transformer's
    wide = {architecture: {"d_relation": 4 * settings.d_model} for architecture in RELATIONS}
    return [
        settings.run(
            study,
            context,
            architecture,
            seed,
            name=f"{architecture}-text-{settings.corpus}",
            part="text",
            sizes={"context": settings.context},
            options={**vocabulary, **wide.get(architecture, {})},
            measures=OF_EVERY_TEXT_RUN,
            **next_token(settings, context, settings.corpus),
        )
        for architecture, seed in settings.trainings()
    ]
