"""Corpora of pairs: no text in both splits, both sides as they were, one identity wherever their files lie."""

import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.data import tokenizers
from allmlp.data.corpora import identity
from allmlp.data.corpora.spec import CorpusSpec, link_corpora
from allmlp.data.tokens import TokenFile
from allmlp.data.tokens.pairs import PairFile, shared_words, write_pairs
from allmlp.pipeline.tokenize import tokenize_corpus
from allmlp.plan.context import Context
from allmlp.plan.params import load
from allmlp.plan.plan import Plan

STORIES = {"source": "stories", "documents": 40, "tokenizer": {"kind": "bytes"}}
PAIRS = {"source": "stories-pairs", "documents": 60, "seed": 1, "held_out": 5, "tokenizer_of": "stories"}


def specs(**entries: dict) -> dict[str, CorpusSpec]:
    return link_corpora(
        {name: CorpusSpec.model_validate(entry) for name, entry in {"stories": STORIES, **entries}.items()}
    )


def written(folder: Path, spec: CorpusSpec, held_out: int = 5) -> PairFile:
    write_pairs(spec.pairs(folder), tokenizers.ByteTokenizer(), folder / "made", held_out=held_out, describe={})
    return PairFile(folder / "made")


def sides(file: PairFile, split: str) -> list[tuple[str, str]]:
    both = zip(file.queries(split), file.texts(split), strict=True)
    return [(file.decode(query), file.decode(text)) for query, text in both]


def test_what_is_read_is_what_was_written_and_no_text_is_in_both_splits(tmp_path: Path) -> None:
    spec = specs(pairs=PAIRS)["pairs"]
    file = written(tmp_path, spec)
    train, validation = sides(file, "train"), sides(file, "validation")
    assert sorted(train + validation) == sorted(map(tuple, spec.pairs(tmp_path)))
    assert 2 <= len(validation) <= 30
    assert not {text for _, text in train} & {text for _, text in validation}
    assert all(ids[-1] == file.end for ids in [*file.queries("train"), *file.texts("validation")])
    assert file.shared_words("train").tolist() == [shared_words(*pair) for pair in train]


def test_a_paraphrase_shares_no_content_word_with_its_story_and_a_summary_most(tmp_path: Path) -> None:
    for query, share in (("summary", 0.6), ("paraphrase", 0.0)):
        file = written(tmp_path / query, specs(pairs={**PAIRS, "query": query})["pairs"])
        found = [*file.shared_words("train"), *file.shared_words("validation")]
        assert (min(found) > share) if share else (max(found) == 0)


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("Who found the lost ring?", "A fox found a ring.", 2 / 3),
        ("What was it?", "It was here.", 0.0),
        ("RINGS", "rings", 1.0),
        ("ring", "rings", 0.0),
    ],
)
def test_shared_words(query: str, text: str, share: float) -> None:
    assert shared_words(query, text) == pytest.approx(share)


def test_each_text_is_there_once_with_its_first_query(tmp_path: Path) -> None:
    rows = [(f"query {number}", f"text {number % 20}") for number in range(50)]
    meta = write_pairs(
        [*rows, ("", "x"), ("y", " ")], tokenizers.ByteTokenizer(), tmp_path / "made", held_out=4, describe={}
    )
    file = PairFile(tmp_path / "made")
    assert sorted(sides(file, "train") + sides(file, "validation")) == sorted(rows[:20])
    assert (meta["documents"], meta["left_out"]) == (20, 32)


def test_the_same_pairs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name, specs(pairs=PAIRS)["pairs"])
    assert (tmp_path / "a/made/meta.json").read_bytes() == (tmp_path / "b/made/meta.json").read_bytes()


def jsonl(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    return path


TALE = {
    "sections": [{"section": "1", "text": "A fox ran."}, {"section": "2", "text": "A crow sang."}],
    "questions": [
        {"question": "Who sang?", "sections": "2"},
        {"question": "Who ran?", "sections": "1"},
        {"question": "Who were they?", "sections": "1,2"},
    ],
}
LINKED = {"query_field": "questions.question", "text_field": "sections.text", "link": ["sections", "section"]}


def local(files: Path | str, **keys: object) -> CorpusSpec:
    return specs(mine={"source": "local-pairs", "files": str(files), "tokenizer_of": "stories", **keys})["mine"]


def test_local_pairs_of_two_fields_and_of_linked_lists(tmp_path: Path) -> None:
    plain = jsonl(tmp_path / "plain.jsonl", [{"q": "Who?", "t": "A fox."}, {"q": "Where?", "t": "Here."}])
    assert list(local(plain, query_field="q", text_field="t").pairs(tmp_path)) == [
        ("Who?", "A fox."),
        ("Where?", "Here."),
    ]
    tales = jsonl(tmp_path / "tales.jsonl.xz", [TALE])
    assert list(local(tales, **LINKED).pairs(tmp_path)) == [("Who sang?", "A crow sang."), ("Who ran?", "A fox ran.")]
    several = jsonl(tmp_path / "several.jsonl", [{"text": "A fox ran.", "questions": TALE["questions"]}])
    found = local(several, query_field="questions.question", text_field="text", limit=2).pairs(tmp_path)
    assert list(found) == [("Who sang?", "A fox ran."), ("Who ran?", "A fox ran.")]


@pytest.mark.parametrize(
    ("rows", "keys", "said"),
    [
        (
            [{"q": "Who?"}],
            {"query_field": "q", "text_field": "t"},
            "x.jsonl:1: no field 't'. This row has 'q'. Correct `text_field:`",
        ),
        ([{"q": 3, "t": "x"}], {"query_field": "q", "text_field": "t"}, "x.jsonl:1: field 'q' is int, not text"),
        ([{}], LINKED, "x.jsonl:1: field 'sections' is no list of objects"),
        ([TALE], {**LINKED, "link": None}, "link: is missing"),
        ([TALE], {"query_field": "q", "text_field": "t", "link": ["a", "b"]}, "link: is of items of lists"),
    ],
)
def test_rows_that_are_not_pairs_are_reported(tmp_path: Path, rows: list[dict], keys: dict, said: str) -> None:
    spec = local(jsonl(tmp_path / "x.jsonl", rows), **keys)
    with pytest.raises(UserError, match=said):
        list(spec.pairs(tmp_path))


def test_an_id_tells_content_and_tokenizer_and_not_the_place(tmp_path: Path) -> None:
    row = {"q": "Who?", "t": "A fox."}
    here, there = (jsonl(tmp_path / name / "x.jsonl", [row]) for name in ("here", "there"))
    keys = {"query_field": "q", "text_field": "t"}
    first = identity.token_id("mine", local(here, **keys), tmp_path)
    assert first == identity.token_id("mine", local(there, **keys), tmp_path)
    other = jsonl(tmp_path / "other.jsonl", [{**row, "q": "What?"}])
    assert first != identity.token_id("mine", local(other, **keys), tmp_path)
    assert first != identity.token_id("mine", local(here, held_out=3, **keys), tmp_path)
    retaught = link_corpora(
        {
            "stories": CorpusSpec.model_validate({**STORIES, "tokenizer": {"kind": "bpe", "vocabulary": 300}}),
            "mine": CorpusSpec.model_validate(
                {"source": "local-pairs", "files": str(here), "tokenizer_of": "stories", **keys}
            ),
        }
    )["mine"]
    assert first != identity.token_id("mine", retaught, tmp_path)


def project(folder: Path, text: str) -> Plan:
    (folder / "params.yaml").write_text(text, encoding="utf-8")
    return Plan(load(folder / "params.yaml"), folder)


TEXT = """scale: smoke
corpora:
  stories: {source: stories, documents: 60, tokenizer: {kind: bpe, vocabulary: 300}}
  pairs: {source: stories-pairs, documents: 60, tokenizer_of: stories}
studies: {}
"""


def test_tokenizing_uses_the_named_corpuss_tokenizer_and_locks_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = project(tmp_path, TEXT)
    alone = tokenize_corpus(plan, "pairs")
    tokenizer = (alone / "tokenizer.json").read_bytes()
    text = tokenize_corpus(plan, "stories")
    assert plan.token_inputs("pairs") == [str(text / "meta.json")]
    assert plan.token_inputs("stories") == []
    assert tokenize_corpus(plan, "pairs") == alone, "the same, read from the tokens that are there now"
    assert (text / "tokenizer.json").read_bytes() == tokenizer
    assert identity.read_lock(tmp_path)["pairs"]["counts"]["documents"] == 60
    context = Context(plan.parameters, tmp_path, "cpu")
    assert context.pairs_corpus("pairs", "stories") == "pairs"
    assert context.tokens("pairs") == alone.name
    assert context.vocabulary("pairs") == 300
    assert TokenFile(text).vocabulary == PairFile(alone).vocabulary


def test_pairs_for_a_text_with_another_tokenizer_are_made_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tales = "  tales: {source: stories, documents: 90, seed: 5, tokenizer: {kind: bpe, vocabulary: 300}}\n"
    few = "  few: {source: stories, documents: 60, seed: 4, tokenizer: {kind: shared, corpus: tales}}\n"
    plan = project(tmp_path, TEXT.replace("studies: {}", tales + few + "studies: {}"))
    context = Context(plan.parameters, tmp_path, "cpu")
    for text in ("tales", "few"):
        derived = context.pairs_corpus("pairs", text)
        assert derived == f"pairs-as-{text}"
        assert context.has_shared_tokenizer(derived, "tales", "few")
    assert not context.has_shared_tokenizer("pairs", "tales"), "as many types, and other words"
    made = tokenize_corpus(plan, "pairs-as-tales")
    assert (made / "tokenizer.json").read_bytes() == (tokenize_corpus(plan, "tales") / "tokenizer.json").read_bytes()
    assert (made / "tokenizer.json").read_bytes() != (tokenize_corpus(plan, "pairs") / "tokenizer.json").read_bytes()
    for name in ("pairs-as-nothing", "stories-as-tales", "tales-as-stories"):
        with pytest.raises(UserError, match=f"no corpus '{name}'"):
            tokenize_corpus(plan, name)


def test_a_corpus_without_pairs_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = project(tmp_path, TEXT)
    with pytest.raises(UserError, match=r"'stories': has no pairs\. Name one of source stories-pairs, local-pairs"):
        Context(plan.parameters, tmp_path, "cpu").pairs_corpus("stories", "stories")
    with pytest.raises(UserError, match="has no pairs"):
        PairFile(tokenize_corpus(plan, "stories"))
    with pytest.raises(UserError, match=r"params.yaml:4: corpora.pairs.tokenizer_of: no corpus 'tales' of text"):
        project(tmp_path, TEXT.replace("tokenizer_of: stories", "tokenizer_of: tales"))
    with pytest.raises(UserError, match=r"params.yaml:4: corpora.pairs lacks the key 'tokenizer_of'"):
        project(tmp_path, TEXT.replace(", tokenizer_of: stories", ""))
    with pytest.raises(UserError, match=r"params.yaml:4: unknown key 'tokenizer' in corpora.pairs"):
        project(tmp_path, TEXT.replace("tokenizer_of: stories", "tokenizer: {kind: bytes}"))


def test_fairy_tales_are_pairs_of_a_question_and_its_section(
    shared_data: Callable[[str], Path], tmp_path: Path
) -> None:
    spec = local(shared_data("pairs/fairytaleqa.jsonl.xz"), **LINKED, limit=300)
    file = written(tmp_path, spec, held_out=5)
    pairs = sides(file, "train") + sides(file, "validation")
    assert len(pairs) > 50
    assert all(query.strip().endswith("?") for query, _ in pairs)
    assert 0.5 < sum(shared_words(*pair) for pair in pairs) / len(pairs) < 0.9, "a question uses its section's words"
