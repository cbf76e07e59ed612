"""The user's own files as a corpus: what is read, in which order, and what is said of every fault."""

import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.data.corpora import reading
from allmlp.data.corpora.local import LocalCorpus

DATA = Path(__file__).parents[3] / "shared" / "data"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".xz": lzma.compress,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def read(root: Path, **settings: object) -> list[str]:
    return list(LocalCorpus(**settings).documents(root))


def message(root: Path, **settings: object) -> str:
    with pytest.raises(UserError) as caught:
        read(root, **settings)
    return str(caught.value)


@pytest.mark.parametrize("suffix", PACK)
def test_every_compression_gives_the_same_documents(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.txt{suffix}").write_bytes(PACK[suffix]("one é\n--\n two\n--\n \n--\nthree".encode()))
    (tmp_path / f"a.jsonl{suffix}").write_bytes(PACK[suffix](b'{"t": "one"}\n\n{"t": "t\\u00e9"}'))
    assert read(tmp_path, files=f"a.txt{suffix}", separator="--\n") == ["one é", "two", "three"]
    assert read(tmp_path, files=f"a.txt{suffix}", separator="--\n", drop_last=True) == ["one é", "two"]
    assert read(tmp_path, files=f"a.jsonl{suffix}", field="t") == ["one", "té"]


def test_parquet_globs_order_and_limit(tmp_path: Path) -> None:
    for name in "ba":
        pq.write_table(
            pa.table({"text": [f"{name}{i}" for i in range(3)], "n": [1, 2, 3]}), tmp_path / f"{name}.parquet"
        )
    assert read(tmp_path, files="*.parquet", column="text") == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert read(tmp_path, files=["b.parquet", "*.parquet"], column="text", limit=4) == [
        "b0",
        "b1",
        "b2",
        "a0",
    ]
    assert "no column 'body'; it has 'text', 'n'" in message(tmp_path, files="*.parquet", column="body")
    assert "holds int64, not text" in message(tmp_path, files="*.parquet", column="n")


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab \n.é", max_size=400), st.lists(st.integers(1, 50)), st.integers(2, 60))
def test_passages_join_to_the_text_whatever_the_pieces(text: str, cuts: list[int], size: int) -> None:
    pieces, rest = [], text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    found = list(reading.passages(iter([*pieces, rest]), size))
    assert "".join(found) == text
    assert all(0 < len(passage) <= size for passage in found)
    assert found == list(reading.passages(iter([text]), size))


def test_separators_and_characters_across_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 3)
    (tmp_path / "a.txt").write_text("\ufeffaé<|end|>b€b<|end|><|end|>c", encoding="utf-8")
    assert read(tmp_path, files="a.txt", separator="<|end|>") == ["aé", "b€b", "c"]


def test_one_long_text_is_cut_into_passages_at_line_ends(tmp_path: Path) -> None:
    text = "".join(f"line {i} of this text\n" for i in range(20_000))
    (tmp_path / "a.txt").write_text(text)
    passages = read(tmp_path, files="a.txt")
    assert len(passages) > 5
    assert "".join(passages) == text
    assert all(passage.endswith("\n") for passage in passages)
    assert read(tmp_path, files="a.txt", passage=10**6) == [text]


def test_faults_of_files_name_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 4)
    (tmp_path / "latin.txt").write_bytes(b"caf\xc3\xa9 and caf\xe9\n")
    assert "latin.txt: not UTF-8: byte 0xe9 at offset 13" in message(tmp_path, files="latin.txt")
    assert "iconv" in message(tmp_path, files="latin.txt")
    (tmp_path / "cut.txt").write_bytes(b"caf\xc3")
    assert "byte 0xc3 at offset 3" in message(tmp_path, files="cut.txt")
    (tmp_path / "latin.jsonl").write_bytes(b'{"t": "a"}\n{"t": "\xe9"}\n')
    assert "byte 0xe9 at offset 18" in message(tmp_path, files="latin.jsonl", field="t")
    (tmp_path / "a.txt").write_text("one; two")
    assert "no separator '--'" in message(tmp_path, files="a.txt", separator="--")
    (tmp_path / "windows.txt").write_bytes(b"one\r\n--\r\ntwo")
    assert "lines end in \\r\\n, which is kept" in message(tmp_path, files="windows.txt", separator="\n--\n")
    assert read(tmp_path, files="windows.txt", separator="\r\n--\r\n") == ["one", "two"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"body": "x", "url": 1}', "rows.jsonl:2: no field 'text'. This row has 'body', 'url'"),
        ('{"text": "x"', "rows.jsonl:2: not JSON"),
        ('["x"]', "rows.jsonl:2: a list"),
        ('{"text": "\\ud800"}', "rows.jsonl:2: field 'text' holds half of a surrogate pair"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, row: str, said: str) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "fine"}) + "\n" + row + "\n")
    assert said in message(tmp_path, files="rows.jsonl", field="text")


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst"])
def test_truncated_and_corrupt_compressed_files(tmp_path: Path, suffix: str) -> None:
    packed = PACK[suffix](os.urandom(4000).hex().encode())
    (tmp_path / f"short.txt{suffix}").write_bytes(packed[:-10])
    (tmp_path / f"wrong.txt{suffix}").write_bytes(b"not compressed at all")
    for name in ("short", "wrong"):
        said = message(tmp_path, files=f"{name}.txt{suffix}")
        assert f"{name}.txt{suffix}: truncated or corrupt {suffix} file" in said
    (tmp_path / "two.txt.zst").write_bytes(PACK[".zst"](b"one ") + PACK[".zst"](b"two"))
    assert read(tmp_path, files="two.txt.zst") == ["one two"]


def test_null_rows_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["a", None, "b", None, None]
    pq.write_table(pa.table({"text": texts}), tmp_path / "null.parquet")
    (tmp_path / "null.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for name, key, third in (("parquet", "column", "row 3"), ("jsonl", "field", "jsonl:4")):
        assert read(tmp_path, files=f"null.{name}", **{key: "text"}) == ["a", "b"]
        first, second = capsys.readouterr().err.splitlines()
        assert first.endswith(f"{key} 'text' is null; 1 such rows are left out")
        assert third in second
        assert second.endswith("; 2 such rows are left out"), "the third is not said: the fourth would be"


def test_corrupt_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "whole.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:-20])
    assert "truncated or corrupt .parquet" in message(tmp_path, files="cut.parquet", column="text")


def test_missing_empty_and_idle_settings(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "a.jsonl").write_text('{"t": "x"}\n')
    (tmp_path / "a.doc").touch()
    assert "nothing matches 'no*.txt'" in message(tmp_path, files="no*.txt")
    assert "no text in" in message(tmp_path, files="empty.txt")
    assert "the list is empty" in message(tmp_path, files=[])
    assert "set `field:`" in message(tmp_path, files="a.jsonl")
    assert "no .txt file" in message(tmp_path, files="a.jsonl", field="t", separator="--")
    assert "no .parquet or .csv or .tsv file" in message(tmp_path, files="a.jsonl", field="t", column="t")
    assert "needs `separator:`" in message(tmp_path, files="empty.txt", drop_last=True)
    assert "cannot tell what this is" in message(tmp_path, files="a.doc")
    with pytest.raises(ValidationError, match="Did you mean 'separator'"):
        LocalCorpus(files="a.txt", seperator="--")


def test_an_empty_file_beside_a_full_one_is_skipped_and_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.txt").write_text("one\n--\ntwo\n")
    (tmp_path / "c.txt").write_text(" \n--\n\n")
    (tmp_path / "d.jsonl").touch()
    assert read(tmp_path, files="*.*", separator="--\n", field="t") == ["one", "two"]
    said = capsys.readouterr().err.splitlines()
    assert said == [f"{tmp_path / name}: has no text and is skipped" for name in ("a.txt", "c.txt", "d.jsonl")]


@pytest.mark.parametrize("suffix", PACK)
def test_tables_and_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr(reading, "CHUNK", 7)
    table = '\ufeffid,text\r\n1,"a, ""b""\r\nc"\r\n\r\n2,\u2028d\r\n'
    (tmp_path / f"a.csv{suffix}").write_bytes(PACK[suffix](table.encode()))
    (tmp_path / f"a.tsv{suffix}").write_bytes(PACK[suffix](b"text\tid\none, two\t1"))
    (tmp_path / f"a.md{suffix}").write_bytes(PACK[suffix](b"# One\n"))
    assert read(tmp_path, files=f"a.csv{suffix}", column="text") == ['a, "b"\r\nc', "\u2028d"]
    assert read(tmp_path, files=f"a.tsv{suffix}", column="text") == ["one, two"]
    assert read(tmp_path, files=f"a.md{suffix}") == ["# One\n"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("id,words\n1,a\n", r"a.csv:1: no column 'text'; the first line names \"'id', 'words'\". Correct `column:`"),
        ("text,text\na,b\n", "a.csv:1: 2 columns 'text'"),
        ("id,text\n1,a\n2,b,c\n", "a.csv:3: 3 values, and the first line names 2 columns"),
        ('id,text\n1,"a\n', "a.csv:2: not a table (unexpected end of data)"),
    ],
)
def test_a_bad_table_is_named_by_its_line(tmp_path: Path, table: str, said: str) -> None:
    (tmp_path / "a.csv").write_text(table)
    assert said.replace("\\", "") in message(tmp_path, files="a.csv", column="text")


def test_a_table_says_what_else_separates_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;text\n1;a\n")
    assert "separated by semicolons: write it with commas." in message(tmp_path, files="a.csv", column="text")
    (tmp_path / "a.tsv").write_text("id,text\n1,a\n")
    assert "separated by commas: write it with tabs." in message(tmp_path, files="a.tsv", column="text")


def test_empty_cells_of_a_table_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,a\n2,\n3,""\n4,b\n')
    assert read(tmp_path, files="a.csv", column="text") == ["a", "b"]
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"{tmp_path}/a.csv:{line}: column 'text' is empty; {count} such rows are left out"
        for line, count in ((3, 1), (4, 2))
    ]


@pytest.mark.parametrize("rows", [3, 2500])
def test_a_column_of_numbers_is_said_once(tmp_path: Path, rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("id,text\n" + "".join(f"{n},{n if n else 'a'}\n" for n in range(rows)))
    assert len(read(tmp_path, files="a.csv", column="id")) == rows
    (said,) = capsys.readouterr().err.splitlines()
    assert f"the first {min(rows, 1000):,} values of column 'id' are all numbers" in said
    read(tmp_path, files="a.csv", column="text")
    assert capsys.readouterr().err == ""


def test_brackets_in_the_name_of_a_folder_are_explained(tmp_path: Path) -> None:
    (tmp_path / "texts [v1]").mkdir()
    (tmp_path / "texts [v1]/a.txt").write_text("one")
    said = message(tmp_path, files="texts [v1]/*.txt")
    assert said == "files: nothing matches 'texts [v1]/*.txt': [ ] is a pattern there. Write 'texts [[]v1]/*.txt'."
    assert read(tmp_path, files="texts [[]v1]/*.txt") == read(tmp_path, files="texts [v1]") == ["one"]


def test_a_folder_is_read_by_known_endings_also_below_brackets(tmp_path: Path) -> None:
    root = tmp_path / "a [b] 'c' *d"
    (root / "texts/more").mkdir(parents=True)
    for name in ("texts/b.txt", "texts/more/a.txt", "texts/notes.doc"):
        (root / name).write_text(name)
    assert read(root, files="texts") == ["texts/b.txt", "texts/more/a.txt"]
    assert read(root, files="texts/*.txt") == ["texts/b.txt"]
    assert "has b.txt, more, notes.doc; a folder is searched for .txt, .md" in message(root, files="texts/*.md")
    (root / "none").mkdir()
    assert "is empty" in message(root, files="none")


def test_digest_is_of_content_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("one")
    (tmp_path / "c.txt").write_text("two")
    digest = {name: LocalCorpus(files=f"{name}.txt").sha256(tmp_path) for name in "abc"}
    assert digest["a"] == digest["b"] != digest["c"]
    assert LocalCorpus(files=["a.txt", "c.txt"]).sha256(tmp_path) != LocalCorpus(files=["c.txt", "a.txt"]).sha256(
        tmp_path
    )
    monkeypatch.setattr("allmlp.common.paths.file_sha256", lambda path: pytest.fail(f"{path} is read again"))
    assert LocalCorpus(files="a.txt").sha256(tmp_path) == digest["a"]
    monkeypatch.undo()
    (tmp_path / "a.txt").write_text("two!")
    assert LocalCorpus(files="a.txt").sha256(tmp_path) != digest["a"]
    (tmp_path / "work" / "sources.json").write_text("{ damaged")
    assert LocalCorpus(files="b.txt").sha256(tmp_path) == digest["b"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real texts of shared/data are not on this machine")
def test_real_files() -> None:
    tiny = ["tinystories/ts_train_head_cased.txt.xz", "tinystories/ts_v2gpt4_train_head_cased.txt.xz"]
    stories = [read(DATA, files=name, separator="<|endoftext|>", drop_last=True) for name in tiny]
    assert [len(found) for found in stories] == [2316, 1727]
    assert len(set(stories[0]) & set(stories[1])) == 1
    novels = LocalCorpus(files="classics/*.jsonl.xz", field="text", limit=3).documents(DATA)
    assert all(len(novel) > 10_000 for novel in novels)
