"""The Snakefile's interface to the package. Uses of Snakemake beyond its documentation are all here. Tested with 9.27.

| use | since | for | until |
| --- | --- | --- | --- |
| `config_settings` | 8.0 | files and changes one by one, so that errors name file and line | |
| `current_basedir`, `modifier` | 8.0 | where this file lies, and is it a module of another workflow? | |
| `overwrite_workdir` | 8.0 | `--directory` wins over a folder of the user's own | |
| `resource_settings.nodes`, `remote_exec` | 8.0 | is this a cluster, is this a job on one? | |
| `scheduling_settings` | 8.18 | no limit of jobs per second on this machine | snakemake#3744 |
| `DAG.set_until_jobs` | 5.0 | `--until train` where one training waits for another | snakemake#823 |
| `logger_manager`, `dag.needrun_jobs`, `dag.jobid` | 9.15 | what `--logger allmlp` counts | |
| `default_target` | 7.0 | the rule `all` of an included file | |
| `scheduler.global_resources`, `.resources` | 6.0 | no more GPU jobs than GPUs | |
| `snakemake_tmp_dir` | 8.0 | what a killed call leaves in the temporary directory | |
| functions as `priority`, in the rules | 9.24 | the order of batches | |
| options in `sys.argv` | | `--report`, `--rulegraph` and the like ask for other files | |
"""

import os
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from allmlp.common import formats, paths, processes
from allmlp.common.errors import UserError
from allmlp.pipeline import manifests, snakemake_lock
from allmlp.pipeline.progress_line import Pipeline, find_work
from allmlp.plan import results_folder
from allmlp.plan.plan import Plan, load_plan
from allmlp.spec import catalogue
from allmlp.training.devices import VISIBLE, require
from allmlp.training.gpu_slots import places
from allmlp.training.gpus import candidates

SHOW = ("--rulegraph", "--dag", "--d3dag", "--filegraph", "--summary", "-S", "--detailed-summary", "-D")


def workflow_plan(workflow: Any, config: Mapping[str, Any]) -> Plan:
    """The plan for a Snakemake workflow. An error that the user can correct ends with one message, no traceback.

    In a workflow that has this one as a module, `config` is what it hands over: its --configfile is its own.
    """
    settings, is_module = workflow.config_settings, not workflow.modifier.is_main_snakefile()
    root = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parent  # of workflow/Snakefile
    os.environ[paths.PROJECT] = str(root)
    try:
        if not (root / "params.yaml").is_file():
            raise UserError(f"{root}: has no params.yaml. A module of this workflow is workflow/Snakefile in a clone.")
        if foreign := paths.foreign_sources():
            raise UserError(foreign)
        catalogue.check_ledgers()  # not after an hour of training
        plan = load_plan((), dict(config)) if is_module else load_plan(settings.configfiles, dict(settings.config))
        if workflow.overwrite_workdir is None and not is_module:
            if place := results_folder.folder(plan):
                results_folder.prepare(plan, place)
            if place or Path.cwd() != root:  # as after `cd elsewhere; snakemake --snakefile ...`
                workflow.workdir(place or root)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    plan.apart = workflow.resource_settings.nodes is not None or workflow.remote_exec  # no executor is known yet
    if not workflow.remote_exec:  # a job must not lift the lock of the call that sent it
        snakemake_lock.lift(str(workflow.snakemake_tmp_dir))
        manifests.remove_stale(plan.batches.values())
    if not plan.apart:
        lift_rate_limit(workflow)
    if is_called_with("--until", "-U"):
        extend_until()
    if is_called_with(*SHOW):
        manifests.write_missing(plan.batches.values())
        plan.reopen()
    os.environ[paths.DIRECTORY] = os.getcwd()  # jobs work where Snakemake works: `--directory` moves all results
    return plan


def make_default(workflow: Any, rule: str) -> None:
    """What `snakemake` alone makes: Snakemake would take only a rule of the file that includes."""
    workflow.default_target = rule


def is_called_with(*options: str) -> bool:
    """Does the command line have one of these options?"""
    return any(word.partition("=")[0] in options for word in sys.argv)


def lift_rate_limit(workflow: Any) -> None:
    """No limit of jobs per second, but for a cluster's: it looks at the queue once more after every pass, and every job
    that ends adds a look per second that never stops. After thirty jobs that took a quarter of a core.
    """
    if workflow.scheduling_settings is not None:  # as in a dry run
        workflow.scheduling_settings.max_jobs_per_timespan = None


def extend_until() -> None:
    """`--until train` trains what waits for another training: `DAG.finish` would free no job behind that rule."""
    from snakemake.dag import DAG

    choose = DAG.set_until_jobs

    def choose_and_forget(dag: Any) -> None:
        choose(dag)
        dag.untilrules, dag.untilfiles = set(), set()

    DAG.set_until_jobs = choose_and_forget


def begin(workflow: Any, plan: Plan) -> None:
    """What Snakemake does before the first job."""
    jobs = {workflow.dag.jobid(job): job for job in workflow.dag.needrun_jobs() if "batch" in job.wildcards_dict}
    works = {number: find_work(plan, job.rule.name, job.wildcards_dict["batch"]) for number, job in jobs.items()}
    for handler in workflow.logger_manager.plugin_handlers:
        if hasattr(handler, "follow"):
            handler.follow(Pipeline(works))
    if not plan.apart:
        limit_gpus(workflow.scheduler, plan)
        processes.end_at_interrupt()


def limit_gpus(scheduler: Any, plan: Plan) -> None:
    """Lower `--resources gpu=N` to the places on the devices here, and say so: a job without one would hold cores."""
    asked, devices = scheduler.global_resources.get("gpu", 0), len(candidates(os.environ.get(VISIBLE)))
    if not (asked and devices and (most := max((batch.gpus for batch in plan.batches_to_train), default=0))):
        return
    if devices < asked:
        require("cuda", 1, count=most)
    if (here := devices * (each := places())) < asked:
        there = f"{devices} CUDA devices here" + f" with {each} places each" * (each > 1)
        print(f"gpu={asked} was asked, but there are {there}: {here} GPU jobs at a time", file=sys.stderr)
        scheduler.global_resources["gpu"] = scheduler.resources["gpu"] = here


class LastMile:
    """What the rules after the measurements ask for. Jobs of a cluster read it too: nothing is looked up before."""

    note = str(manifests.REPORTED)

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def report_plan(self) -> Plan:
        """The plan of the report."""
        return results_folder.report_plan(self.plan)

    @cached_property
    def is_outdated(self) -> bool:
        """Does the report lack a measurement, or speak of another plan?"""
        return bool(self.plan.batches_to_measure) or self.report_plan.has_stale_report()

    def measure_targets(self) -> list[str]:
        """The measures of open batches; or else a file that is always there, because a rule needs an input."""
        return [batch.measuring_manifest for batch in self.plan.batches_to_measure] or [
            str(self.plan.root / "params.yaml")
        ]

    def report_targets(self) -> list[str]:
        """The note of a report that is to be made; with `--report`, the figures, which must be there."""
        if not is_called_with("--report"):
            return [self.note] if self.is_outdated or is_called_with(*SHOW) else self.measure_targets()
        if self.is_outdated:
            way = "First the same call with `--cores all` in place of `--report`."
            print(f"error: results/ is not up to date with the plan. {way}", file=sys.stderr)
            raise SystemExit(2)
        indices = sorted(Path("results/figures").glob("*/index.json"))
        return [str(index.with_name(f"{name}.svg")) for index in indices for name in formats.read("exhibits", index)]

    def figure_labels(self, file: str) -> dict[str, str]:
        """The paper, title and caption of a figure, for `snakemake --report`."""
        place = Path("results", file)
        index = place.with_name("index.json")
        found = formats.read("exhibits", index).get(place.stem) if index.is_file() else None
        if found is None:
            return dict.fromkeys(("paper", "title", "caption"), place.stem)
        return {
            "paper": catalogue.read_about(place.parent.name)["paper"],
            "title": found["title"] + (f" ({found['recorded']})" if found["recorded"] else ""),
            "caption": re.sub(r"([\\*`|_])", r"\\\1", found["caption"]),  # as reStructuredText
        }
