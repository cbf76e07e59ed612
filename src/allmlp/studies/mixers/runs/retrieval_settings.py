"""Settings of study 001's retrieval: comparisons, matchers, and the search."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from allmlp.common.schema import StrictModel, refuse_unknown_names
from allmlp.spec.settings import LossSearch, Optimiser, Seeds
from allmlp.studies.mixers.runs.settings import Padding, Seed

Positive = Annotated[int, Field(gt=0)]
Position = Literal["last", "before_last", "mean"]  # as in embeddings.py, which a plan must not import
Normalisation = Literal["none", "unit", "standardised"]
Embedder = Literal["mixer", "transformer", "untrained-mixer", "untrained-transformer", "autoencoder"]

EMBEDDERS: dict[Embedder, str] = {  # name in the settings -> architecture
    "mixer": "masked-mixer",
    "transformer": "llama",
    "untrained-mixer": "masked-mixer",
    "untrained-transformer": "llama",
    "autoencoder": "mixer-autoencoder",
}
MATCHERS = ("matcher-mixer", "matcher-transformer", "matcher-transformer-as-published")


class Matching(StrictModel):
    """One comparison: every embedder with every padding, matcher, context, kind of pairs, position and number of pairs.

    `probes`: distances, linear probes, tournament and the effect of the query are measured too.
    """

    embedders: list[Embedder] = Field(min_length=1)
    paddings: list[Padding] = Field(default=["right"], min_length=1)
    matchers: list[str] = Field(default=["matcher-mixer"], min_length=1)
    contexts: list[Annotated[int, Field(ge=3)]] = Field(min_length=1, description="the query and its candidates")
    pairs: list[str] = Field(min_length=1, description="corpora of pairs")
    positions: list[Position] = Field(default=["before_last"], min_length=1)
    training_pairs: list[Positive | None] = Field(default=[None], min_length=1, description="null: all")
    d_model: Positive | None = Field(default=None, description="the embedders' width; null: the study's")
    steps: Positive | None = Field(default=None, description="null: as all comparisons")
    probes: bool = True

    @field_validator("matchers")
    @classmethod
    def _refuse_unknown(cls, matchers: list[str]) -> list[str]:
        refuse_unknown_names("matcher", matchers, MATCHERS)
        return matchers


class Search(LossSearch):
    """How a matcher's learning rate and the normalisation of its embeddings are chosen, on embedders of `seeds`.

    A `criterion` compares rates alone: one normalisation is named then, and the loss of each run is kept.
    """

    seeds: Seeds = Field(default=[100])
    context: Annotated[int, Field(ge=3)] = 8
    normalisations: list[Normalisation] = Field(min_length=1)

    @model_validator(mode="after")
    def _refuse_several(self) -> Self:
        if self.criterion and len(self.normalisations) > 1:
            raise ValueError("a search with a `criterion` compares rates: name one of the `normalisations`")
        return self


class RetrievalSettings(StrictModel):
    """Matchers of `n_blocks` blocks, as wide as the embeddings; `tested` held-out losses, evenly over the steps.

    `control`: the corpus of pairs whose queries share no content word with their texts. A comparison that is null is
    left out; an overlay may set it so.
    """

    seeds: list[Seed] | None = Field(default=None, min_length=1, description="null: the study's")
    steps: Positive
    batch_size: Positive
    n_blocks: Positive
    n_heads: Positive = 4
    validation_draws: Positive = 1024
    tested: Positive = 10
    optimiser: Optimiser
    normalisation: Normalisation = Field(default="standardised", description="where nothing is searched")
    search: Search | None = None
    control: str | None = None
    comparisons: dict[str, Matching | None] = Field(min_length=1)
    runs_per_process: Positive = 1

    @property
    def active_comparisons(self) -> list[Matching]:
        """The comparisons that are not null."""
        return [comparison for comparison in self.comparisons.values() if comparison is not None]
