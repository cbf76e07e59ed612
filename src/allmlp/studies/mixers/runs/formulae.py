"""Runs without training steps: masks, counts, memory, the audit, and speed of generation.

One run for calculations in float64 or whole numbers, one on the scale's own device for its memory, and one per
architecture for tokens per second against length (001-1, -2, -9, -13, -14, -29, -30, own-11).
"""

from typing import Any

from pydantic import Field, field_validator

from allmlp.common.schema import Hyperparameters, StrictModel, refuse_unknown_names
from allmlp.models import REGISTRY
from allmlp.spec.protocols import Context
from allmlp.spec.run import Run
from allmlp.spec.settings import StudySettings

WITHOUT_TRAINING = ("audit", "dimensions", "hidden_units", "masking", "tournament_passes")
FORMULAE, MEMORY, SPEED = "formulae", "memory", "speed"  # the label `part`
VOCABULARY = 29  # of the task of such a run, which is never trained on
TINY = {"context": 10, "d_model": 8, "n_blocks": 1}


class GenerationSpeed(StrictModel):
    """Untrained models, timed in tokens per second: the values of weights do not change the speed."""

    models: dict[str, Hyperparameters] = Field(min_length=1, description="architecture -> hyperparameters of its own")
    context: int = Field(ge=TINY["context"], multiple_of=2, description="an even number, as strings to copy have")
    d_model: int = Field(gt=0)
    n_blocks: int = Field(gt=0)

    @field_validator("models")
    @classmethod
    def _refuse_unknown(cls, models: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        refuse_unknown_names("architecture", models, REGISTRY)
        return models


def runs(settings: StudySettings, speed: GenerationSpeed | None, context: Context) -> list[Run]:
    """The run of the formulae, that of the memory and, if `speed` is set, those that generate."""
    found = [
        _untrained_run(settings, FORMULAE, "masked-mixer", TINY, WITHOUT_TRAINING, "cpu"),
        _untrained_run(settings, MEMORY, "masked-mixer", TINY, ("memory",), context.device),
    ]
    if speed:
        sizes = {"context": speed.context, "d_model": speed.d_model, "n_blocks": speed.n_blocks}
        found += [
            _untrained_run(settings, SPEED, architecture, {**sizes, **own}, ("generation_speed",), context.device)
            for architecture, own in speed.models.items()
        ]
    return found


def _untrained_run(
    settings: StudySettings, part: str, architecture: str, sizes: dict[str, Any], measures: tuple[str, ...], device: str
) -> Run:
    return Run(
        study="mixers",
        name=f"{architecture}-{part}",
        labels={"model": architecture, "part": part, **{key: sizes[key] for key in ("context", "d_model", "n_blocks")}},
        architecture=architecture,
        hyperparameters={"vocabulary": VOCABULARY, **sizes},
        task="copying",
        task_parameters={"string_length": sizes["context"] // 2 - 1, "batch_size": 1},
        measures=measures,
        **settings.untrained_settings(device),
    )
