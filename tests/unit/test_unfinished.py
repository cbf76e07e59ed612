"""Tokens that are written in several calls: the same bytes, finished shards not made again, repeated documents once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.common.errors import UserError
from allmlp.data.corpora import identity
from allmlp.data.corpora.spec import CorpusSpec
from allmlp.data.tokenizers import fit
from allmlp.data.tokenizers.specs import BPE, Bytes
from allmlp.data.tokens import TokenFile, encoding, write_tokens
from allmlp.data.tokens.repeats import HashSet
from allmlp.data.tokens.resume import FinishedSpans

TEXTS = [f"story {i % 350}: the cat sat on mat {(i % 350) ** 2}, é" for i in range(500)]
SHARD = 2000  # tokens: about 45 documents


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 15 documents are read but not yet written."""
    monkeypatch.setattr(encoding, "BATCH_DOCUMENTS", 5)


class Faulty:
    """A source that fails before a document, and notes from which place it was read."""

    def __init__(self, fails_before: int | None) -> None:
        self.fails_before, self.places = fails_before, list[Any]()

    def __call__(self, place: Any) -> Iterator[tuple[Any, str]]:
        self.places.append(place)
        for number in range(place["read"] if place else 0, len(TEXTS)):
            if number == self.fails_before:
                raise UserError("the network is gone.")
            yield {"read": number + 1}, TEXTS[number]


def write(folder: Path, fails_before: int | None = None, **changes: Any) -> Faulty:
    source = Faulty(fails_before)
    keys = {"shard_tokens": SHARD, "describe": {"source": "x"}, **changes}
    write_tokens(source, keys.pop("tokenizer", fit(Bytes(), [])), folder, **keys)
    return source


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("deduplicate", [False, True])
@pytest.mark.parametrize("stops", [[20], [120], [90, 91, 200, 499]])
def test_interrupted_calls_give_the_bytes_of_an_undisturbed_one(
    tmp_path: Path, stops: list[int], deduplicate: bool
) -> None:
    write(tmp_path / "a-1", deduplicate=deduplicate)
    for stop in stops:
        with pytest.raises(UserError, match=r"the network is gone\.") as caught:
            write(tmp_path / "b-1", stop, deduplicate=deduplicate)
        kept = tmp_path / ".b-1.unfinished"
        assert kept.is_dir() == (stop > 80)
        assert (f"kept in {kept}: the same command goes on" in str(caught.value)) == kept.is_dir()
    before = {path.name: path.stat().st_ino for path in kept.iterdir() if path.suffix} if kept.is_dir() else {}
    (place,) = write(tmp_path / "b-1", deduplicate=deduplicate).places
    assert contents(tmp_path / "a-1") == contents(tmp_path / "b-1")
    assert (place is not None) == (stops[-1] > 80)
    assert place is None or stops[-1] - 80 < place["read"] <= stops[-1] or deduplicate
    assert before.items() <= {path.name: path.stat().st_ino for path in (tmp_path / "b-1").iterdir()}.items()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-1", "b-1"]


def test_a_damaged_shard_and_those_after_it_are_made_again(tmp_path: Path) -> None:
    write(tmp_path / "a-1")
    for name in ("train-00001.arrow", "validation-00000.arrow", "train-00004.arrow"):
        with pytest.raises(UserError, match=r"[56] shards are finished"):
            write(tmp_path / "b-1", 330)
        shard = tmp_path / ".b-1.unfinished" / name
        content = shard.read_bytes()
        shard.write_bytes(content[:300] + bytes([content[300] ^ 1]) + content[301:])
    (place,) = write(tmp_path / "b-1").places
    spans = int(name.split("-")[1].split(".")[0])
    assert spans * 40 < place["read"] < (spans + 1) * 60
    assert contents(tmp_path / "a-1") == contents(tmp_path / "b-1")


@pytest.mark.parametrize(
    "changes", [{"describe": {"source": "y"}}, {"tokenizer": fit(BPE(vocabulary=280), TEXTS)}, {"deduplicate": True}]
)
def test_shards_of_another_corpus_are_not_taken_over(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="shards are finished"):
        write(tmp_path / "b-1", 330)
    assert write(tmp_path / "b-1", **changes).places == [None]
    write(tmp_path / "a-1", **changes)
    assert contents(tmp_path / "a-1") == contents(tmp_path / "b-1")


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="shards are finished"):
        write(tmp_path / "b-1", 330)
    record = tmp_path / ".b-1.unfinished.json"
    record.write_text(record.read_text()[:-100])
    with pytest.raises(UserError, match=r"\.b-1\.unfinished\.json: damaged .* Delete it and run again"):
        write(tmp_path / "b-1")
    record.unlink()
    assert write(tmp_path / "b-1").places == [None]


def test_documents_that_can_only_be_read_from_the_start(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield from TEXTS[:330]
        raise UserError("gone.")

    keys: dict[str, Any] = {"shard_tokens": SHARD, "describe": {"source": "x"}}
    with pytest.raises(UserError, match="shards are finished"):
        write_tokens(broken(), fit(Bytes(), []), tmp_path / "b-1", **keys)
    write_tokens(TEXTS, fit(Bytes(), []), tmp_path / "b-1", **keys)
    write_tokens(TEXTS, fit(Bytes(), []), tmp_path / "a-1", **keys)
    assert contents(tmp_path / "a-1") == contents(tmp_path / "b-1")


def test_repeated_documents_are_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path / "a-1", deduplicate=True)
    file = TokenFile(tmp_path / "a-1")
    found = [file.decode(ids) for split in ("train", "validation") for ids in file.documents(split)]
    assert sorted(found) == sorted(set(TEXTS))
    assert (file.meta["documents"], file.meta["left_out"]) == (350, 150)
    assert file.meta["splits"]["validation"]["documents"] > 5


def test_deduplication_makes_another_corpus_and_its_absence_none(tmp_path: Path) -> None:
    entry = {"source": "stories", "documents": 9}
    plain, off, on = (
        CorpusSpec.model_validate({**entry, **more}) for more in ({}, {"deduplicate": False}, {"deduplicate": True})
    )
    assert identity.describe_corpus(plain) == identity.describe_corpus(off)
    assert "deduplicate" not in json.dumps(identity.describe_corpus(plain))
    assert identity.token_id("x", on, tmp_path) != identity.token_id("x", plain, tmp_path)


@given(st.lists(st.lists(st.integers(0, 40) | st.integers(0, 2**64 - 1), max_size=30), max_size=12))
def test_seen_is_a_set(batches: list[list[int]]) -> None:
    seen, known = HashSet(), set[int]()
    for batch in batches:
        expected = []
        for one in batch:
            expected.append(one not in known)
            known.add(one)
        assert np.array_equal(seen.add(batch), np.array(expected, dtype=bool))


def test_of_two_that_make_the_same_tokens_one_keeps_its_spans(tmp_path: Path) -> None:
    one, two = (FinishedSpans(tmp_path / "c-1", "the same") for _ in range(2))
    for number, kept in enumerate((one, two)):
        partial = tmp_path / f"partial-{number}"
        partial.mkdir()
        (partial / "train-00000.arrow").write_bytes(b"tokens")
        kept.keep(partial, ["train-00000.arrow"], {})
    assert (len(one.spans), len(two.spans)) == (1, 0)
    assert two.gather(tmp_path / "partial-1") == tmp_path / "partial-1"
    two.clear()
    assert FinishedSpans(tmp_path / "c-1", "the same").spans == [], "the first one is at work"
    assert [path.is_file() for path in one.files] == [True]
    one.close()
    assert len(FinishedSpans(tmp_path / "c-1", "the same").spans) == 1
