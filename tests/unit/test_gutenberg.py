"""Books of Project Gutenberg: what is cut off, and pins that refuse what changed since."""

import json
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.data.corpora import gutenberg
from allmlp.plan import params
from tests.conftest import PROJECT


@pytest.fixture(scope="module")
def parameters(published: Path) -> params.Params:
    return params.load(published)


def test_gutenberg_s_files_are_pinned_by_the_first_download_and_later_changes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, end = "*** START OF THE PROJECT ***", "*** END OF THE PROJECT ***"
    served = {"text": f"\ufeffA title\r\n{start}\r\nIt’s “so”—all.\r\n{end}\r\nlicence"}
    url = gutenberg.URL.format(book=7)

    def fetch(asked: str, sha256: str | None, root: Path) -> Path:
        path = root / "7.txt"
        path.write_bytes(served["text"].encode())
        return path

    monkeypatch.setattr(gutenberg, "fetch", fetch)
    (tmp_path / gutenberg.LOCK).write_text(json.dumps({url: None}))
    corpus = gutenberg.GutenbergCorpus(books=[7])
    assert list(corpus.documents(tmp_path)) == ['It\'s "so"--all.']
    pinned = gutenberg.read_lock(tmp_path)[url]
    assert pinned is not None
    assert list(corpus.documents(tmp_path)) == ['It\'s "so"--all.']
    served["text"] = served["text"].replace("all", "none")
    with pytest.raises(UserError, match=f"gutenberg.lock says {pinned}: it was edited since"):
        list(corpus.documents(tmp_path))
    served["text"] = "not a book"
    (tmp_path / gutenberg.LOCK).write_text("{}")
    with pytest.raises(UserError, match="not a book of Gutenberg"):
        list(corpus.documents(tmp_path))


def test_every_book_of_the_paper_s_scale_has_a_pin(parameters) -> None:
    pins = json.loads((PROJECT / gutenberg.LOCK).read_text())
    for name in ("gutenberg-classics-and-shakespeare", "gutenberg-classics", "gutenberg-shakespeare"):
        source = parameters.corpora[name].source
        assert isinstance(source, gutenberg.GutenbergCorpus)
        assert {gutenberg.URL.format(book=book) for book in source.books} <= set(pins)
