"""`python -m allmlp`: the same as `allmlp`, or what of it a machine with torch alone can do."""

try:
    import pydantic  # noqa: F401
    import typer  # noqa: F401
except ImportError:
    from allmlp.bare import main
else:
    from allmlp.cli import main

main()
