"""Memory that a step frees stays with the process for the next step.

glibc returns large freed blocks to the kernel, and the kernel fills new ones with zeros page by page: a large share of
a full-batch step of modular addition on a CPU. No result changes.
"""

import ctypes
import sys

LARGEST_BLOCK = 32 * 2**20  # bytes; glibc always maps larger blocks one by one
KEPT, AHEAD = 2**30, 64 * 2**20  # bytes: free at the heap's end before any is returned; requested at a time
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # <malloc.h>


def keep_freed_blocks() -> bool:
    """Make glibc keep freed memory. False with another C library."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    settings = {M_MMAP_THRESHOLD: LARGEST_BLOCK, M_TRIM_THRESHOLD: KEPT, M_TOP_PAD: AHEAD}
    return mallopt is not None and all(mallopt(name, value) == 1 for name, value in settings.items())
