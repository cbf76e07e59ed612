"""Runs of study 002: strings to copy, text by bytes, images by patches, and measures without training."""

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies.copying.runs import strings
from allmlp.studies.copying.runs.strings import VOCABULARY, StringSettings
from allmlp.studies.copying.runs.trainings import ImageSettings, TextSettings, image_runs, text_runs

WITHOUT_TRAINING = ("exact_forms", "operations", "parameter_counts")
PAPER_SIZE = {"d_model": 192, "n_blocks": 12}
SHORTEST = 16  # the paper's shortest strings; no count of parameters depends on it


class Settings(StringSettings):
    """Settings of strings on the top level, and blocks for text and images."""

    text: TextSettings | None = None
    images: ImageSettings | None = None


def runs(settings: Settings, context: Context) -> list[Run]:
    """Every run of the study at one scale."""
    found = [*strings.runs(settings, context), _formulae(settings)]
    if settings.text:
        found += text_runs(settings.text, settings, context)
    if settings.images:
        found += image_runs(settings.images, settings, context)
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
        **settings.untrained(),
    )
