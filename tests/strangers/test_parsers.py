"""Every parser of files from outside reads good ones, and reads or refuses whatever else: it never ends the process."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allmlp.common import yaml_file
from allmlp.common.errors import UserError
from allmlp.data.corpora.local import LocalCorpus
from allmlp.plan import params
from tests.conftest import PROJECT, lay
from tests.strangers.parsers import PARSERS, Parser, tried

COUNT = 20  # damaged inputs of each parser
one_folder = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
plain = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def refusal(read: Callable[[], object]) -> str | None:
    """What refused it, None if it was read; no other exception."""
    try:
        read()
    except UserError as error:
        return str(error)
    return None


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_good_inputs_are_read(parser: Parser, tmp_path: Path) -> None:
    assert [tried(parser, content, tmp_path) for content in parser.seeds()] == [True] * len(parser.seeds())


def test_what_is_damaged_is_read_or_refused_and_never_ends_the_process() -> None:
    command = (sys.executable, "-m", "tests.strangers.mutating", str(COUNT))
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1]} ended with {done.returncode}: {done.stderr[-2000:]}"
    assert len(lines) > COUNT * len(PARSERS) + 1400, "the footers of Parquet too"


@one_folder
@given(st.lists(st.text(plain, min_size=1), min_size=1, max_size=5))
def test_every_text_comes_back_from_every_kind_of_file(tmp_path: Path, texts: list[str]) -> None:
    kept = [text for text in texts if not text.isspace()]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), stream)
    (tmp_path / "a.parquet").write_bytes(stream.getvalue())
    for file, keys in (("a.jsonl", {"field": "text"}), ("a.parquet", {"column": "text"})):
        corpus = LocalCorpus(files=[str(tmp_path / file)], **keys)
        if kept:
            assert [*corpus.documents(tmp_path)] == kept
        else:
            with pytest.raises(UserError, match="no text in"):
                [*corpus.documents(tmp_path)]


@one_folder
@given(st.text() | st.text("ab:-[]{}&*!|>'\"#%@,?~<=. \n\t0"))
def test_yaml_is_read_or_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    said = refusal(lambda: yaml_file.read(tmp_path / "a.yaml"))
    assert said is None or said.startswith(("a.yaml", str(tmp_path)))


@one_folder
@given(
    st.dictionaries(st.sampled_from(["scale", "device", "recorded", "corpora", "studies"]) | st.text(), values),
    st.sampled_from([(), ("corpora", "mine"), ("studies", "language"), ("studies", "mixers", "retrieval")]),
)
def test_parameters_of_any_shape_are_read_or_refused(tmp_path: Path, found: dict, place: tuple[str, ...]) -> None:  # type: ignore[type-arg]
    base = tmp_path / "params.yaml"
    if not base.is_file():
        lay(tmp_path)
    for key in reversed(place):
        found = {key: found}
    (tmp_path / "my.yaml").write_text(json.dumps(found))
    said = refusal(lambda: params.load(base, [tmp_path / "my.yaml"]))
    assert said is None or said.startswith("my.yaml")
