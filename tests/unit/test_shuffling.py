"""Shuffled corpora: what is lost, what stays, and that a corpus says in its id that it is shuffled."""

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.data.corpora import identity, shuffling, stories
from allmlp.data.corpora.shuffling import sentences, shuffle_documents
from allmlp.data.corpora.spec import CorpusSpec
from allmlp.data.corpora.stories import floor
from allmlp.data.corpora.stories.floor import entropy_per_token
from allmlp.data.tokenizers import fit
from allmlp.data.tokens import write_tokens

TEXTS = list(stories.documents(0, 40))


@pytest.mark.parametrize("what", ["sentences", "words"])
def test_the_same_words_in_the_same_numbers(what: shuffling.Shuffle) -> None:
    found = list(shuffle_documents(TEXTS, what))
    assert len(found) == len(TEXTS)
    assert Counter(" ".join(found).split()) == Counter(" ".join(TEXTS).split())
    assert found == list(shuffle_documents(TEXTS, what)), "the same every time"


def test_words_stay_in_their_document_and_lose_their_order() -> None:
    found = list(shuffle_documents(TEXTS, "words"))
    assert all(Counter(a.split()) == Counter(b.split()) for a, b in zip(found, TEXTS, strict=True))
    assert all(a.split() != b.split() for a, b in zip(found, TEXTS, strict=True))


def test_sentences_stay_whole_and_leave_their_document() -> None:
    found = list(shuffle_documents(TEXTS, "sentences"))
    before, after = ([sentences(text) for text in texts] for texts in (TEXTS, found))
    assert Counter(chain(*before)) == Counter(chain(*after))
    assert [len(one) for one in before] == [len(one) for one in after]
    at_home = [len(set(a) & set(b)) / len(a) for a, b in zip(after, before, strict=True)]
    assert sum(at_home) / len(at_home) < 0.2


def test_documents_far_apart_are_dealt_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffling, "DEALT", 10)
    found = list(shuffle_documents(TEXTS, "sentences"))
    for start in range(0, 40, 10):
        block = slice(start, start + 10)
        assert Counter(" ".join(found[block]).split()) == Counter(" ".join(TEXTS[block]).split())


@given(st.text(alphabet='ab .!?"\n’)', max_size=60))
def test_sentences_lose_nothing_but_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def write_stories(root: Path, what: str | None) -> tuple[str, Path]:
    """Thirty stories, shuffled or not: the id that their tokens would have, and the folder of their tokens."""
    plain = {"source": "stories", "documents": 30, "tokenizer": {"kind": "bytes"}}
    spec = CorpusSpec.model_validate({**plain, **({"shuffle": what} if what else {})})
    assert len(list(spec.documents(root))) == 30
    tokenizer = fit(spec.tokenizer, spec.documents(root), root)  # type: ignore[arg-type]
    write_tokens(spec.documents(root), tokenizer, root / str(what), describe=identity.describe_corpus(spec))
    return identity.token_id("mine", spec, root), root / str(what)


def test_a_shuffled_corpus_has_an_id_of_its_own_and_no_known_entropy(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    ids = set()
    for what in (None, "words", "sentences"):
        token_id, folder = write_stories(tmp_path, what)
        ids.add(token_id)
        assert (entropy_per_token(folder) is None) == (what is not None)
    assert len(ids) == 3


@pytest.mark.parametrize("damage", ["", "[]", "nonsense"])
def test_a_cached_entropy_is_the_same_and_a_damaged_one_is_computed_again(tmp_path, monkeypatch, damage) -> None:
    monkeypatch.chdir(tmp_path)
    find = entropy_per_token.__wrapped__  # as another process would
    _, folder = write_stories(tmp_path, None)
    found = find(folder)
    (remembered,) = Path("work/entropy").iterdir()
    monkeypatch.setattr(floor, "story", None)
    assert find(folder) == found, "read, not computed"
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    remembered.write_text(damage)
    assert find(folder) == found


def test_images_have_nothing_to_shuffle() -> None:
    with pytest.raises(ValueError, match="shuffle"):
        CorpusSpec.model_validate({"source": "digits", "held_out": 5, "shuffle": "words"})
