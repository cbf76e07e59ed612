"""The plan: from parameters to runs, their files, and which of these exist already. Imports no torch."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from allmlp import artifacts, batches, params, paths, store, studies
from allmlp.batches import Batch
from allmlp.context import Context as Context  # studies import it from here
from allmlp.corpora import identity
from allmlp.corpora.spec import CorpusSpec
from allmlp.errors import UserError, shown
from allmlp.params import SCALES, Params, Scale
from allmlp.paths import CLAIMS, REPORT
from allmlp.run import Run, related

DEVICE_OF_SCALE: dict[str, str] = {"gpu": "cuda", "paper": "cuda"}
WEIGHTS_OF_SCALE: dict[str, str] = {"paper": "released"}


def _measured_at(run: Run, scale: Scale) -> Run:
    """The run with the measures that its scale adds to those of its study."""
    added = tuple(m for m in studies.FROM_LONG if m not in run.measures)
    wanted = run.steps > 0 and SCALES.index(scale) >= SCALES.index("long")
    return replace(run, measures=(*run.measures, *added)) if wanted and added else run


class Plan:
    """The runs of every scale, and those of the scale that is asked for.

    `overlays`: the files laid over params.yaml. `committed`: with corpora as git has them, whatever text lies here.
    `source`: the folder of params.yaml and config/, where it is not the project's.
    `study`: the only one to train and measure; reports speak of all.
    `together`: may one job train runs and measure them? On one machine that saves the start of a process.
    """

    def __init__(
        self,
        parameters: Params,
        root: Path,
        arguments: Sequence[str] = (),
        overlays: Sequence[Path] = (),
        committed: bool = False,
        study: str | None = None,
        source: Path | None = None,
    ) -> None:
        self.parameters, self.root, self.source = parameters, root, source or root
        self.overlays, self.committed, self.study = overlays, committed, study
        self.together = True
        self.scale: Scale = parameters.scale
        self._contexts: dict[str, Context] = {}  # by device; each caches the corpora
        self._known: dict[str, set[str]] = {}  # study -> ids of its runs
        self.arguments = shlex.join(arguments)  # options of other commands for the same plan

    @cached_property
    def by_scale(self) -> dict[str, dict[str, list[Run]]]:
        """scale -> study -> its runs; then the recorded overlays by name, with the runs that they add to git's plan."""
        found: dict[str, dict[str, list[Run]]] = {s: self.chosen if s == self.scale else self._runs(s) for s in SCALES}
        return found | {name: other._beyond(self.of_git) for name, other in self.recorded.items()}

    @cached_property
    def of_git(self) -> "Plan":
        """The plan of params.yaml alone, without overlays and without this machine's text."""
        given = params.load(self.source / "params.yaml", committed=True)
        return Plan(given, self.root, committed=True, source=self.source)

    def _beyond(self, base: "Plan") -> dict[str, list[Run]]:
        """study -> its runs that `base` has at no scale; only studies with such runs."""
        found = {}
        for study in studies.STUDIES:
            if self._asks_otherwise(study, base):
                known = base._ids(study)
                found[study] = [run for run in self._of(study, self.scale) if run.id not in known]
        return {study: runs for study, runs in found.items() if runs}

    def _ids(self, study: str) -> set[str]:
        """The ids of a study's runs of all scales."""
        if study not in self._known:
            self._known[study] = {run.id for scale in SCALES for run in self._of(study, scale)}
        return self._known[study]

    def _asks_otherwise(self, study: str, base: "Plan") -> bool:
        """Can a study have runs that are not in `base`? Cheaper than computing them."""
        mine, its, place = self.parameters, base.parameters, (study, self.scale)
        shared = {name: spec for name, spec in mine.corpora.items() if name in its.corpora}
        return (mine.device, mine.settings.get(place), shared) != (its.device, its.settings.get(place), its.corpora)

    @cached_property
    def chosen(self) -> dict[str, list[Run]]:
        """study -> its runs at the chosen scale."""
        return self._runs(self.scale)

    @cached_property
    def recorded(self) -> dict[str, "Plan"]:
        """The plans of the recorded overlays: `english` for overlays/english.yaml."""
        plans = {}
        for name, file in self.recorded_files().items():
            given = params.load(self.source / "params.yaml", [file], committed=True)
            plans[name] = Plan(given, self.root, overlays=[file], committed=True, source=self.source)
        return plans

    def recorded_files(self) -> dict[str, Path]:
        """name -> file of each recorded overlay. UserError if it is missing, or if two have the same name."""
        files: dict[str, Path] = {}
        for file in map(Path, self.parameters.recorded):
            if not (self.source / file).is_file():
                raise UserError(
                    f"{file}: named under `recorded:` in params.yaml, and not there. Put it back or its name out."
                )
            if file.stem in (*SCALES, *files):
                raise UserError(
                    f"{file}: named under `recorded:` in params.yaml, but '{file.stem}' is the name of a scale, or of "
                    "another recorded overlay. Rename the file."
                )
            files[file.stem] = self.source / file
        return files

    def _runs(self, scale: Scale) -> dict[str, list[Run]]:
        return {study: self._of(study, scale) for study, at in self.parameters.settings if at == scale}

    def _of(self, study: str, scale: Scale) -> list[Run]:
        if (settings := self.parameters.settings.get((study, scale))) is None:
            return []
        device = self.parameters.device or DEVICE_OF_SCALE.get(scale, "cpu")
        context = self._contexts.setdefault(device, Context(self.parameters, self.root, device, self.committed))
        try:
            runs = studies.module(study, "runs").runs(settings, context)
        except UserError as error:
            if error.key is None:
                raise
            raise UserError(f"{self.parameters.where(study, scale, error.key)}: {study}: {error}") from None
        return related({run.id: _measured_at(run, scale) for run in runs}, f"{study} at scale {scale}")

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of the chosen scale: all, or the chosen study's."""
        return [run for study, runs in self.chosen.items() if self.study in (None, study) for run in runs]

    @cached_property
    def _chosen_by_id(self) -> dict[str, Run]:
        return {run.id: run for runs in self.chosen.values() for run in runs}

    @cached_property
    def _any_by_id(self) -> dict[str, Run]:
        return {run.id: run for of_study in self.by_scale.values() for runs in of_study.values() for run in runs}

    def run(self, run_id: str) -> Run:
        """A run of any scale by its id. If several scales have it, with different measures, the chosen scale's counts.

        Other scales are planned only if the chosen one has no such run, so that jobs start sooner. Among other scales
        the last one counts.
        """
        found = self._chosen_by_id.get(run_id) or self._any_by_id.get(run_id)
        if found is None:
            raise UserError(
                f"no run {run_id!r} in the plan. `allmlp plan` lists them; parameters from other files need --params."
            )
        return found

    def find(self, named: str) -> Run:
        """The run of any scale or recorded overlay with this id, or the only one whose id begins or ends like it.

        UserError if the name fits no run or several.
        """
        known = {run.id: run for run in self.every} | {run.id: run for run in self.runs}
        fitting = [named] if named in known else [run for run in known if run.startswith(named) or run.endswith(named)]
        if len(fitting) == 1:
            return known[fitting[0]]
        fits = f"fits {len(fitting)} runs, such as {', '.join(fitting[:3])}" if fitting else "fits no run of the plan"
        raise UserError(f"{named!r} {fits}. `allmlp plan --runs --scale SCALE` lists the ids of a scale.")

    @property
    def releases(self) -> bool:
        """Do weights go once nothing open reads them?"""
        return (self.parameters.weights or WEIGHTS_OF_SCALE.get(self.scale)) == "released"

    def tokenizer_file(self, spec: CorpusSpec) -> Path | None:
        """The `meta.json` of the tokens whose tokenizer a corpus shares; None for one with a tokenizer of its own."""
        if spec.teacher is None:
            return None
        return Path("results/tokens") / identity.token_id(spec.others["teacher"], spec.teacher, self.root) / "meta.json"

    def is_own(self, corpus: str) -> bool:
        """Is a corpus this machine's own: not in params.yaml, or different from the one of that name there?"""
        mine, its = self.parameters.corpora[corpus], self.of_git.parameters.corpora.get(corpus)
        return its is None or identity.described(its) != identity.described(mine)

    def before_tokens(self, corpus: str) -> list[str]:
        """The inputs of tokenizing a corpus: none, or the tokens with the shared tokenizer."""
        file = self.tokenizer_file(self.parameters.corpora[corpus])
        return [str(file)] if file else []

    @property
    def measurements(self) -> list[str]:
        """The files of all measurements of these runs, as jobs write them."""
        return [file for run in self.runs for file in run.measurements.values()]

    @property
    def unstored(self) -> list[str]:
        """The files of measurements that are not in the store, to be made by jobs."""
        return [file for run in self.runs for file in store.unstored(run).values()]

    @cached_property
    def untrained(self) -> list[Batch]:
        """Untrained runs behind missing measurements, and the runs that these need, in batches.

        Where weights are released another job measures: a job must not delete what it has made for Snakemake.
        """
        together = self.together and not self.releases
        return batches.cut(self.runs, batches.to_train(self.runs, self._lacking), together)

    @cached_property
    def unmeasured(self) -> list[Batch]:
        """Runs that lack a measurement, in batches, without those that are measured by the job that trains them."""
        measured = {run.id for batch in self.untrained if batch.together for run in batch.runs}
        return batches.cut(self.runs, {run.id for run in self._lacking} - measured)

    @cached_property
    def _lacking(self) -> list[Run]:
        """Runs that lack a measurement."""
        return list(filter(batches.unmeasured, self.runs))

    @property
    def every(self) -> Iterator[Run]:
        """The runs of all scales and recorded overlays; a shared run is repeated."""
        return (run for of_study in self.by_scale.values() for runs in of_study.values() for run in runs)

    def digest(self) -> str:
        """The measurements of the report: all of the chosen scale, and the existing ones of other scales.

        By name and content: a repeated measurement with other rows is new, and so is a missing one.
        """
        keys: dict[tuple[str, str], set[store.Key]] = {}
        for run in self.every:
            for measure in run.measures:
                keys.setdefault((run.study, measure), set()).add((run.id, run.recipe(measure)))
        held = {of: store.of(*of) for of in keys}
        there = {" ".join(of): held[of].digest(sorted(keys[of] & held[of].places.keys())) for of in keys}
        missing = (file for run in self._chosen_by_id.values() for file in store.unstored(run).values())
        return paths.digest([there, sorted(missing)], 16)

    def unreported(self) -> bool:
        """Are results/claims.json or the report missing, or made from another plan?

        Both ignore measurements in work/ that are not yet in the store.
        """
        if any(store.new(self.every)):
            return True
        try:
            claims = artifacts.parsed(CLAIMS.read_text(encoding="utf-8"))
            judged, digest = artifacts.known("claims", CLAIMS, claims)["plan"], self.digest()
            return judged != digest or digest not in REPORT.read_text(encoding="utf-8")
        except (FileNotFoundError, KeyError, ValueError):
            return True


def load_plan(overlays: Iterable[str | Path] = (), changes: dict[str, Any] | None = None) -> Plan:
    """The plan of params.yaml with overlay files and single changes (`scale`, `device`); or one `study` of it."""
    root, changes = paths.project(), dict(changes or {})
    study = changes.pop("study", None)
    known = [name for name in studies.STUDIES if studies.has_runs(name)]
    if not isinstance(study, str | None):
        raise UserError(f"study={shown(study)}: give one study, {', '.join(known)}, or leave it out for all.")
    if study is not None and study not in known:
        raise UserError(f"study={shown(study)}: {studies.unknown(study, known, ' with runs')}")
    files = [path for path in map(Path, overlays) if path.resolve() != (root / "params.yaml").resolve()]
    settings = {key: str(value) for key, value in changes.items() if value is not None}
    arguments = [word for path in files for word in ("--params", str(path.resolve()))]
    arguments += [word for key, value in settings.items() for word in (f"--{key}", value)]
    plan = Plan(params.read(files, settings), root, arguments, files, study=study)
    plan.recorded_files()  # checked before anything runs
    return plan
