"""Runs of study 002: strings to copy, text by bytes, images by patches, and measures without training."""

from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.studies.copying.runs import strings
from allmlp.studies.copying.runs.strings import VOCABULARY, StringSettings
from allmlp.studies.copying.runs.trainings import ImageSettings, TextSettings, image_runs, text_runs

WITHOUT_TRAINING = ("exact_forms", "operations", "parameter_counts")
PAPER_SIZE = {"d_model": 192, "n_blocks": 12}
SHORTEST = 16  # the paper's shortest strings; no count of parameters depends on it


class Settings(StringSettings):
    """Settings of strings on the top level, and blocks for text and images.

    `novels` and `photographs` are what a user can have offline in place of the paper's text and images.
    """

    text: TextSettings | None = None
    images: ImageSettings | None = None
    novels: TextSettings | None = None
    photographs: ImageSettings | None = None


def runs(settings: Settings, context: Context) -> list[Run]:
    """Every run of the study at one scale."""
    found = [*strings.runs(settings, context), _formulae(settings)]
    for part, of_text in (("text", settings.text), ("novels", settings.novels)):
        found += text_runs(of_text, settings, context, part) if of_text else []
    for part, of_images in (("images", settings.images), ("photographs", settings.photographs)):
        found += image_runs(of_images, settings, context, part) if of_images else []
    return found


def _formulae(settings: StringSettings) -> Run:
    """An untrained CausalRN of the paper's size, for measures without training (002-6, -10, -11)."""
    return Run(
        study="copying",
        name="causal-rn-untrained",
        labels={"model": "causal-rn", "part": "formulae"},
        architecture="causal-rn",
        hyperparameters={"vocabulary": VOCABULARY, "context": 2 * SHORTEST + 2, **PAPER_SIZE},
        task="copying",
        task_parameters={"string_length": SHORTEST, "batch_size": 1},
        measures=WITHOUT_TRAINING,
        **settings.untrained_settings(),
    )
