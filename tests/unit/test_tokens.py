"""Tokens on disk: what comes back, which split it is in, and what a damaged file or a full disk does."""

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from allmlp.common.errors import UserError
from allmlp.data.tokenizers import fit
from allmlp.data.tokenizers.specs import BPE, Bytes, Chunks
from allmlp.data.tokens import TokenFile, write_tokens
from allmlp.data.tokens.encoding import hash_document
from allmlp.data.tokens.writer import VALIDATION

TEXTS = [f"story {i}: the cat sat on mat {i * i} and was happy é" for i in range(300)] + ["story 7 again"] * 3


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """A corpus of bytes in many shards of many pieces."""
    write_tokens(iter(TEXTS), fit(Bytes(), []), tmp_path / "tiny-0a1b", shard_tokens=1000, describe={"source": "x"})
    return tmp_path / "tiny-0a1b"


def expected(split: str) -> list[str]:
    def held_out(text: str) -> bool:
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % 20 == 0

    return [text for text in TEXTS if held_out(text) == (split == "validation")]


def test_documents_come_back_in_order_each_in_its_split(tokens: Path) -> None:
    file = TokenFile(tokens)
    for split in ("train", "validation"):
        documents = file.documents(split)
        assert [file.decode(ids) for ids in documents] == expected(split)
        assert [file.decode(documents[i]) for i in range(len(documents))] == expected(split)
        assert all(ids[-1] == file.eod == 256 and 256 not in ids[:-1] for ids in documents)
        assert file.decode(documents[-1]) == expected(split)[-1]
        assert len(documents[2:5]) == 3
        assert file.meta["splits"][split]["documents"] == len(documents)
        assert file.meta["splits"][split]["tokens"] == sum(map(len, documents))
    with pytest.raises(IndexError):
        documents[len(documents)]
    assert file.meta["bytes"] == sum(len(text.encode()) for text in TEXTS)
    assert file.meta["tokens"] == file.meta["bytes"] + len(TEXTS)
    assert len(file.meta["splits"]["train"]["shards"]) > 5


def hashes(file: TokenFile, split: str) -> np.ndarray:
    shards = [pa.ipc.open_file(file.folder / name).read_all() for name in file.meta["splits"][split]["shards"]]
    return pa.concat_tables(shards)["document"].to_numpy()


def test_documents_are_not_copied_and_equal_ones_share_a_split(tokens: Path) -> None:
    file = TokenFile(tokens)
    assert not file.documents("train")[0].flags.owndata
    assert not file.documents("train")[0].flags.writeable
    train, held_out = hashes(file, "train"), hashes(file, "validation")
    assert not set(train.tolist()) & set(held_out.tolist())
    assert np.all(held_out % np.uint64(20) == 0)
    assert np.all(train % np.uint64(20) != 0)
    digest = hashlib.sha256(expected("train")[0].encode()).digest()
    assert train[0] == int.from_bytes(digest[:8], "big")


@pytest.mark.parametrize("length", [1, 7, 129, 3000])
def test_sequences_are_disjoint_windows_of_the_joined_documents(tokens: Path, length: int) -> None:
    file = TokenFile(tokens)
    joined = np.concatenate(list(file.documents("train")))
    windows = file.sequences("train", length)
    count = len(joined) // length
    reference = joined[: count * length].reshape(count, length)
    assert len(windows) == count
    assert np.array_equal(windows[np.arange(count)], reference)
    rows = np.random.default_rng(0).integers(0, count, 50)
    assert np.array_equal(windows[rows], reference[rows])
    assert windows[rows].dtype == np.uint16
    for outside in (-1, count):
        with pytest.raises(IndexError):
            windows[np.array([outside])]


def test_too_short_a_split_is_refused(tokens: Path) -> None:
    with pytest.raises(UserError, match=r"validation split has [\d,]+ tokens in \d+ documents"):
        TokenFile(tokens).sequences("validation", 10**6)
    with pytest.raises(UserError, match="no split 'test'"):
        TokenFile(tokens).documents("test")


def test_the_same_documents_give_the_same_bytes(tmp_path: Path) -> None:
    tokenizer = fit(BPE(vocabulary=280), TEXTS)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        write_tokens(TEXTS, tokenizer, folder, shard_tokens=500, describe={"source": "x"})
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(path.name for path in folders[1].iterdir())
    assert all((folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() for name in names)
    write_tokens(TEXTS, tokenizer, folders[0], shard_tokens=500, describe={"source": "x"})
    with pytest.raises(UserError, match="is there already, with other tokens"):
        write_tokens(TEXTS[1:], tokenizer, folders[0], describe={"source": "x"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_damage_is_named_with_both_digests_and_the_way_out(tokens: Path) -> None:
    shard = tokens / "train-00001.arrow"
    whole = shard.read_bytes()
    TokenFile(tokens)
    for damaged in (whole[:-100], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        shard.write_bytes(damaged)
        with pytest.raises(UserError) as caught:
            TokenFile(tokens)
        said = str(caught.value)
        assert str(shard) in said
        assert hashlib.sha256(whole).hexdigest() in said
        assert hashlib.sha256(damaged).hexdigest() in said
        assert f"Delete the folder {tokens} and run `allmlp tokenize tiny`" in said
    shard.unlink()
    with pytest.raises(UserError, match="is missing"):
        TokenFile(tokens)
    shard.write_bytes(whole)
    TokenFile(tokens)
    (tokens / "meta.json").write_text("{}")
    with pytest.raises(UserError, match="damaged"):
        TokenFile(tokens)
    with pytest.raises(UserError, match="none-0000: is not here, or not whole"):
        TokenFile(tokens.parent / "none-0000")


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield from TEXTS
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        write_tokens(broken(), fit(Bytes(), []), tmp_path / "a-1", describe={})
    with pytest.raises(UserError, match="do not occur"):
        write_tokens([*TEXTS, "#!#!"], fit(Chunks(length=2), TEXTS), tmp_path / "a-1", describe={})
    with pytest.raises(UserError, match="document 1, character 1: half of a surrogate"):
        write_tokens(["fine", "x\ud800"], fit(Bytes(), []), tmp_path / "a-1", describe={})
    with pytest.raises(UserError, match="no documents"):
        write_tokens([], fit(Bytes(), []), tmp_path / "a-1", describe={})
    assert list(tmp_path.iterdir()) == []


FULL_DISK = """
import resource, sys
from pathlib import Path
from allmlp.common.errors import UserError
from allmlp.data.tokenizers import fit
from allmlp.data.tokenizers.specs import Bytes
from allmlp.data.tokens import write_tokens
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    texts = ("x" * 999 for _ in range(3000))
    write_tokens(texts, fit(Bytes(), []), Path(sys.argv[1]), shard_tokens=10**6, describe={})
except UserError as error:
    print(error)
"""


def test_a_full_disk_is_one_message_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "big-1"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{folder}: cannot be written (File too large). It needs more than 200,")
    assert "bytes are free" in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_is_cleaned_up_and_a_running_one_left_alone(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead = tmp_path / f".a-1.{socket.gethostname()}.{gone.pid}"
    alive = tmp_path / f".a-1.{socket.gethostname()}.{os.getppid()}"
    dead.mkdir()
    alive.mkdir()
    write_tokens(TEXTS, fit(Bytes(), []), tmp_path / "a-1", describe={})
    assert alive.is_dir()
    assert not dead.exists()


def test_opening_is_verified_once_per_process(tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TokenFile(tokens)
    read: list[Path] = []
    monkeypatch.setattr("allmlp.common.paths.file_sha256", read.append)
    TokenFile(tokens)
    assert read == []


def test_meta_names_the_type_and_every_file(tokens: Path) -> None:
    meta = json.loads((tokens / "meta.json").read_text())
    assert (meta["dtype"], meta["vocabulary"], meta["source"]) == ("uint16", 257, {"source": "x"})
    assert sorted([*meta["sha256"], "meta.json"]) == sorted(path.name for path in tokens.iterdir())
    schema = pa.ipc.open_file(pa.memory_map(str(tokens / "train-00000.arrow"))).schema
    assert schema.names == ["tokens", "document"]
    assert schema.field("tokens").type == pa.list_(pa.uint16())


def test_repeated_documents_are_counted_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [f"A text of its own, number {number}." for number in range(400)]
    repeated = [*texts[:30], *(text.upper().replace(",", " -") for text in texts[100:120])]
    for name, documents in (("none", texts), ("some", [*texts, *repeated])):
        folder = tmp_path / f"{name}-00000000"
        write_tokens(documents, fit(Bytes(), texts, folder), folder, describe={})
    said = capsys.readouterr().out
    assert "none" not in said
    assert "30 are exact and 20 near duplicates" in said
    held = [text for text in (*texts, *repeated) if hash_document(0, text).hash % VALIDATION == 0]
    trained = {letters(text) for text in (*texts, *repeated) if hash_document(0, text).hash % VALIDATION}
    both = sum(letters(text) in trained for text in held)
    assert f"; {both} of {len(held)} for validation have one in training. `deduplicate: true`" in said


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))
