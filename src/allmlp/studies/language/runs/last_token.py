"""The common part of every last-token run of study 000: `context` tokens of a corpus in, the next one out."""

from typing import Any

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies.settings import Optimiser, StudySettings
from allmlp.studies.texts import of_corpus


def last_token_run(
    study: StudySettings,
    context: Context,
    *,
    name: str,
    labels: dict[str, str | int | float],
    architecture: str,
    sizes: dict[str, Any],
    corpus: str,
    batch_size: int,
    optimiser: Optimiser,
    steps: int,
    seed: int,
    measures: tuple[str, ...],
    keep: tuple[int, ...] = (),
) -> Run:
    """A run. `sizes`: the architecture's hyperparameters without the vocabulary; `study`: the settings of the
    machine."""
    return Run(
        study="language",
        name=name,
        labels={"model": architecture, "corpus": corpus, **labels},
        architecture=architecture,
        hyperparameters={"vocabulary": context.vocabulary(corpus), **sizes},
        task="last-token",
        task_parameters={"context": sizes["context"], "batch_size": batch_size},
        **of_corpus(context, corpus),
        optimiser=optimiser.model_dump(),
        steps=steps,
        seed=seed,
        measures=measures,
        keep=keep,
        **study.machine(context.device),
    )
