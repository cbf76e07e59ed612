"""`allmlp` and `python -m allmlp`: all commands, or those of a machine that only trains."""

try:
    import pydantic  # noqa: F401
    import typer  # noqa: F401
except ImportError:
    from allmlp.bare import main
else:
    from allmlp.cli import main

if __name__ == "__main__":
    main()
