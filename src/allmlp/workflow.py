"""The Snakefile's interface to the package: the plan, with Snakemake's own --configfile and --config."""

import os
import sys
from typing import Any

from allmlp import own, paths, stale, studies
from allmlp.errors import UserError
from allmlp.plan import Plan, load_plan


def plan_of(workflow: Any) -> Plan:
    """The plan for a Snakemake workflow. An error that the user can correct ends with one message, no traceback."""
    settings = workflow.config_settings
    os.environ[paths.PROJECT] = str(workflow.basedir)
    try:
        studies.check_ledgers()  # not after an hour of training
        plan = load_plan(settings.configfiles, dict(settings.config))
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
