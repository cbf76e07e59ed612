"""`snakemake --logger allmlp`: one calm line for the whole pipeline, in place of several for each job.

In a terminal the line is drawn over itself each second; elsewhere it is printed every 15 seconds if it has changed.
Warnings and errors come as Snakemake says them. Its whole log is in .snakemake/log as always, and `-n` shows all.

Snakemake imports every plugin, whether it is used or not. So this one imports nothing of allmlp, which in a checkout of
another state may be older: the Snakefile hands over what counts.
"""

import logging
import shutil
import sys
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

if TYPE_CHECKING:
    from allmlp.pipeline.progress_line import Pipeline

SECONDS_BETWEEN = {True: 1.0, False: 15.0}  # in a terminal, in a log
ERASED = "\r\x1b[K"


class LogHandler(LogHandlerBase):
    """The one handler that writes to the terminal."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = has_formatter = needs_rulegraph = False  # Snakemake gives its own

    def __post_init__(self) -> None:
        self.pipeline: Pipeline | None = None
        self.begun, self.said = time.monotonic(), ""
        self.stream = sys.stdout if self.common_settings.stdout else sys.stderr
        self.in_place = self.stream.isatty()
        self.closed = threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    def follow(self, pipeline: "Pipeline") -> None:
        """Tell it of all jobs, and show its line."""
        self.pipeline = pipeline

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record's news into the line, or print it if it is not about a job that goes well."""
        try:
            if not self._takes(record) and self._is_for_people(record):
                self._print(self.format(record))
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Leave the last line standing."""
        if not self.closed.is_set():  # Snakemake closes it, and then Python
            self.closed.set()
            self._show(end="\n")
        super().close()

    def _tick(self) -> None:
        while not self.closed.wait(SECONDS_BETWEEN[self.in_place]):
            with self.lock or nullcontext():  # of a handler: no record is printed meanwhile
                self._show()

    def _takes(self, record: logging.LogRecord) -> bool:
        """Is this news of a job?"""
        about: dict[str, Any] = vars(record)
        if self.pipeline is None or self.common_settings.dryrun:
            return False
        match about.get("event"):
            case LogEvent.JOB_INFO:
                gpus, cores = int(about["resources"].get("gpu", 0) or 0), int(about["threads"] or 1)
                self.pipeline.note_start(about["jobid"], time.monotonic(), cores, gpus)
            case LogEvent.JOB_FINISHED:
                self.pipeline.end_job(about["job_id"], time.monotonic())
            case LogEvent.JOB_ERROR:
                self.pipeline.end_job(about["jobid"], time.monotonic(), well=False)
                return False
            case _:
                return False
        return True

    def _is_for_people(self, record: logging.LogRecord) -> bool:
        nothing = record.getMessage().startswith("Nothing to be done")
        return bool(self.common_settings.dryrun or record.levelno >= logging.WARNING or nothing)

    def _show(self, end: str = "") -> None:
        line = self.pipeline.line(time.monotonic()) if self.pipeline else ""
        if not line or (line == self.said and not self.in_place):
            return
        seconds = int(time.monotonic() - self.begun)
        text, self.said = f"{seconds // 60}:{seconds % 60:02d}  {line}", line
        if self.in_place:
            print(ERASED + text[: shutil.get_terminal_size().columns - 1], end=end, file=self.stream, flush=True)
        else:
            print(text, file=self.stream, flush=True)

    def _print(self, text: str) -> None:
        print(ERASED * self.in_place + text, file=self.stream, flush=True)
