"""Start the processes that train one run together, with torch.distributed's launcher.

On several nodes the user starts the launcher, once a node; it says so in the environment of what it starts. Torch is
imported only when a training begins, with the devices chosen.
"""

import io
import logging
import os
import sys
import uuid
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout

from allmlp.common.errors import UserError
from allmlp.spec.run import Run
from allmlp.training import subnormals
from allmlp.training.memory import keep_freed_blocks

SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1"  # that the launcher hands on, and waits for its processes to save


def is_launched() -> bool:
    """Did a launcher start this process, as one of several?"""
    return "WORLD_SIZE" in os.environ


def is_leader() -> bool:
    """Is this process the one that writes files?"""
    return os.environ.get("RANK", "0") == "0" or not is_launched()


def train(runs: Sequence[Run]) -> None:
    """Train and publish the runs of a stack, or one run in as many processes as it asks for.

    SystemExit with the status of a process that failed.
    """
    from allmlp.training.checkpoint import produce_stack

    first = runs[0]
    if is_launched():
        _join(first)
    elif first.processes == 1:
        produce_stack(runs)
    else:
        _launch(first)


def _join(run: Run) -> None:
    """This process's part of the work."""
    from allmlp.training.checkpoint import produce
    from allmlp.training.process_group import Team

    team = Team(run.device)
    if team.size != run.processes:
        raise UserError(
            f"{run.id}: asks for {run.processes} processes, and torchrun started {team.size}. "
            f"Set `processes: {team.size}` in a file of your own, or start {run.processes}."
        )
    with nullcontext() if team.is_leader else redirect_stdout(io.StringIO()):
        produce(run, team)


def _member(run: Run) -> None:
    """A process of `_launch`. The launcher knows statuses, and no exceptions of ours."""
    from allmlp.training.out_of_memory import LackOfMemoryError

    keep_freed_blocks()
    try:
        with subnormals.flush_to_zero():
            _join(run)
    except UserError as error:
        if is_leader() or isinstance(error, LackOfMemoryError):
            print(f"error: {error}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None


def _launch(run: Run) -> None:
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=run.processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        signals_to_handle=SIGNALS,
    )
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # the processes speak for themselves
    try:
        elastic_launch(config, _member)(run)
    except SignalException as signal:
        raise SystemExit(128 + signal.sigval) from None
    except ChildFailedError as failed:
        status = failed.get_first_failure()[1].exitcode
        raise SystemExit(status if status > 0 else 128 - status) from None
