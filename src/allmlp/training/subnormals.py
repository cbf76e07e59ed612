"""Numbers closer to zero than any normal one (1.2e-38 in single precision) count as zero.

A CPU computes with them many times more slowly. A network that has learned its task gives wrong answers such
probabilities, so that its updates become the slower the better it is. No weight notices: an update of AdamW divides by
at least 1e-8.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def flushed() -> Iterator[None]:
    """Within the block: in this thread, and in those that PyTorch starts there.

    A GPU keeps them, and loses no time by them.
    """
    import torch  # only once the devices are chosen

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
