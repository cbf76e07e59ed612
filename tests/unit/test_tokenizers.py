"""Tokenizers: round trips, ids in range, determinism, agreement with the reference libraries, bad input."""

import json
import lzma
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp.common.errors import UserError
from allmlp.data.tokenizers import Tokenizer, base, fit, load
from allmlp.data.tokenizers.library import CUT
from allmlp.data.tokenizers.plain import ByteTokenizer, ChunkTokenizer
from allmlp.data.tokenizers.specs import BPE, GPT2, Bytes, Chunks, SentencePiece
from allmlp.data.tokens import write_tokens

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="shared/data is not on this machine")
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "then", "it", "ran", "to", "see", "big", "red", "dog"]
RARE = ["".join(random.Random(i).choices("abcdefghij", k=5)) for i in range(200)]  # for ties between merges
TEXTS = [" ".join(random.Random(i).choices(WORDS, k=40)) + f" {rare}.\n" for i, rare in enumerate(RARE)]


@pytest.fixture(scope="module")
def bpe() -> Tokenizer:
    return fit(BPE(vocabulary=400), TEXTS)


@pytest.fixture(scope="module")
def gpt2(bpe: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """GPT-2's two files, made from the BPE above."""
    folder = tmp_path_factory.mktemp("gpt2")
    model = json.loads(bpe.save(folder).read_text())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    return fit(GPT2(vocab_file="vocab.json", merges_file="merges.txt"), [], folder)


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=60))
def test_bytes_and_bpe_give_any_text_back(bpe: Tokenizer, gpt2: Tokenizer, text: str) -> None:
    for tokenizer in (bpe, gpt2, fit(Bytes(), [])):
        ids = tokenizer.encode_batch([text])[0]
        assert ids.dtype == np.uint16
        assert tokenizer.decode(ids) == text
        assert tokenizer.decode([*ids, tokenizer.eod]) == text
        assert tokenizer.eod not in ids
        assert np.all(ids < tokenizer.vocabulary)


def test_sizes_and_reserved_ids(bpe: Tokenizer, gpt2: Tokenizer) -> None:
    plain = fit(Bytes(), [])
    assert (plain.vocabulary, plain.eod) == (257, 256)
    assert (bpe.vocabulary, bpe.eod) == (400, 0)
    assert (gpt2.vocabulary, gpt2.eod) == (400, 0)
    (ids,) = bpe.encode_batch(["of the"])
    assert " the" in [bpe.decode([i]) for i in ids], "the vocabulary has merges"


def test_text_cannot_forge_the_end_of_a_document(bpe: Tokenizer, gpt2: Tokenizer) -> None:
    for tokenizer in (bpe, gpt2):
        assert tokenizer.eod not in tokenizer.encode_batch(["a<|endoftext|>b"])[0]


def test_parts_of_a_long_text_give_the_tokens_of_the_whole(bpe: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["short", "".join(TEXTS), "x" * 500, "no  double \n\n cut 's"]
    whole = [ids.tolist() for ids in bpe.encode_batch(texts)]
    monkeypatch.setattr(base, "LONG", 100)
    assert len(base._parts(texts[1], CUT)) > 50
    assert [ids.tolist() for ids in bpe.encode_batch(texts)] == whole


def test_bpe_training_is_deterministic_whatever_the_threads(bpe: Tokenizer, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from test_tokenizers import TEXTS;"
        "from allmlp.data.tokenizers import fit; from allmlp.data.tokenizers.specs import BPE; "
        "fit(BPE(vocabulary=400), TEXTS).save(Path(sys.argv[1]))"
    )
    expected = bpe.save(tmp_path).read_bytes()
    for threads in ("1", "4"):
        folder = tmp_path / threads
        folder.mkdir()
        environment = {**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONPATH": str(Path(__file__).parent)}
        subprocess.run([sys.executable, "-c", code, str(folder)], check=True, env=environment)
        assert (folder / "tokenizer.json").read_bytes() == expected


def test_bpe_of_too_small_a_corpus_says_how_far_it_goes() -> None:
    with pytest.raises(UserError, match=r"5,000 token types asked for, but this corpus yields only \d+"):
        fit(BPE(vocabulary=5000), ["one two three"])


def test_chunks_are_cut_and_numbered_by_the_definition() -> None:
    text = "to be,  or not\n\n\nto be"
    tokenizer = fit(Chunks(length=2), [text])
    plain = "to be, or not\nto be"
    chunks = [plain[i : i + 2] for i in range(0, len(plain), 2)]
    vocabulary = sorted(set(chunks))
    assert tokenizer.encode_batch([text])[0].tolist() == [vocabulary.index(chunk) for chunk in chunks]
    assert tokenizer.decode(tokenizer.encode_batch([text])[0]) == plain
    assert (tokenizer.vocabulary, tokenizer.eod) == (len(vocabulary) + 1, len(vocabulary))


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab \n\x00é.", min_size=10, max_size=60), st.integers(1, 8))
def test_chunks_give_the_normal_form_back(text: str, length: int) -> None:
    texts = [text, "aaaaaaaaa" * 10]
    tokenizer = fit(Chunks(length=length), texts)
    found = [tokenizer.decode(ids) for ids in tokenizer.encode_batch(texts)]
    assert found == [ChunkTokenizer.normalise(text).decode() for text in texts]


def test_chunks_name_what_they_do_not_know() -> None:
    tokenizer = fit(Chunks(length=2), ["abab"])
    with pytest.raises(UserError, match="'bc', 'd' do not occur"):
        tokenizer.encode_batch(["abbcd"])
    with pytest.raises(UserError, match="outside ASCII"):
        fit(Chunks(length=2), ["Привет, мир"])
    with pytest.raises(UserError, match="outside ASCII"):
        tokenizer.encode_batch(["红楼梦"] * 3)


def test_saved_tokenizers_are_the_same_again(bpe: Tokenizer, gpt2: Tokenizer, tmp_path: Path) -> None:
    for number, tokenizer in enumerate((bpe, gpt2, fit(Bytes(), []), fit(Chunks(length=3), TEXTS))):
        folder = tmp_path / str(number)
        folder.mkdir()
        tokenizer.save(folder)
        again = load(folder)
        assert (again.vocabulary, again.eod) == (tokenizer.vocabulary, tokenizer.eod)
        assert [again.decode([i]) for i in range(tokenizer.eod)] == [
            tokenizer.decode([i]) for i in range(tokenizer.eod)
        ]
        assert np.array_equal(again.encode_batch(TEXTS[:1])[0], tokenizer.encode_batch(TEXTS[:1])[0])
    with pytest.raises(UserError, match="missing or damaged"):
        load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("[1]")
    with pytest.raises(UserError, match="missing or damaged"):
        load(tmp_path)


def test_given_files_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    spec = GPT2(vocab_file="vocab.json", merges_file="merges.txt")
    with pytest.raises(UserError, match="vocab_file: no file"):
        fit(spec, [], tmp_path)
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    (tmp_path / "merges.txt").write_text("x y\n")
    with pytest.raises(UserError, match="not GPT-2's"):
        fit(spec, [], tmp_path)
    (tmp_path / "merges.txt").write_text("")
    with pytest.raises(UserError, match="has no token"):
        fit(spec, [], tmp_path)
    (tmp_path / "m.model").write_bytes(b"not a model")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        fit(SentencePiece(model_file="m.model"), [], tmp_path)
    digest = spec.sha256(tmp_path)
    (tmp_path / "merges.txt").write_text("a a\n")
    assert spec.sha256(tmp_path) != digest


def unpacked(name: str) -> str:
    return lzma.decompress((DATA / name).read_bytes()).decode()


@needs_data
def test_gpt2_agrees_with_the_official_tokenizer() -> None:
    from tokenizers import Tokenizer as Library

    official = Library.from_str(unpacked("tokenizers/gpt2/tokenizer.json.xz"))
    folder = "tokenizers/gpt2"
    tokenizer = fit(GPT2(vocab_file=f"{folder}/vocab.json", merges_file=f"{folder}/merges.txt"), [], DATA)
    assert (tokenizer.vocabulary, tokenizer.eod) == (50257, 50256)
    text = unpacked("tinystories/ts_valid_head_stream.txt.xz")[:300_000]
    text = text.replace("<|endoftext|>", "")
    assert tokenizer.encode_batch([text])[0].tolist() == official.encode(text).ids
    assert tokenizer.decode(tokenizer.encode_batch([text])[0]) == text


@needs_data
def test_sentencepiece_in_parts_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = fit(SentencePiece(model_file="tokenizers/tinystories_4096/tok4096.model"), [], DATA)
    assert (tokenizer.vocabulary, tokenizer.eod) == (4096, 2)
    text = unpacked("classics/tinyshakespeare.txt.xz")[:60_000]
    whole = tokenizer.encode_batch([text])[0]
    monkeypatch.setattr(base, "LONG", 1000)
    assert np.array_equal(tokenizer.encode_batch([text])[0], whole)
    tokenizer.save(tmp_path)
    assert np.array_equal(load(tmp_path).encode_batch([text])[0], whole)


def test_a_sentencepiece_model_of_another_language_is_refused(tmp_path: Path) -> None:
    import sentencepiece

    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"the cat {n} sat on the mat and the dog {n} ran" for n in range(200)))
    model = {"model_prefix": str(tmp_path / "m"), "vocab_size": 44, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(input=str(text), **model)
    tokenizer = fit(SentencePiece(model_file="m.model"), [], tmp_path)
    ids = tokenizer.encode_batch(["the cat sat on the mat and the dog ran to the caf\u00e9"])[0]
    assert 0 < tokenizer.lost_share(ids, 0) < 0.1
    assert tokenizer.lost_share(tokenizer.encode_batch(["the cat sat"])[0], 0) == 0
    with pytest.raises(UserError, match=r"tokenizer: \d+% of the pieces stand for text that .* does not know"):
        tokenizer.encode_batch(["\u043a\u043e\u0442 \u0441\u0438\u0434\u0438\u0442"])


def test_chunks_say_what_they_leave_out() -> None:
    tokenizer = fit(Chunks(length=2, vocabulary=3), ["ababababab"])
    ids = tokenizer.encode_batch(["ab" * 19 + "xy"])[0]
    assert tokenizer.lost_share(ids, 40) == pytest.approx(0.05)
    assert ByteTokenizer().lost_share(ByteTokenizer().encode_batch(["\u00e9"])[0], 2) == 0


def test_what_a_tokenizer_does_not_know_is_said_when_tokens_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["ab" * 19 + "xy"] * 40
    write_tokens(texts, fit(Chunks(length=2, vocabulary=2), texts), tmp_path / "chunks-1", describe={})
    assert "its tokenizer does not know 5.0% of the first documents' text" in capsys.readouterr().out
    write_tokens(texts, ByteTokenizer(), tmp_path / "bytes-1", describe={})
    assert "does not know" not in capsys.readouterr().out
