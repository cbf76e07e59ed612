"""Nothing in the sources runs what it reads, and nothing turns a check off."""

import re
from pathlib import Path

import pytest

from tests.conftest import PROJECT

FORBIDDEN = {
    "pickles": r"pickle(?!=False)|torch\.load\(|\b(?:dill|joblib|marshal|shelve)\b",
    "code": r"(?<![.\w])(?:eval|exec|compile|__import__)\(",
    "an unsafe loader of YAML": r"yaml\.(?:load|full_load|unsafe_load)(?:_all)?\(",
    "a shell": r"shell=True|os\.system\(|os\.popen\(",
    "code from the Hub": r"trust_remote_code",
    "connections without certificates": r"verify=False|_create_unverified_context",
}
SOURCES = [
    *(file for folder in ("src", "benchmarks") for file in sorted((PROJECT / folder).rglob("*.py"))),
    *sorted((PROJECT / "workflow").rglob("*.smk")),
    PROJECT / "Snakefile",
]


def found(pattern: str, text: str) -> list[str]:
    """The lines of code with a match; comments do not count."""
    return [line for line in text.splitlines() if re.search(pattern, re.sub(r"(^|\s)#.*", "", line))]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_sources_have_no(what: str) -> None:
    places = {
        str(file.relative_to(PROJECT)): lines
        for file in SOURCES
        if (lines := found(FORBIDDEN[what], Path(file).read_text(encoding="utf-8")))
    }
    assert places == {}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "np.load(file, allow_pickle=True)",
        "weights = torch.load(path)",
        "pd.read_pickle(path)",
        "value = eval(text)",
        "exec(text, names)",
        "yaml.load(text, Loader=yaml.Loader)",
        "subprocess.run(words, shell=True)",
        "requests.get(url, verify=False)",
        "load_dataset(name, trust_remote_code=True)",
    ],
)
def test_each_would_be_found(line: str) -> None:
    assert any(found(pattern, line) for pattern in FORBIDDEN.values())


def test_what_is_safe_is_not_found() -> None:
    safe = "model.eval()\nre.compile(text)\nnp.load(file, allow_pickle=False)\nyaml.safe_load(text)  # not yaml.load(\n"
    assert [line for pattern in FORBIDDEN.values() for line in found(pattern, safe)] == []
