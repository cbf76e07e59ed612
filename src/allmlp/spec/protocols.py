"""The interface of a study to the rest: the plan that names its runs, a trained run, and the measurements of all runs.

A study's modules import only these names, so they need not import PyTorch and do not depend on the implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from allmlp.spec.run import Run

if TYPE_CHECKING:  # for types only: plans, figures and verdicts start without PyTorch, plans without pandas
    import pandas as pd
    import torch

    from allmlp.data.corpora.sources import ImageSource
    from allmlp.data.tasks.task import Task
    from allmlp.models.base import SequenceModel


class Context(Protocol):
    """The plan while a study names its runs (`allmlp.plan.context`)."""

    @property
    def device(self) -> str:
        """cpu or cuda."""

    def tokens(self, corpus: str) -> str:
        """The id of a corpus's tokens."""

    def pairs_corpus(self, pairs: str, text: str) -> str:
        """The name of a corpus of pairs as a model of this text reads it. UserError for another kind of corpus."""

    def has_shared_tokenizer(self, *corpora: str) -> bool:
        """Does a token's id stand for the same text in these corpora?"""

    def images(self, corpus: str) -> ImageSource:
        """A corpus of images: their size and the number of classes."""

    def teacher(self, corpus: str) -> str:
        """The corpus whose tokenizer a corpus has: the one that it shares, or its own."""

    def corpus_settings(self, corpus: str) -> str:
        """The digest of a corpus's settings, without recipes."""

    def vocabulary(self, corpus: str) -> int:
        """The number of token types of a corpus."""


class TrainedRun(Protocol):
    """The published checkpoints of one run (`allmlp.training.published`)."""

    @property
    def run(self) -> Run:
        """The run that was trained."""

    @property
    def parent(self) -> TrainedRun | None:
        """The run that this one reads or continues."""

    @property
    def ending(self) -> dict[str, Any]:
        """steps_done, diverged, validation_loss (nats, None without a held-out split)."""

    @property
    def diverged(self) -> bool:
        """Did the training stop at a loss that was not finite?"""

    @property
    def learning_rate(self) -> float:
        """The maximum of the learning rate: the run's own, or the one that its search chose."""

    @property
    def choice(self) -> dict[str, Any]:
        """The task's parameters that the search chose, if the run leaves them open."""

    @property
    def log(self) -> pd.DataFrame:
        """step, loss, learning_rate, gradient_norm, scores, validation_loss; a row per update."""

    @property
    def steps(self) -> list[int]:
        """The steps whose weights were kept, the last one included."""

    def weights(self, step: int | None = None) -> dict[str, torch.Tensor]:
        """The weights after `step` updates (None: the last)."""

    def model(self, step: int | None = None) -> SequenceModel:
        """The model with those weights, in eval mode."""

    def task(self) -> Task:
        """The run's task."""

    def timing(self) -> dict[str, Any]:
        """Seconds and hardware of the training if this machine did it, else empty."""


class Evidence(Protocol):
    """The selected measurements of one study at one scale (`allmlp.judging.evidence`)."""

    scale: str
    content: dict[str, Any]  # the study's part of results/selected.json
    margin: dict[str, float]  # of the claim being judged, from claims.yaml
    paper: dict[str, Any]
    seeds: int

    def planned_runs(self, measure: str) -> list[str]:
        """The runs that should have this measurement."""

    def table(self, measure: str) -> pd.DataFrame:
        """All rows of a measure, with the labels of their runs as columns."""
