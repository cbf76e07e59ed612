"""The plan: from parameters to runs, the files that they make, and what of it is there already. Imports no torch."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from allmlp import batches, corpora, params, paths, studies
from allmlp.batches import Batch
from allmlp.errors import UserError
from allmlp.params import SCALES, Params, Scale
from allmlp.run import Run

CLAIMS, REPORT = Path("results/claims.json"), Path("results/report.html")
DEVICE_OF_SCALE: dict[str, str] = {"gpu": "cuda", "paper": "cuda"}


def _unmeasured(run: Run) -> bool:
    return not all(Path(file).is_file() for file in run.measurements.values())


def _without_recipes(described: dict[str, Any]) -> dict[str, Any]:
    """A corpus's description, and within it those of the corpora that it is made with, without recipes."""
    return {
        key: _without_recipes(value) if isinstance(value, dict) else value
        for key, value in described.items()
        if key != "recipes"
    }


def _related(runs: dict[str, Run], where: str) -> list[Run]:
    """The runs, each with those that it needs: its parent, and those of its search."""
    known: dict[str, Run] = {}

    def add(run: Run) -> Run:
        if run.id not in known:
            if lacking := [one for one in run.needs if one not in runs]:
                raise ValueError(f"{where}: {run.id} needs {lacking[0]}, which `runs` does not list")
            known[run.id] = replace(run, relatives={one: add(runs[one]) for one in run.needs}) if run.needs else run
        return known[run.id]

    return [add(run) for run in runs.values()]


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

    def pairs(self, corpus: str) -> str:
        """The id of the tokens of a corpus of pairs. UserError for one of another kind."""
        if not self.parameters.corpora[corpus].is_pairs:
            raise UserError(f"corpus '{corpus}': holds no pairs. Name one of source {', '.join(corpora.PAIRS)}.")
        return self.tokens(corpus)

    def corpus_settings(self, corpus: str) -> str:
        """The digest of what a corpus is, whatever code reads it."""
        if ("settings", corpus) not in self._known:
            spec = self.parameters.corpora[corpus]
            held = corpora.content(corpus, spec, self.root)
            held |= {
                part: self.corpus_settings(other) for part, other in spec.others.items()
            }  # for their ids hold recipes
            self._known["settings", corpus] = paths.digest([_without_recipes(corpora.described(spec)), held])
        return self._known["settings", corpus]

    def vocabulary(self, corpus: str) -> int:
        """Its number of token types: as asked for, or as recorded when it was tokenized."""
        return corpora.vocabulary(corpus, self.parameters.corpora[corpus], self.root)

    def images(self, corpus: str) -> corpora.ImageSource:
        """A corpus of images: their size and number of classes, known without reading them."""
        return corpora.image_source(corpus, self.parameters.corpora[corpus])


class Plan:
    """The runs of every scale, and those of the scale that is asked for."""

    def __init__(self, parameters: Params, root: Path, arguments: Sequence[str] = ()) -> None:
        self.parameters, self.root = parameters, root
        self.scale: Scale = parameters.scale
        self.arguments = shlex.join(arguments)  # what other commands need to compute this same plan

    @cached_property
    def by_scale(self) -> dict[str, dict[str, list[Run]]]:
        """scale -> study -> its runs; then the recorded overlays, each by its name, with what only it has."""
        found: dict[str, dict[str, list[Run]]] = {s: self._chosen if s == self.scale else self._runs(s) for s in SCALES}
        known = {run.id for of_study in found.values() for runs in of_study.values() for run in runs}
        for name, other in self.recorded.items():
            own = {study: [r for r in runs if r.id not in known] for study, runs in other._chosen.items()}
            found[name] = {study: runs for study, runs in own.items() if runs}
        return found

    @cached_property
    def _chosen(self) -> dict[str, list[Run]]:
        return self._runs(self.scale)

    @cached_property
    def recorded(self) -> dict[str, "Plan"]:
        """The plans of the recorded overlays: `english` for overlays/english.yaml."""
        plans: dict[str, Plan] = {}
        for file in map(Path, self.parameters.recorded):
            if not (self.root / file).is_file():
                raise UserError(
                    f"{file}: named under `recorded:` in params.yaml, and not there. Put it back or its name out."
                )
            if file.stem in (*SCALES, *plans):
                raise UserError(
                    f"{file}: named under `recorded:` in params.yaml, but '{file.stem}' is the name of a scale, or of "
                    "another recorded overlay. Rename the file."
                )
            plans[file.stem] = Plan(params.load(self.root / "params.yaml", [self.root / file]), self.root)
        return plans

    def _runs(self, scale: Scale) -> dict[str, list[Run]]:
        context = Context(self.parameters, self.root, self.parameters.device or DEVICE_OF_SCALE.get(scale, "cpu"))
        found = {}
        for (study, at), settings in self.parameters.settings.items():
            if at == scale:
                listed = {run.id: run for run in studies.module(study, "runs").runs(settings, context)}
                found[study] = _related(listed, f"{study} at scale {scale}")
        return found

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of the chosen scale."""
        return [run for runs in self._chosen.values() for run in runs]

    @cached_property
    def _chosen_by_id(self) -> dict[str, Run]:
        return {run.id: run for run in self.runs}

    @cached_property
    def _any_by_id(self) -> dict[str, Run]:
        return {run.id: run for of_study in self.by_scale.values() for runs in of_study.values() for run in runs}

    def run(self, run_id: str) -> Run:
        """A run of any scale by its id; where several have it, which may measure other things, the chosen scale's.

        Other scales are planned only where the chosen one has no such run: jobs, which name its runs, start sooner. Of
        these the last one's counts.
        """
        found = self._chosen_by_id.get(run_id) or self._any_by_id.get(run_id)
        if found is None:
            raise UserError(
                f"no run {run_id!r} in the plan. `allmlp plan` lists them; parameters from other files need --params."
            )
        return found

    def tokenizer_file(self, spec: corpora.CorpusSpec) -> Path | None:
        """The `meta.json` of the tokens whose tokenizer a corpus shares; None for one with a tokenizer of its own."""
        if spec.teacher is None:
            return None
        return Path("results/tokens") / corpora.token_id(spec.others["teacher"], spec.teacher, self.root) / "meta.json"

    def before_tokens(self, corpus: str) -> list[str]:
        """What a corpus is tokenized with: nothing, or the tokens whose tokenizer it shares."""
        file = self.tokenizer_file(self.parameters.corpora[corpus])
        return [str(file)] if file else []

    @property
    def measurements(self) -> list[str]:
        """The measurement files of the chosen scale."""
        return [file for run in self.runs for file in run.measurements.values()]

    @cached_property
    def untrained(self) -> list[Batch]:
        """Runs without weights that a missing measurement waits for, and what these need, in batches."""
        return batches.cut(self.runs, batches.to_train(self.runs, filter(_unmeasured, self.runs)))

    @cached_property
    def unmeasured(self) -> list[Batch]:
        """Runs that lack a measurement, in batches."""
        return batches.cut(self.runs, {run.id for run in self.runs if _unmeasured(run)})

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
