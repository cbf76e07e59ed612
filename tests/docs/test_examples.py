"""Every example in a docstring says what really comes out."""

import doctest
import importlib
import re
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pydantic import TypeAdapter

import allmlp
from allmlp.data.tokenizers.specs import Fitting, SharedTokenizer, TokenizerSpec
from allmlp.models.audit.findings import examine
from allmlp.models.audit.subject import Subject
from tests.conftest import PROJECT

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


def test_the_architecture_of_the_documentation_passes_the_audit():
    text = (PROJECT / "docs/architecture.md").read_text(encoding="utf-8")
    names = {"__name__": "running_average"}
    exec(text.split("## A whole one")[1].split("```python\n")[1].split("```")[0], names)
    model = names["RunningAverage"](vocabulary=11, context=12, d_model=8, n_blocks=2).double().eval()
    found = {finding.check: finding.result for finding in examine("running-average", Subject(model, None))}
    assert set(found.values()) <= {"pass", "not applicable"}
    assert list(found.values()).count("pass") >= 3, found


def test_the_page_has_a_right_line_for_each_kind_of_tokenizer() -> None:
    text = (PROJECT / "docs/corpora.md").read_text(encoding="utf-8")
    lines = [yaml.safe_load(line)["tokenizer"] for line in re.findall(r"^tokenizer: .*$", text, re.MULTILINE)]
    specs = [TypeAdapter(TokenizerSpec).validate_python(line) for line in lines]
    kinds = [*get_args(Fitting), SharedTokenizer]
    assert sorted(type(spec).__name__ for spec in specs) == sorted(kind.__name__ for kind in kinds)


NEW = SOURCE / "pipeline/new"


@pytest.mark.parametrize(
    ("page", "file"),
    [
        ("paper", "study/src/allmlp/studies/averages/claims.yaml"),
        ("paper", "study/src/allmlp/studies/averages/runs.py.txt"),
        ("paper", "study/src/allmlp/studies/averages/measures.py.txt"),
        ("architecture", "architecture/src/allmlp/models/running_average.py.txt"),
    ],
)
def test_the_pages_show_the_files_that_allmlp_new_writes(page: str, file: str) -> None:
    shown = (PROJECT / f"docs/{page}.md").read_text(encoding="utf-8")
    assert f"\n{(NEW / file).read_text(encoding='utf-8')}```\n" in shown
