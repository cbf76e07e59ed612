"""The plan: from parameters to runs, the files that they make, and what of it is there already. Imports no torch."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from allmlp import corpora, params, paths, studies
from allmlp.errors import UserError
from allmlp.params import SCALES, Params, Scale
from allmlp.run import Run

CLAIMS, REPORT = Path("results/claims.json"), Path("results/report.html")
DEVICE_OF_SCALE: dict[str, str] = {"gpu": "cuda", "paper": "cuda"}


def _unmeasured(run: Run) -> bool:
    return not all(Path(file).is_file() for file in run.measurements.values())


@dataclass(frozen=True)
class Context:
    """What a study asks of the plan to name its runs."""

    parameters: Params
    root: Path
    device: str
    _known: dict[tuple[str, str], str] = field(default_factory=dict, compare=False, repr=False)  # hundreds of runs ask

    def tokens(self, corpus: str) -> str:
        """The id of a corpus's tokens."""
        if ("tokens", corpus) not in self._known:
            self._known["tokens", corpus] = corpora.token_id(corpus, self.parameters.corpora[corpus], self.root)
        return self._known["tokens", corpus]

    def corpus_settings(self, corpus: str) -> str:
        """The digest of what a corpus is, whatever code reads it."""
        if ("settings", corpus) not in self._known:
            spec = self.parameters.corpora[corpus]
            described = {key: value for key, value in corpora.described(spec).items() if key != "recipes"}
            self._known["settings", corpus] = paths.digest([described, corpora.content(corpus, spec, self.root)])
        return self._known["settings", corpus]

    def vocabulary(self, corpus: str) -> int:
        """Its number of token types: as asked for, or as recorded when it was tokenized."""
        return corpora.vocabulary(corpus, self.parameters.corpora[corpus], self.root)

    def images(self, corpus: str) -> corpora.ImageSource:
        """A corpus of images: their size and number of classes, known without reading them."""
        return corpora.image_source(corpus, self.parameters.corpora[corpus])


@dataclass(frozen=True)
class Batch:
    """Runs that are trained, and measured, in one process: short ones together."""

    name: str
    runs: tuple[Run, ...]

    @property
    def ids(self) -> str:
        """The run ids, for a command line."""
        return " ".join(run.id for run in self.runs)

    @property
    def title(self) -> str:
        """What the terminal says of it."""
        return self.runs[0].id if len(self.runs) == 1 else f"{self.runs[0].id} and {len(self.runs) - 1} more"

    @property
    def tokens(self) -> list[str]:
        """The token files that its runs read."""
        return sorted({run.token_file for run in self.runs if run.token_file})

    @property
    def checkpoints(self) -> list[str]:
        """The last weights of its runs."""
        return [run.checkpoint for run in self.runs]

    @property
    def needed(self) -> list[str]:
        """What its measures read: the weights, and the tokens."""
        return self.checkpoints + self.tokens

    @property
    def measurements(self) -> list[str]:
        """The measurements that its runs lack."""
        return [file for run in self.runs for file in run.measurements.values() if not Path(file).is_file()]

    @property
    def gpus(self) -> int:
        """Devices that the process needs."""
        return max(run.gpus for run in self.runs)

    @property
    def memory_mb(self) -> int:
        """A generous guess for a batch system: a GPU job stages its data in host memory."""
        return 16000 if self.gpus else 4000


class Plan:
    """The runs of every scale, and those of the scale that is asked for."""

    def __init__(self, parameters: Params, root: Path, arguments: Sequence[str] = ()) -> None:
        self.parameters, self.root = parameters, root
        self.scale: Scale = parameters.scale
        self.arguments = shlex.join(arguments)  # what other commands need to compute this same plan

    @cached_property
    def by_scale(self) -> dict[str, dict[str, list[Run]]]:
        """scale -> study -> its runs; then the recorded overlays, each by its name, with what only it has."""
        found: dict[str, dict[str, list[Run]]] = {scale: self._runs(scale) for scale in SCALES}
        known = {run.id for of_study in found.values() for runs in of_study.values() for run in runs}
        for name, other in self.recorded.items():
            own = {study: [r for r in runs if r.id not in known] for study, runs in other._runs(other.scale).items()}
            found[name] = {study: runs for study, runs in own.items() if runs}
        return found

    @cached_property
    def recorded(self) -> dict[str, "Plan"]:
        """The plans of the recorded overlays: `english` for overlays/english.yaml."""
        plans = {}
        for file in map(Path, self.parameters.recorded):
            if not (self.root / file).is_file():
                raise UserError(
                    f"{file}: named under `recorded:` in params.yaml, and not there. Put it back or its name out."
                )
            plans[file.stem] = Plan(params.load(self.root / "params.yaml", [self.root / file]), self.root)
        return plans

    def _runs(self, scale: Scale) -> dict[str, list[Run]]:
        context = Context(self.parameters, self.root, self.parameters.device or DEVICE_OF_SCALE.get(scale, "cpu"))
        found = {}
        for (study, at), settings in self.parameters.settings.items():
            if at == scale:
                found[study] = list(
                    {run.id: run for run in studies.module(study, "runs").runs(settings, context)}.values()
                )
        return found

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of the chosen scale."""
        return [run for runs in self.by_scale[self.scale].values() for run in runs]

    @cached_property
    def _by_id(self) -> dict[str, Run]:
        found = {run.id: run for of_study in self.by_scale.values() for runs in of_study.values() for run in runs}
        return found | {run.id: run for run in self.runs}

    def run(self, run_id: str) -> Run:
        """A run of any scale by its id; of the chosen scale where it is in several, which may measure other things."""
        if run_id not in self._by_id:
            raise UserError(
                f"no run {run_id!r} in the plan. `allmlp plan` lists them; parameters from other files need --params."
            )
        return self._by_id[run_id]

    @property
    def measurements(self) -> list[str]:
        """The measurement files of the chosen scale."""
        return [file for run in self.runs for file in run.measurements.values()]

    @cached_property
    def untrained(self) -> list[Batch]:
        """Runs without weights that a missing measurement waits for, in batches."""
        return self._batches(lambda run: not Path(run.checkpoint).is_file() and _unmeasured(run))

    @cached_property
    def unmeasured(self) -> list[Batch]:
        """Runs that lack a measurement, in batches."""
        return self._batches(_unmeasured)

    def _batches(self, wanted: Any) -> list[Batch]:
        """Batches keep their members whatever else is done meanwhile: cut from the whole plan, then thinned."""
        batches = []
        for (study, size), group in groupby(self.runs, key=lambda run: (run.study, run.runs_per_process)):
            runs = list(group)
            for number, start in enumerate(range(0, len(runs), size), 1):
                members = tuple(run for run in runs[start : start + size] if wanted(run))
                if members:
                    batches.append(Batch(f"{study}_{number}", members))
        return batches

    def present(self, runs: Iterable[Run]) -> dict[str, dict[str, str]]:
        """measure -> run id -> file, of those measurements that are there."""
        found: dict[str, dict[str, str]] = {}
        for run in runs:
            for measure, file in run.measurements.items():
                if Path(file).is_file():
                    found.setdefault(measure, {})[run.id] = file
        return found

    def digest(self) -> str:
        """What the report is to speak of: the chosen scale's measurements, and those of other scales that are there.

        By name and content: a measurement made again with other bytes is news; one still missing is too.
        """
        there = {
            file: paths.file_sha256(Path(file))
            for of_study in self.by_scale.values()
            for runs in of_study.values()
            for files in self.present(runs).values()
            for file in files.values()
        }
        return paths.digest(sorted({**dict.fromkeys(self.measurements, ""), **there}.items()), 16)

    def unreported(self) -> bool:
        """Does results/claims.json or the report, which names the plan too, speak of anything else, or not exist?"""
        try:
            judged, digest = json.loads(CLAIMS.read_text(encoding="utf-8"))["plan"], self.digest()
            return judged != digest or digest not in REPORT.read_text(encoding="utf-8")
        except (FileNotFoundError, KeyError, ValueError):
            return True


def load_plan(overlays: Iterable[str | Path] = (), changes: dict[str, Any] | None = None) -> Plan:
    """The plan of params.yaml with overlay files and single changes (`scale`, `device`)."""
    root = paths.project()
    files = [path for path in map(Path, overlays) if path.resolve() != (root / "params.yaml").resolve()]
    settings = {key: str(value) for key, value in (changes or {}).items() if value is not None}
    arguments = [word for path in files for word in ("--params", str(path.resolve()))]
    arguments += [word for key, value in settings.items() for word in (f"--{key}", value)]
    return Plan(params.read(files, settings), root, arguments)
