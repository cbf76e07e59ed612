"""A table that benchmarks write row by row: what cannot be computed stands in it with its error."""

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager

import torch


@contextmanager
def noting_errors(
    place: MutableMapping[str, str], name: str, keep: Callable[[], object], device: str, of: str = ""
) -> Iterator[None]:
    """Go on after what cannot be computed, as what is beyond the memory: `place` has its error under its name.

    `of`: what the error is of, where the name does not say it. `keep` writes what is there by then. An error that has
    ended CUDA is raised: all after it would fail, too.
    """
    try:
        yield
    except (ImportError, RuntimeError) as error:  # out of memory is one
        place[name] = ": ".join(filter(None, (of, str(error)[:200])))
        print(f"not measured: {name}: {place[name]}", flush=True)
    keep()
    if device == "cuda":
        torch.cuda.synchronize()
