"""The kinds of files that have a form, with the keys or columns of the samples in tests/artifacts."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from safetensors import safe_open

from allmlp.common import formats
from tests.conftest import PROJECT
from tests.pages.markdown import cell, code, plain

HEAD = """# Files

Each kind of file has a form with a number. This code reads every form that an earlier release wrote, and refuses a
newer one. Below each kind stand the keys or columns of a sample of the first form; names of runs, measures and corpora
in it are examples.

"""
KINDS: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("files.yaml").read_text(encoding="utf-8"))
SAMPLES = PROJECT / "tests/artifacts"
DEEPEST, LONGEST = 5, 40  # levels and lines of an outline
NAMES = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null"}


def page() -> str:
    """A section for each kind."""
    return HEAD + "".join(map(_kind, KINDS))


def _kind(kind: str) -> str:
    about = KINDS[kind]
    places = ", ".join(code(place) for place in about["where"].split(", "))
    makers = " and ".join(code(command) for command in about["by"].split(", "))
    samples = about["sample"] if isinstance(about["sample"], list) else [about["sample"]]
    head = f"## {kind}\n\n{plain(about['holds'])}\n\nIn {places}, written by {makers}. "
    return f"{head}Newest form: {formats.FORMATS[kind]}.\n\n" + "".join(_sample(SAMPLES / one) for one in samples)


def _sample(path: Path) -> str:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return "".join(f"{cell(one.name)}:\n\n```text\n{_outline(one)}\n```\n\n" for one in files if _outline(one))


def _outline(path: Path) -> str:
    """The keys or columns of a file, a line each; empty for a file without any."""
    lines: Iterator[str] = iter(())
    if path.suffix in (".json", ".lock"):
        lines = _keys(formats.read_json(path))
    elif path.suffix == ".jsonl":
        lines = _keys(formats.parse_json(path.read_text(encoding="utf-8").splitlines()[0]))
    elif path.suffix == ".parquet":
        lines = (f"{column.name}: {_type(column.type)}" for column in pq.read_schema(path))
    elif path.suffix == ".arrow":
        lines = (f"{column.name}: {column.type}" for column in pa.ipc.open_file(path).schema)
    elif path.suffix == ".safetensors":
        with safe_open(path, "np") as tensors:
            lines = iter([f"{name}: tensor" for name in tensors.keys()])  # noqa: SIM118, not a dict
    found = list(islice(lines, LONGEST + 1))
    return "\n".join([*found[:LONGEST], *(["..."] if len(found) > LONGEST else [])])


def _type(column: pa.DataType) -> str:
    return "text" if pa.types.is_string(column) or pa.types.is_dictionary(column) else str(column)


def _keys(value: Any, level: int = 0) -> Iterator[str]:
    """An outline: of a list its first item alone."""
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict) or level > DEEPEST:
        return
    for key, inner in value.items():
        yield f"{'  ' * level}{key}: {_word(inner)}"
        yield from _keys(inner, level + 1)


def _word(value: Any) -> str:
    if isinstance(value, list):
        return f"list of {_word(value[0])}" if value else "list"
    return "keys" if isinstance(value, dict) else NAMES[type(value)]
