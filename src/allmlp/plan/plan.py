"""The plan: from parameters to runs, their files, and which of these exist already. Imports no torch."""

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from allmlp.common import formats, paths
from allmlp.common.errors import UserError, format_value
from allmlp.common.paths import CLAIMS, REPORT
from allmlp.data.corpora import identity
from allmlp.data.corpora.spec import CorpusSpec
from allmlp.measurements import search_losses, store
from allmlp.plan import batches, own_runs, params
from allmlp.plan.batches import Batch
from allmlp.plan.params import SCALES, Params, Scale
from allmlp.plan.planned_runs import PlannedRuns, device_of
from allmlp.spec import catalogue
from allmlp.spec.run import Run

WEIGHTS_OF_SCALE: dict[str, str] = {"paper": "released"}
TRIAL = "smoke"  # a scale that decides no claim
ONLY = "ALLMLP_RUNS"  # environment variable: the file `only` of a Plan, for Snakemake and its jobs


class Plan:
    """The runs of every scale, and those of the scale that is asked for.

    `overlays`: the files laid over params.yaml. `committed`: with corpora as git has them, whatever text lies here.
    `source`: the folder of params.yaml and config/, where it is not the project's.
    `study`: the only one to train and measure; reports speak of all. `only`: a file with the ids of the runs to train
    and measure, a line each, where these are not all.
    `like`: a plan that has the same runs wherever the inputs are the same, so that they are made once.
    `apart`: are runs measured by jobs of their own, as on a cluster, which may stop a job after its training?
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
        only: Path | None = None,
        like: "Plan | None" = None,
    ) -> None:
        self.parameters, self.root, self.source = parameters, root, source or root
        self.overlays, self.committed, self.study, self.only = overlays, committed, study, only
        self.apart = False
        self.scale: Scale = parameters.scale
        self.device = device_of(parameters, self.scale)
        self.planned: PlannedRuns = PlannedRuns(parameters, root, committed, like.planned if like else None)
        self.arguments = shlex.join(arguments)  # options of other commands for the same plan

    @cached_property
    def runs_by_scale(self) -> dict[str, dict[str, list[Run]]]:
        """scale -> study -> its runs; then the recorded overlays by name, with the runs that they add to git's plan."""
        found: dict[str, dict[str, list[Run]]] = {
            s: self.chosen_runs if s == self.scale else self._runs(s) for s in SCALES
        }
        return found | self._recorded_runs(catalogue.STUDIES)

    @cached_property
    def has_own_results(self) -> bool:
        """Are its results a user's own: of files laid over the project's, or of a trial?"""
        return bool(self.overlays) or self.scale == TRIAL != self.git_plan.scale

    @cached_property
    def report_runs(self) -> dict[str, dict[str, list[Run]]]:
        """scale -> study -> the runs that a report speaks of.

        A user's own report speaks of the chosen scale alone, and of the studies with runs that the project does not
        have, or of all if no study has such runs.
        """
        if not self.has_own_results:
            return self.runs_by_scale
        own = {*self._additional_runs(self.git_plan, self.chosen_runs)} or {*self.chosen_runs}
        return {self.scale: {of: runs for of, runs in self.chosen_runs.items() if of in own | {self.study}}}

    def study_runs(
        self, studies: Collection[str], refused: dict[str, str] | None = None
    ) -> dict[str, dict[str, list[Run]]]:
        """The same of some studies. `refused`: takes the message of each scale that cannot be planned and is not the
        chosen one, which is then left out.
        """
        found: dict[str, dict[str, list[Run]]] = {}
        for scale in SCALES:
            try:
                found[scale] = {of: self.planned.of(of, scale) for of in studies}
            except UserError as error:
                if refused is None or scale == self.scale:
                    raise
                refused[scale] = str(error)
        return found | self._recorded_runs(studies)

    def _recorded_runs(self, studies: Collection[str]) -> dict[str, dict[str, list[Run]]]:
        return {name: other._additional_runs(self.git_plan, studies) for name, other in self.recorded_plans.items()}

    def inputs(self, study: str) -> list[Any]:
        """All that a study's runs depend on besides the code. Plans with equal inputs have the same runs."""
        scales = [one.planned.inputs(study, scale) for one in (self, self.git_plan) for scale in SCALES]
        return scales + [(name, one.planned.inputs(study, one.scale)) for name, one in self.recorded_plans.items()]

    @cached_property
    def git_plan(self) -> "Plan":
        """The plan of params.yaml alone, without overlays and without this machine's text."""
        given = params.load(self.source / "params.yaml", committed=True)
        return Plan(given, self.root, committed=True, source=self.source, like=self)

    def _additional_runs(self, base: "Plan", studies: Iterable[str]) -> dict[str, list[Run]]:
        """study -> its runs that `base` has at no scale; only studies with such runs."""
        found = {}
        for study in studies:
            if self.planned.inputs(study, self.scale) != base.planned.inputs(study, self.scale):
                known = base.planned.ids(study)
                found[study] = [run for run in self.planned.of(study, self.scale) if run.id not in known]
        return {study: runs for study, runs in found.items() if runs}

    @cached_property
    def chosen_runs(self) -> dict[str, list[Run]]:
        """study -> its runs at the chosen scale."""
        return self._runs(self.scale)

    @cached_property
    def recorded_plans(self) -> dict[str, "Plan"]:
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
        return {study: self.planned.of(study, scale) for study, at in self.parameters.settings if at == scale}

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of the chosen scale: all, the chosen study's, or those that `only` lists."""
        found = [run for study, runs in self.chosen_runs.items() if self.study in (None, study) for run in runs]
        wanted = None if self.only is None else {*self.only.read_text(encoding="utf-8").split()}
        return [run for run in found if wanted is None or run.id in wanted]

    def restrict_runs(self, only: Path) -> "Plan":
        """The same plan with a file of the only runs to train and measure."""
        words = shlex.split(self.arguments)
        return Plan(self.parameters, self.root, words, self.overlays, self.committed, self.study, self.source, only)

    @cached_property
    def _chosen_runs_by_id(self) -> dict[str, Run]:
        return {run.id: run for runs in self.chosen_runs.values() for run in runs}

    @cached_property
    def _all_runs_by_id(self) -> dict[str, Run]:
        return {run.id: run for of_study in self.runs_by_scale.values() for runs in of_study.values() for run in runs}

    def run(self, run_id: str) -> Run:
        """A run of any scale by its id. If several scales have it, with different measures, the chosen scale's counts.

        Other scales are planned only if the chosen one has no such run, so that jobs start sooner. Among other scales
        the last one counts.
        """
        found = self._chosen_runs_by_id.get(run_id) or self._all_runs_by_id.get(run_id)
        if found is None:
            way = (
                own_runs.advice(self.root, run_id, _planned_ids)
                or "`allmlp plan` lists them; those of your own files need --params."
            )
            raise UserError(f"no run {run_id!r} in the plan. {way}")
        return found

    def find(self, named: str) -> Run:
        """The run of any scale or recorded overlay with this id, or the only one whose id begins or ends like it.

        UserError if the name fits no run or several.
        """
        if named in self._chosen_runs_by_id:  # other scales take seconds
            return self._chosen_runs_by_id[named]
        known = {run.id: run for run in self.all_runs} | {run.id: run for run in self.runs}
        fitting = [named] if named in known else [run for run in known if run.startswith(named) or run.endswith(named)]
        if len(fitting) == 1:
            return known[fitting[0]]
        if not fitting and (way := own_runs.advice(self.root, named, _planned_ids)):
            raise UserError(f"{named!r} fits no run of the plan. {way}")
        near = "" if fitting else f"; nearest are {', '.join(get_close_matches(named, known, cutoff=0))}"
        fits = f"fits {len(fitting)} runs, such as {', '.join(fitting[:3])}" if fitting else "fits no run of the plan"
        raise UserError(f"{named!r} {fits}{near}. `allmlp plan --runs --scale SCALE` lists the ids of a scale.")

    @property
    def releases(self) -> bool:
        """Do weights go once nothing open reads them?"""
        return (self.parameters.weights or WEIGHTS_OF_SCALE.get(self.scale)) == "released"

    def tokenizer_file(self, spec: CorpusSpec) -> Path | None:
        """The `meta.json` of the tokens whose tokenizer a corpus shares; None for one with a tokenizer of its own."""
        if spec.teacher is None:
            return None
        return (
            Path("results/tokens")
            / identity.token_id(spec.related_corpora["teacher"], spec.teacher, self.root)
            / "meta.json"
        )

    def is_own(self, corpus: str) -> bool:
        """Is a corpus this machine's own: not in params.yaml, or different from the one of that name there?"""
        mine, its = self.parameters.corpora[corpus], self.git_plan.parameters.corpora.get(corpus)
        return its is None or identity.describe_corpus(its) != identity.describe_corpus(mine)

    def token_inputs(self, corpus: str) -> list[str]:
        """The inputs of tokenizing a corpus: none, or the tokens with the shared tokenizer."""
        file = self.tokenizer_file(self.parameters.corpora[corpus])
        return [str(file)] if file else []

    def training_inputs(self, batch: Batch) -> list[str]:
        """The inputs of a batch's training: tokens, and the manifests of batches whose weights it reads.

        Those of its measures too, if they follow in the same process.
        """
        read = {one for run in batch.to_train for one in search_losses.runs_it_reads(run)}
        later = self.measuring_inputs(batch) if self.is_measured_in_training(batch) else []
        return sorted({*self._inputs(batch.to_train, read), *later} - {batch.training_manifest})

    def measuring_inputs(self, batch: Batch) -> list[str]:
        """The inputs of a batch's measures: tokens and weights of its runs and their parents."""
        runs = [one for run in batch.to_measure for one in (run, run.relatives.get(run.parent or "")) if one]
        return self._inputs(runs, {run.id for run in runs})

    def _inputs(self, runs: Iterable[Run], read: Iterable[str]) -> list[str]:
        """Tokens of runs, and manifests of the batches that train those whose weights are `read`; others are there."""
        made = {self._makers[one] for one in read if one in self._makers}
        return sorted(made | {run.token_file for run in runs if run.token_file})

    def is_measured_in_training(self, batch: Batch) -> bool:
        """May the process that trains a batch measure it? Not where it holds a GPU or several cores, which a measure
        does not need. Where weights are released another job measures, and releases them.
        """
        return not (batch.gpus or batch.cores > 1 or self.releases or self.apart)

    @property
    def measurements(self) -> list[str]:
        """The files of all measurements of these runs, as jobs write them."""
        return [file for run in self.runs for file in run.measurements.values()]

    @property
    def unstored_files(self) -> list[str]:
        """The files of measurements that are not in the store, to be made by jobs."""
        return [file for run in self.runs for file in store.unstored_files(run).values()]

    @cached_property
    def batches(self) -> dict[str, Batch]:
        """name -> batch of these runs, whatever is done."""
        lacking = list(filter(batches.is_unmeasured, self.runs))
        return batches.make_batches(self.runs, batches.runs_to_train(self.runs, lacking), {run.id for run in lacking})

    def reopen(self) -> None:
        """Take everything for open, for a picture of the whole graph."""
        every, measured = {run.id for run in self.runs}, {run.id for run in self.runs if run.measures}
        self.batches = batches.make_batches(self.runs, every, measured)

    @property
    def batches_to_train(self) -> list[Batch]:
        """Batches with untrained runs behind missing measurements, or that these need."""
        return [batch for batch in self.batches.values() if batch.to_train]

    @property
    def batches_to_measure(self) -> list[Batch]:
        """Batches with runs that lack a measurement."""
        return [batch for batch in self.batches.values() if batch.to_measure]

    @cached_property
    def _makers(self) -> dict[str, str]:
        """Untrained run -> the manifest of its batch."""
        return {run.id: batch.training_manifest for batch in self.batches_to_train for run in batch.to_train}

    def batch(self, name: str) -> Batch:
        """A batch by its name."""
        if name not in self.batches:
            raise UserError(f"no batch {name!r} at scale {self.scale}. `snakemake --summary` lists all.")
        return self.batches[name]

    @property
    def all_runs(self) -> Iterator[Run]:
        """The runs of all scales and recorded overlays; a shared run is repeated."""
        return (run for of_study in self.runs_by_scale.values() for runs in of_study.values() for run in runs)

    @property
    def reported(self) -> Iterator[Run]:
        """The runs of `report_runs`."""
        return (run for of_study in self.report_runs.values() for runs in of_study.values() for run in runs)

    def digest(self) -> str:
        """The measurements of the report: all of the chosen scale, and the existing ones of the others it speaks of.

        By name and content: a repeated measurement with other rows is new, and so is a missing one.
        """
        keys: dict[tuple[str, str], set[store.Key]] = {}
        for run in self.reported:
            for measure in run.measures:
                keys.setdefault((run.study, measure), set()).add(run.keys[measure])
        held = {of: store.read_measure(*of) for of in keys}
        there = {" ".join(of): held[of].digest(sorted(keys[of] & held[of].places.keys())) for of in keys}
        chosen = (run for runs in self.report_runs[self.scale].values() for run in runs)
        missing = (file for run in chosen for file in store.unstored_files(run).values())
        return paths.digest([there, sorted(missing)], 16)

    def has_stale_report(self) -> bool:
        """Are results/claims.json or the report missing, or made from another plan?

        Both ignore measurements in work/ that are not yet in the store.
        """
        if any(store.new_measurements(self.reported)):
            return True
        try:
            claims = formats.parse_json(CLAIMS.read_text(encoding="utf-8"))
            judged, digest = formats.check_format("claims", CLAIMS, claims)["plan"], self.digest()
            return judged != digest or digest not in REPORT.read_text(encoding="utf-8")
        except (FileNotFoundError, KeyError, ValueError):
            return True


def _planned_ids(files: list[Path]) -> list[str]:
    return [run.id for run in load_plan(files).runs]


def load_plan(overlays: Iterable[str | Path] = (), changes: dict[str, Any] | None = None) -> Plan:
    """The plan of params.yaml with overlay files and single changes (`scale`, `device`); or one `study` of it."""
    root, changes = paths.project(), dict(changes or {})
    study = changes.pop("study", None)
    known = [name for name in catalogue.STUDIES if catalogue.has_runs(name)]
    if not isinstance(study, str | None):
        raise UserError(f"study={format_value(study)}: give one study, {', '.join(known)}, or leave it out for all.")
    if study is not None and study not in known:
        raise UserError(f"study={format_value(study)}: {catalogue.unknown_study_message(study, known, ' with runs')}")
    files = [path for path in map(Path, overlays) if path.resolve() != (root / "params.yaml").resolve()]
    settings = {key: str(value) for key, value in changes.items() if value is not None}
    arguments = [word for path in files for word in ("--params", str(path.resolve()))]
    arguments += [word for key, value in settings.items() for word in (f"--{key}", value)]
    only = Path(os.environ[ONLY]) if ONLY in os.environ else None
    plan = Plan(params.read(files, settings), root, arguments, files, study=study, only=only)
    plan.recorded_files()  # checked before anything runs
    return plan
