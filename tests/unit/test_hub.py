"""The Hub as a corpus: pinned, streamed, no remote code, readable errors. No test uses a network."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.data.corpora.hub import HubCorpus

REVISION = "0123456789abcdef0123456789abcdef01234567"
ROOT = Path()


def corpus(**changes: Any) -> HubCorpus:
    return HubCorpus(**{"name": "owner/name", "revision": REVISION, **changes})


def some(*rows: dict[str, Any]) -> datasets.IterableDataset:
    return datasets.IterableDataset.from_generator(lambda: iter(rows))


@pytest.mark.parametrize("revision", ["main", "v1.0", REVISION[:12], REVISION.upper(), REVISION + "0", ""])
def test_an_unpinned_revision_is_refused(revision: str) -> None:
    with pytest.raises(ValidationError, match="is not a commit"):
        corpus(revision=revision)


def test_a_missing_revision_and_an_unknown_key_are_refused() -> None:
    with pytest.raises(ValidationError, match="revision"):
        HubCorpus(name="owner/name")
    with pytest.raises(ValidationError, match="trust_remote_code"):
        corpus(trust_remote_code=True)


def test_it_streams_only_the_requested_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    taken = []

    def rows() -> Iterator[dict[str, Any]]:
        for i in range(1000):
            taken.append(i)
            yield {"story": f"story {i}" if i != 1 else "  ", "n": i}

    def load(*arguments: Any, **options: Any) -> Any:
        calls.append((arguments, options))
        return datasets.IterableDataset.from_generator(rows)

    monkeypatch.setattr(datasets, "load_dataset", load)
    found = list(corpus(config="small", split="validation", column="story", limit=3).documents(ROOT))
    assert found == ["story 0", "story 2", "story 3"]
    assert taken == [0, 1, 2, 3]
    options = {"split": "validation", "revision": REVISION, "streaming": True}
    assert calls == [(("owner/name", "small"), options)]


def test_real_streaming_over_local_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    load = datasets.load_dataset

    def local(name: str, config: str | None, *, split: str, revision: str, streaming: bool) -> Any:
        files = {"train": str(tmp_path / "train.jsonl")}
        return load("json", config, data_files=files, split=split, streaming=streaming)

    monkeypatch.setattr(datasets, "load_dataset", local)
    assert list(corpus().documents(ROOT)) == ["one", "two"]
    with pytest.raises(UserError, match="no column 'story'; it has 'text'"):
        list(corpus(column="story").documents(ROOT))
    with pytest.raises(UserError, match="split test"):
        list(corpus(split="test").documents(ROOT))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (ConnectionError("Couldn't reach the Hub"), "the Hub cannot be reached .* use `source: local`"),
        (datasets.exceptions.DatasetNotFoundError("gone"), "not on the Hub, or private"),
        (ValueError("Bad split: x"), "ValueError: Bad split: x"),
    ],
)
def test_faults_of_the_hub_are_readable(monkeypatch: pytest.MonkeyPatch, fault: Exception, said: str) -> None:
    def load(*_: Any, **__: Any) -> Any:
        raise fault

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(UserError, match=said) as caught:
        list(corpus().documents(ROOT))
    assert "owner/name" in str(caught.value)


def test_null_rows_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    rows = [{"text": None}, {"text": "A fox ran."}, {"text": None}, {"text": "A crow sang."}]
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: some(*rows))
    assert list(corpus().documents(ROOT)) == ["A fox ran.", "A crow sang."]
    said = capsys.readouterr().err.splitlines()
    assert said[-1].endswith("row 2 of column 'text' is null; 2 such rows are left out")


def test_rows_without_text_and_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: some({"text": 7}))
    with pytest.raises(UserError, match="row 0 of column 'text' is int"):
        list(corpus().documents(ROOT))
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: some())
    with pytest.raises(UserError, match="no text arrived"):
        list(corpus().documents(ROOT))
