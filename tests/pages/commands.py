"""Every command with its arguments and options, from the command line's own definitions."""

import inspect
from collections.abc import Callable, Iterator
from types import NoneType
from typing import Any, get_args, get_type_hints

from annotated_types import Ge
from typer.models import ArgumentInfo, CommandInfo, OptionInfo

from allmlp.cli import main
from tests.pages.described import in_words
from tests.pages.markdown import cell, code, paragraphs, table

HEAD = """# Commands

`allmlp --help` lists these commands, `allmlp COMMAND --help` shows one.

"""
HEADS = ("argument or option", "value", "default", "meaning")
WORTHLESS = (None, False)  # defaults that say nothing


def page() -> str:
    """The commands in the groups of the help."""
    commands = main.app.registered_commands
    grouped = {group: [one for one in commands if one.rich_help_panel == group] for group in main.GROUPS}
    return HEAD + "".join(f"## {group}\n\n{''.join(map(_command, of))}" for group, of in grouped.items())


def _command(command: CommandInfo) -> str:
    callback: Callable[..., Any] = command.callback  # type: ignore[assignment]
    rows = list(_rows(callback))
    example = str(command.epilog).removeprefix("Example: ")
    about = paragraphs(inspect.cleandoc(callback.__doc__ or ""))
    return f"### allmlp {command.name}\n\n{about}```text\n{example}\n```\n\n{table(HEADS, rows) if rows else ''}\n"


def _rows(callback: Callable[..., Any]) -> Iterator[list[str]]:
    """A row for each parameter: an option if it has a default, as in typer."""
    hints = get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        kind, info = _unwrapped(hints[name])
        required = parameter.default is inspect.Parameter.empty
        is_option = isinstance(info, OptionInfo) or (info is None and not required)
        names = (info and info.param_decls) or (f"--{name.replace('_', '-')}" if is_option else name.upper(),)
        default = "the machine's" if name == "cores" else parameter.default
        shown = "required" if required else "" if default in WORTHLESS else cell(str(default))
        value = "" if kind is bool else in_words(kind, [Ge(info.min)] if info and info.min is not None else ())
        yield [code(", ".join(names)), value, shown, cell((info and info.help) or "")]


def _unwrapped(annotation: Any) -> tuple[Any, ArgumentInfo | OptionInfo | None]:
    """The type without None, and typer's own description where there is one."""
    info = next(
        (one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, ArgumentInfo | OptionInfo)), None
    )
    kind = annotation.__origin__ if info else annotation
    of = [one for one in get_args(kind) if one is not NoneType]
    return (of[0] if NoneType in get_args(kind) else kind), info
