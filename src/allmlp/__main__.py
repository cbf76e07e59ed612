"""`python -m allmlp`: the same as `allmlp`, or the commands that work on a machine with only torch."""

try:
    import pydantic  # noqa: F401
    import typer  # noqa: F401
except ImportError:
    from allmlp.bare import main
else:
    from allmlp.cli import main

main()
