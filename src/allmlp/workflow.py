"""What the Snakefile asks of the package: the plan, with Snakemake's own --configfile and --config."""

import os
import sys
from typing import Any

from allmlp import paths
from allmlp.errors import UserError
from allmlp.plan import Plan, load_plan


def plan_of(workflow: Any) -> Plan:
    """The plan for a Snakemake workflow. What the user can mend ends with one message, without a traceback."""
    settings = workflow.config_settings
    os.environ[paths.DIRECTORY] = os.getcwd()  # jobs work where Snakemake works: `--directory` moves all results
    os.environ[paths.PROJECT] = str(workflow.basedir)
    try:
        return load_plan(settings.configfiles, dict(settings.config))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
