"""Every bad input of the catalogue is refused by one clear message, in little memory, and changes nothing."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from tests.strangers.bad import Bad
from tests.strangers.catalogue import BAD, DOCS, fuzzed, table

MEMORY = 1 << 30  # bytes that a reader may take


@contextmanager
def little_memory() -> Iterator[None]:
    """Allocations beyond MEMORY fail with a MemoryError, which is no refusal, or end the process."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.reader}: {bad.what}")
def test_it_is_refused_by_one_clear_message(bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = tmp_path / bad.file
    path.write_bytes(bad.content())
    with pytest.raises(UserError) as caught, little_memory():  # of the reader alone: to make a bad file takes some too
        bad.read(path)
    message = str(caught.value)
    assert bad.said in message
    assert message.isprintable()
    assert len(message) < 1000
    assert "secret" not in message
    assert list((tmp_path / "here").rglob("*")) == []


def test_the_table_in_the_documentation_is_that_of_the_catalogue() -> None:
    assert DOCS.read_text(encoding="utf-8") == table() + fuzzed(), "run `python -m tests.strangers.catalogue`"
