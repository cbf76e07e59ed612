"""Runs of study 000."""

from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.studies.language.runs import neurons, perplexity, scaling
from allmlp.studies.language.runs.neurons import VariationSettings
from allmlp.studies.language.runs.perplexity import Settings as PerplexitySettings
from allmlp.studies.language.runs.scaling import Settings as ScalingSettings  # a field has the module's name


class Settings(neurons.NeuronSettings):
    """The settings of the neurons' run on the top level, and a block for each other kind of run."""

    scaling: ScalingSettings | None = None
    variations: VariationSettings | None = None
    perplexity: PerplexitySettings | None = None


def runs(settings: Settings, context: Context) -> list[Run]:
    """Every run of the study at one scale."""
    found = [*neurons.runs(settings, context), neurons.untrained_run(settings, context)]
    if settings.variations:
        found += neurons.variations(settings.variations, settings, context)
    if settings.scaling:
        found += scaling.runs(settings.scaling, settings, context)
    if settings.perplexity:
        found += perplexity.runs(settings.perplexity, settings, context)
    return found
