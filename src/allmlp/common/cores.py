"""The CPU cores that this process may use."""

import os


def count() -> int:
    """Those that a batch system or a container has left to it; all where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
