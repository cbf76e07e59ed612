"""Every example in a docstring says what really comes out."""

import doctest
import importlib
from pathlib import Path

import pytest

import allmlp

SOURCE = Path(allmlp.__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


def test_there_are_examples():
    assert len(MODULES) > 10


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_an_example_gives_what_it_says(path):
    parts = ["allmlp", *path.relative_to(SOURCE).with_suffix("").parts]
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0
