"""The settings that every study shares."""

from collections.abc import Collection, Iterator, Mapping
from itertools import count, product
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from allmlp.common.schema import StrictModel, refuse_unknown_names
from allmlp.models import REGISTRY

FEWEST_SEARCHED = 3  # seeds of a search
Count = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0)]
Named = TypeVar("Named", bound=Mapping[str, Any])
Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]


class Optimiser(StrictModel):
    """AdamW and its schedule. `learning_rate` is the maximum, reached after `warmup_steps` of linear warm-up."""

    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field(default=[0.9, 0.999], min_length=2, max_length=2)
    eps: float = Field(default=1e-8, ge=0)
    clip: float | None = Field(default=None, gt=0)
    warmup_steps: int = Field(default=0, ge=0)
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    minimum_learning_rate: float = Field(default=0.0, ge=0)
    accumulation: int = Field(default=1, ge=1)


class RelativeOptimiser(StrictModel):
    """The same as shares, for runs of different lengths and rates.

    `warmup_share`: of a run's steps. `minimum_share`: the last rate over the largest.
    """

    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float | None = Field(default=None, gt=0)
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    warmup_share: float = Field(default=0.0, ge=0, lt=1)
    minimum_share: float = Field(default=0.0, ge=0, le=1)

    def optimiser_for(self, steps: int, learning_rate: float | None = None) -> Optimiser:
        """The optimiser of a run with this many steps. `learning_rate`: in place of the common one."""
        rate = self.learning_rate if learning_rate is None else learning_rate
        return Optimiser(
            learning_rate=rate,
            weight_decay=self.weight_decay,
            clip=self.clip,
            warmup_steps=round(self.warmup_share * steps),
            schedule=self.schedule,
            minimum_learning_rate=self.minimum_share * rate,
        )


class StudySettings(StrictModel):
    """Settings of every study at one scale; each study adds its own."""

    seeds: Seeds
    steps: Count
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    processes: Count = 1  # that train one run together; on CUDA each has a device
    stacked: Count = 1  # seeds of one setting that are trained as one model: the same losses, to rounding
    runs_per_process: int = Field(default=1, ge=1)  # short runs share one process; this changes no result

    @model_validator(mode="after")
    def _check_stacking(self) -> "StudySettings":
        if self.stacked > 1 and (self.compile or self.processes > 1):
            raise ValueError("stacked runs are neither compiled nor trained by several processes: set `stacked: 1`")
        return self

    def machine(self, device: str) -> dict[str, Any]:
        """Where and how a run computes: one thread on a CPU, because another number gives different bits."""
        return {
            "precision": self.precision,
            "compile": self.compile,
            "device": device,
            "threads": 1,
            "processes": self.processes,
            "stacked": self.stacked,
            "runs_per_process": self.runs_per_process,
        }

    def untrained_settings(self, device: str = "cpu") -> dict[str, Any]:
        """Training settings of a run without steps, which only carries measures. Its id depends on no setting of a
        scale."""
        return {
            **self.machine(device),
            "precision": "float32",
            "compile": False,
            "processes": 1,
            "stacked": 1,
            "optimiser": Optimiser(learning_rate=1.0).model_dump(),
            "steps": 0,
            "seed": 0,
        }


class LearningRateSearch(StrictModel):
    """Every compared model is trained for `steps` steps at each rate, on separate seeds.

    With a `criterion` the rate is chosen as in `search_rules`, and at least three seeds are needed; without one the
    rate with the lowest held-out loss, averaged over the seeds.
    """

    learning_rates: list[Rate] = Field(min_length=1)
    steps: Count
    seeds: Seeds
    criterion: Literal["held_out_nats", "iterations_to_99"] | None = Field(
        default=None, description="the number by which rates are compared; a run never reaching 99 % counts its budget"
    )

    @model_validator(mode="after")
    def _check_ties(self) -> "LearningRateSearch":
        if self.criterion and len(self.seeds) < FEWEST_SEARCHED:
            raise ValueError(
                f"a search with a `criterion` needs {FEWEST_SEARCHED} seeds, for the error of a difference"
            )
        return self

    def settings(self) -> Iterator[tuple[int, float]]:
        """Seed and rate of each run of the search."""
        return product(self.seeds, self.learning_rates)


class WidenedSearch(LearningRateSearch):
    """A search whose grid can be widened for one model."""

    further_rates: dict[str, list[Rate]] = Field(
        default={}, description="model: rates besides the common ones, where its best was at an edge of these"
    )

    def settings_of(self, model: str) -> Iterator[tuple[int, float]]:
        """Seed and rate of each run of this model's search."""
        return product(self.seeds, dict.fromkeys([*self.learning_rates, *self.further_rates.get(model, [])]))


class LossSearch(LearningRateSearch):
    """A search whose models are compared by their held-out loss alone."""

    criterion: Literal["held_out_nats"] | None = Field(
        default=None, description="rates that tie within a standard error: the middle one; null: the lowest mean"
    )


def _check_architecture(name: str) -> str:
    refuse_unknown_names("architecture", [name], REGISTRY)
    return name


Architecture = Annotated[str, AfterValidator(_check_architecture)]  # a name of one


def check_architectures(models: Named) -> Named:
    """The settings by the names of architectures, for a validator. ValueError for an unknown name."""
    refuse_unknown_names("architecture", models, REGISTRY)
    return models


def refuse_searched_seeds(searched: Collection[int], seeds: Collection[int], where: str) -> None:
    """Refuse a search that uses one of the evaluated `seeds`; `where`: its key, for example `search.seeds`.

    A choice made on a seed fits that seed: its result would be too good, most of all for the model with the most
    choices. For a validator of the settings with this key: raises pydantic's ValidationError, a ValueError, at the key,
    so that the user's error names file, line and value.
    """
    if not (both := sorted(set(searched) & set(seeds))):
        return
    free = next(number for number in count(100) if number not in seeds)
    advice = "it uses one of the evaluated seeds ({seeds}), and what is chosen on a seed suits that seed. "
    advice += "Search on one that nothing else uses, {free} say."
    listed = ", ".join(map(str, sorted(set(seeds))))
    error = PydanticCustomError("searched_seed", advice, {"seeds": listed, "free": free})
    raise ValidationError.from_exception_data(
        where, [{"type": error, "loc": tuple(where.split(".")), "input": both[0]}]
    )
