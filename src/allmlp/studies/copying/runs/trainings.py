"""What runs on text and on images have in common: sizes that all models share, and a run per model and seed."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from allmlp.protocols import Context
from allmlp.run import Run, log_spaced
from allmlp.strict import Strict
from allmlp.studies.copying.runs.strings import Models
from allmlp.studies.settings import Count, Optimiser, Seeds, StudySettings


class TrainingSettings(Strict):
    """`kept_per_decade`: steps, evenly in their logarithm, with a held-out loss."""

    corpus: str
    seeds: Seeds
    steps: Count
    d_model: Count
    n_blocks: Count
    batch_size: Count
    kept_per_decade: int = Field(default=4, gt=0)
    models: Models
    optimiser: Optimiser

    def trainings(self) -> Iterator[tuple[str, int]]:
        """Every architecture with every seed."""
        yield from ((architecture, seed) for architecture in self.models for seed in self.seeds)

    def run(
        self,
        study: StudySettings,
        context: Context,
        architecture: str,
        seed: int,
        *,
        name: str,
        part: str,
        sizes: dict[str, Any],
        options: dict[str, Any],
        measures: tuple[str, ...],
        **task: Any,
    ) -> Run:
        """One training. `options`: hyperparameters that are no label; `study` says how it computes."""
        model, sizes = self.models[architecture], {**sizes, "d_model": self.d_model, "n_blocks": self.n_blocks}
        rate = {} if model.learning_rate is None else {"learning_rate": model.learning_rate}
        return Run(
            study="copying",
            name=name,
            labels={"model": architecture, "part": part, "corpus": self.corpus, **sizes},
            architecture=architecture,
            hyperparameters={**options, **sizes, **model.hyperparameters},
            optimiser=self.optimiser.model_dump() | rate,
            steps=self.steps,
            seed=seed,
            measures=measures,
            keep=log_spaced(self.steps, self.kept_per_decade),
            **task,
            **study.machine(context.device),
        )
