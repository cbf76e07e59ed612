"""What pages say of numbers, systems and keys is what the code has, where no other test reads the page."""

import re
from typing import Any

from allmlp.pipeline import json_schema
from allmlp.spec.settings import StudySettings
from tests.conftest import PROJECT


def page(name: str) -> str:
    """A page in one line."""
    return " ".join((PROJECT / name).read_text(encoding="utf-8").split())


def test_the_readme_says_on_which_system_and_python_it_runs() -> None:
    project = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    (least,) = re.findall(r'^requires-python = ">=(.+)"$', project, re.MULTILINE)
    (tried,) = re.findall(r"Both commands of the README were run on ([\d.]+ and [\d.]+),", page("docs/machines.md"))
    assert f"needs Linux, Python {least} or newer (both were run on {tried}), and " in page("README.md")
    assert "[more](docs/machines.md)" in page("README.md")
    assert f"Python {least} or newer. Both commands of the README were run on " in page("docs/machines.md")
    assert f"sys.version_info < ({least.replace('.', ', ')})" in page("Makefile")


def test_the_studies_that_take_a_corpus_are_those_that_have_the_key() -> None:
    schema = json_schema.build_schema()

    def has_corpus(node: Any) -> bool:
        if isinstance(node, list):
            return any(map(has_corpus, node))
        if not isinstance(node, dict):
            return False
        if "$ref" in node:
            return has_corpus(schema["definitions"][node["$ref"].rsplit("/", 1)[1]])
        below = {key: value for key, value in node.get("properties", {}).items() if key != "scales"}  # the same again
        forms = (node.get("anyOf", []), node.get("items"), node.get("additionalProperties"), [*below.values()])
        return "corpus" in below or any(map(has_corpus, forms))

    having = {name for name, of in schema["properties"]["studies"]["properties"].items() if has_corpus(of)}
    (said,) = re.findall(
        r"`study=` the runs of the other studies, too\. ([^.]*) have a `corpus:`\.", page("docs/corpora.md")
    )
    assert {*re.findall(r"`(\w+)`", said)} == having


def test_short_runs_that_share_a_process_are_on_the_page_of_papers() -> None:
    assert "runs_per_process" in StudySettings.model_fields
    assert "`runs_per_process: 12` trains up to twelve short runs in one process" in page("docs/paper.md")
