"""A run: everything that determines one training, as a frozen value whose id is a digest of its content."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from allmlp import models
from allmlp.common import paths, recipes
from allmlp.data import tasks
from allmlp.spec import catalogue

LOOP = "allmlp.training.loop"
STACK = "allmlp.training.stack"


@dataclass(frozen=True)
class Run:
    """One training of one architecture on one task with one seed.

    `labels` distinguish this run within its study, in words for figures; `measures` are taken from its checkpoints;
    `keep` are steps with kept weights, besides the last. The id covers everything that can change a bit of the result.

    `parent` is the run whose last weights this one reads (a frozen embedder's, say) or, with `continues`, begins from.
    `search` are runs that differ in learning rate: the best of these rates replaces `optimiser["learning_rate"]`.
    `criterion` names the number by which rates are compared (`search_rules`); without one the lowest mean of the last
    held-out losses wins. `until` ends a run with the first batch of this token accuracy, after its update.
    `tested` are steps at which the held-out loss is taken besides those of `keep`.

    `processes` train the run together, each with a device of its own on CUDA. `threads` are those of one process.
    Up to `stacked` runs that differ only in their seeds, and their parents', are trained as one model.
    """

    study: str
    name: str
    labels: dict[str, str | int | float]
    architecture: str
    hyperparameters: dict[str, Any]
    task: str
    task_parameters: dict[str, Any]
    optimiser: dict[str, Any]
    steps: int
    seed: int
    measures: tuple[str, ...]
    keep: tuple[int, ...] = ()
    corpus: str | None = None
    corpus_settings: str | None = None  # digest of the corpus's description, independent of the code that reads it
    tokens: str | None = None  # the id of the corpus's tokens, see corpora.identity.token_id
    loss_dtype: str = "float32"
    precision: str = "float32"
    compile: bool = False
    device: str = "cpu"
    threads: int = 1
    processes: int = 1
    stacked: int = 1
    parent: str | None = None
    continues: bool = False
    search: tuple[str, ...] = ()
    criterion: str = ""
    until: float | None = None
    tested: tuple[int, ...] = ()
    runs_per_process: int = field(default=1, compare=False)
    relatives: "Mapping[str, Run]" = field(default_factory=dict, compare=False, repr=False)  # by id; the plan adds them

    @cached_property
    def id(self) -> str:
        """`<name>-seed<n>-<digest>`: the digest of everything that determines the result."""
        return f"{self.name}-seed{self.seed}-{paths.digest(self.identity)}"

    @property
    def identity(self) -> dict[str, Any]:
        """The fields behind the id. Labels, measures and the study's name change no result and are left out."""
        computed = self.loss_dtype, self.precision, self.compile
        return {
            "architecture": [self.architecture, self.hyperparameters],
            "task": [self.task, self.task_parameters, self.tokens],
            "training": [self.optimiser, self.steps, self.seed, list(self.keep), *computed],
            "machine": [self.device, self.threads],
            "parent": self.parent,
            **self._later_fields,
            "recipes": [recipes.recipe_number(module) for module in self.modules],
        }

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules whose RECIPE the id holds: of the architecture, the task, the training loop and a stack."""
        named = models.entry(self.architecture), tasks.REGISTRY[self.task], LOOP, *[STACK] * (self.stacked > 1)
        return tuple(place.split(":")[0] for place in named)

    @property
    def _later_fields(self) -> dict[str, Any]:
        """Fields that are in the identity only if they are used, so that older runs keep their ids."""
        used = {
            "continues": self.continues,
            "search": list(self.search),
            "criterion": self.criterion,
            "until": self.until,
            "tested": list(self.tested),
            "processes": self.processes if self.processes > 1 else 0,
            "stacked": self.stacked if self.stacked > 1 else 0,
        }
        return {key: value for key, value in used.items() if value}

    @cached_property
    def setting(self) -> str:
        """A digest of everything but the seed and the parent: runs with the same one can be trained as a stack."""
        return paths.digest(replace(self, seed=0, parent=None).identity)

    @cached_property
    def settings_digest(self) -> str:
        """The digest of the same without the recipes: equal before and after a RECIPE is raised."""
        settings = {key: value for key, value in self.identity.items() if key != "recipes"}
        settings["task"] = [self.task, self.task_parameters, self.corpus_settings]
        settings["parent"] = self.parent and self._related_settings(self.parent)
        if self.search:
            settings["search"] = [self._related_settings(run) for run in self.search]
        return paths.digest(settings, 16)

    def _related_settings(self, relative: str) -> str:
        """The settings of another run in place of its id, because the id contains recipes."""
        return self.relatives[relative].settings_digest if relative in self.relatives else relative

    @property
    def needs(self) -> tuple[str, ...]:
        """The ids of the runs that must be trained before this one: its parent, and those of its search."""
        return (*([self.parent] if self.parent else []), *self.search)

    @cached_property
    def depth(self) -> int:
        """The longest chain of trainings that must come before this one."""
        return max((1 + self.relatives[run].depth for run in self.needs), default=0)

    @property
    def gpus(self) -> int:
        """Devices that the run occupies."""
        return self.processes if self.device == "cuda" else 0

    @property
    def folder(self) -> Path:
        """Where its checkpoints are published."""
        return Path("results/checkpoints") / self.id

    @property
    def checkpoint(self) -> str:
        """Its last weights: the file that represents the whole folder, written last."""
        return f"results/checkpoints/{self.id}/final.safetensors"

    @property
    def token_file(self) -> str | None:
        """The `meta.json` of the tokens that it reads."""
        return f"results/tokens/{self.tokens}/meta.json" if self.tokens else None

    def recipe(self, measure: str) -> int:
        """The recipe of one of its measures."""
        return recipes.recipe_number(catalogue.measure_source(self.study, measure))

    @cached_property
    def keys(self) -> dict[str, tuple[str, int]]:
        """measure -> the run's id and the recipe of the measure: what the store has its rows under."""
        return {measure: (self.id, self.recipe(measure)) for measure in self.measures}

    @cached_property
    def measurements(self) -> dict[str, str]:
        """measure -> the file that a job writes it to, from where the store takes it (`allmlp.measurements.store`)."""
        return {
            m: f"work/measurements/{self.study}/{m}/{id}-r{recipe}.parquet" for m, (id, recipe) in self.keys.items()
        }


def log_spaced_steps(steps: int, per_decade: int = 4) -> tuple[int, ...]:
    """Steps 0, 1, ... spaced evenly in their logarithm up to (not including) the last, and the middle one."""
    spaced = {round(10 ** (i / per_decade)) for i in range(100) if 10 ** (i / per_decade) < steps}
    return tuple(sorted(spaced | {0, steps // 2}))


def link_runs(runs: dict[str, Run], where: str) -> list[Run]:
    """The runs, each with those that it needs: its parent, and those of its search."""
    known: dict[str, Run] = {}

    def add(run: Run) -> Run:
        if run.id not in known:
            if lacking := [one for one in run.needs if one not in runs]:
                raise ValueError(f"{where}: {run.id} needs {lacking[0]}, which `runs` does not list")
            known[run.id] = replace(run, relatives={one: add(runs[one]) for one in run.needs}) if run.needs else run
        return known[run.id]

    return [add(run) for run in runs.values()]
