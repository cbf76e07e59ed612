"""Runs of study 002: strings to copy, text by bytes, images by patches, and what no training alters."""

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies.copying.runs import formulae, images, strings, text
from allmlp.studies.copying.runs.images import Settings as ImageSettings  # a field has the module's name
from allmlp.studies.copying.runs.text import Settings as TextSettings


class Settings(strings.StringSettings):
    """Strings on the top level, text and images in blocks of their own."""

    text: TextSettings | None = None
    images: ImageSettings | None = None


def runs(settings: Settings, context: Context) -> list[Run]:
    """Every run of the study at one scale."""
    found = [*strings.runs(settings, context), formulae.run(settings)]
    if settings.text:
        found += text.runs(settings.text, settings, context)
    if settings.images:
        found += images.runs(settings.images, settings, context)
    return found
