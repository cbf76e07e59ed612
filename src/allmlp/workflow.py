"""The Snakefile's interface to the package: the plan, with Snakemake's own --configfile and --config."""

import os
import re
import sys
from pathlib import Path
from typing import Any

from allmlp import artifacts, own, paths, stale, studies
from allmlp.errors import UserError
from allmlp.pipeline import Pipeline, of_plan
from allmlp.plan import Plan, load_plan
from allmlp.training.devices import VISIBLE, require
from allmlp.training.gpus import candidates
from allmlp.training.places import places


def plan_of(workflow: Any) -> Plan:
    """The plan for a Snakemake workflow. An error that the user can correct ends with one message, no traceback."""
    settings = workflow.config_settings
    os.environ[paths.PROJECT] = str(workflow.basedir)
    try:
        studies.check_ledgers()  # not after an hour of training
        plan = load_plan(settings.configfiles, dict(settings.config))
        # a job on another machine reads the Snakefile once more, and must find its rule as it was: on a cluster, where
        # it may be preempted between training and measuring, these are two jobs
        on_cluster = workflow.resource_settings.nodes is not None  # the executor itself is not known yet
        plan.together = not (on_cluster or workflow.remote_exec)
        if workflow.overwrite_workdir is None and (place := own.folder(plan)):
            own.prepare(plan, place)
            workflow.workdir(place)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if not workflow.remote_exec:  # and a job on another machine must not lift the lock of the first call
        stale.lift()
    os.environ[paths.DIRECTORY] = os.getcwd()  # jobs work where Snakemake works: `--directory` moves all results
    return plan


def follow(workflow: Any, plan: Plan) -> None:
    """Let `--logger allmlp` count the plan's runs."""
    for handler in workflow.logger_manager.plugin_handlers:
        if hasattr(handler, "follow"):
            handler.follow(Pipeline(of_plan(plan)))


def limit_gpus(scheduler: Any, plan: Plan) -> None:
    """Lower `--resources gpu=N` to the places on the devices here, and say so: a job without one would hold cores."""
    asked, devices = scheduler.global_resources.get("gpu", 0), len(candidates(os.environ.get(VISIBLE)))
    if not (asked and devices and (most := max((batch.gpus for batch in plan.untrained), default=0))):
        return
    if devices < asked:
        require("cuda", 1, count=most)
    if (here := devices * (each := places())) < asked:
        there = f"{devices} CUDA devices here" + f" with {each} places each" * (each > 1)
        print(f"gpu={asked} was asked, but there are {there}: {here} GPU jobs at a time", file=sys.stderr)
        scheduler.global_resources["gpu"] = scheduler.resources["gpu"] = here


def pictures(plan: Plan) -> dict[str, dict[str, str]]:
    """figure -> its paper, title and caption, for `snakemake --report`; nothing where no such report is asked for.

    In other calls the figures are no part of Snakemake's graph: it would say each time that it has not made them.
    """
    if not any(word.partition("=")[0] == "--report" for word in sys.argv):
        return {}
    if plan.unstored or plan.unreported():
        way = "First the same call with `--cores all` in place of `--report`."
        print(f"error: results/ is not up to date with the plan. {way}", file=sys.stderr)
        raise SystemExit(2)
    return {
        str(index.with_name(f"{name}.svg")): {
            "paper": studies.about(index.parent.name)["paper"],
            "title": about["title"] + (f" ({about['recorded']})" if about["recorded"] else ""),
            "caption": re.sub(r"([\\*`|_])", r"\\\1", about["caption"]),  # as reStructuredText
        }
        for index in sorted(Path("results/figures").glob("*/index.json"))
        for name, about in artifacts.read("exhibits", index).items()
    }
