"""Tokens of one corpus taught to another, chunks of a declared number, and real novels and plays read in them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.data import tokenizers
from allmlp.data.corpora import identity
from allmlp.data.corpora.identity import vocabulary
from allmlp.data.corpora.spec import CorpusSpec, link_corpora
from allmlp.data.tokenizers.specs import Chunks, SharedTokenizer


def test_a_shared_tokenizer_gives_both_corpora_the_same_types(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "b.txt").write_text("the mat! " * 20)
    local = {"source": "local", "passage": 100}
    specs = link_corpora(
        {
            "a": CorpusSpec.model_validate(
                {**local, "files": "a.txt", "tokenizer": {"kind": "chunks", "length": 2, "vocabulary": 40}}
            ),
            "b": CorpusSpec.model_validate({**local, "files": "b.txt", "tokenizer": {"kind": "shared", "corpus": "a"}}),
        }
    )
    assert vocabulary("b", specs["b"], tmp_path) == vocabulary("a", specs["a"], tmp_path) == 40
    before = identity.token_id("b", specs["b"], tmp_path)
    (tmp_path / "a.txt").write_text("another text altogether " * 20)
    (tmp_path / "work/sources.json").unlink(missing_ok=True)
    assert identity.token_id("b", specs["b"], tmp_path) != before, "its tokens follow the other corpus's text"
    with pytest.raises(UserError, match=r"corpora\.b\.tokenizer: no corpus 'c' of text"):
        link_corpora({"b": specs["b"].model_copy(update={"tokenizer": SharedTokenizer(corpus="c"), "teacher": None})})


def test_a_declared_vocabulary_keeps_the_commonest_chunks_and_leaves_rare_ones_out() -> None:
    fitted = tokenizers.fit(Chunks(length=2, vocabulary=4), ["ababab cdcd xy"])
    assert (fitted.vocabulary, fitted.eod) == (4, 3)
    assert fitted.decode(fitted.encode_batch(["abab" * 10 + "xy"])[0]) == "abab" * 10
    with pytest.raises(UserError, match="do not occur in the text that it was fitted to"):
        fitted.encode_batch(["!?!?!?ab"])
    wide = tokenizers.fit(Chunks(length=2, vocabulary=50), ["abab"])
    assert (wide.vocabulary, wide.eod) == (50, 49)


def test_real_novels_and_plays_are_read_in_shared_tokens(shared_data: Callable[[str], Path]) -> None:
    plays = shared_data("classics/tinyshakespeare.txt.xz")
    source = {"source": "local", "files": [str(plays)], "passage": 8000, "limit": 20}
    spec = CorpusSpec.model_validate({**source, "tokenizer": {"kind": "chunks", "length": 2, "vocabulary": 1092}})
    fitted = tokenizers.fit(spec.tokenizer_corpus[1], spec.documents(Path()))
    text = next(iter(spec.documents(Path())))
    found = fitted.decode(fitted.encode_batch([text])[0])
    assert len(found) > 0.95 * len(text)
    assert "First Citizen" in found
