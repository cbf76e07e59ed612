"""`allmlp` and `python -m allmlp`: all commands, or those of a machine that only trains."""

import atexit
import gc

try:
    import pydantic  # noqa: F401
    import typer  # noqa: F401
except ImportError:
    from allmlp.cli.minimal import main
else:
    from allmlp.cli.main import main

# Before it exits, Python would look for circles among all of PyTorch's objects: a second of each job.
atexit.register(gc.freeze)

if __name__ == "__main__":
    main()
