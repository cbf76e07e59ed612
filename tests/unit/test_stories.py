"""The story grammar: pure, exact in its nats, one derivation a text, its topics and its paraphrases kept apart."""

import hashlib
import math
import random
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from allmlp.common import recipes
from allmlp.common.errors import UserError
from allmlp.data.corpora import stories
from allmlp.data.corpora.stories import engine, grammar, inflection, lexicon, summaries
from tests.derivations import count, derivations, parses

WORD = re.compile(r"[a-z]+")
FUNCTION_WORDS = set(WORD.findall("a an and but by from in of the them to until which"))


@pytest.fixture(scope="module")
def sample():
    return [stories.story(0, i) for i in range(2000)]


def words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def surfaces(lists: lexicon.Lists) -> set[str]:
    """Every form of every word of the lists, in small letters, without its article; of a name no pronouns."""
    forms = {"", "pl", "past", "ing"}
    return {word.forms[key].lower() for kind in lists.values() for word in kind for key in forms & word.forms.keys()}


def literal_words() -> set[str]:
    texts = (re.sub(r"\{[^}]*\}|<\w+>", " ", text) for rule in grammar.rules().values() for text in rule)
    return set().union(*map(words, texts))


@cache
def lexicon_words() -> frozenset[str]:
    known = lexicon.load_lexicon()
    return frozenset(surfaces(known.general).union(*map(surfaces, known.topics.values())))


def test_a_story_is_a_pure_function_of_seed_and_index(sample):
    assert [stories.story(0, i) for i in reversed(range(20))] == sample[19::-1]
    assert list(stories.documents(0, 20)) == [s.text for s in sample[:20]]
    assert stories.story(1, 0) != stories.story(0, 0)
    assert len({s.text for s in sample}) == len(sample)


def test_the_same_bytes_on_every_machine():
    text = "\n".join(stories.documents(7, 50))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "6c201b8a326c1d71"


def test_the_word_lists_are_among_the_sources_of_the_recipe():
    data = recipes._data("allmlp.data.corpora.stories")
    folder = Path(stories.__file__).parent
    assert all(path.read_text() in data for path in folder.rglob("*") if path.suffix in {".yaml", ".txt"})


@pytest.mark.parametrize(("seed", "index"), [(-1, 0), (0, -1), (0, 2**64)])
def test_seed_and_index_out_of_range_are_refused(seed, index):
    with pytest.raises(UserError, match="seed"):
        stories.story(seed, index)


def test_a_text_alone_gives_back_its_one_derivation_and_its_nats(sample):
    for told in sample[:120]:
        (found,) = derivations(told.text)
        assert found.nats == pytest.approx(told.nats, abs=1e-9)
        assert (found.topic, found.summary, found.paraphrase) == (told.topic, told.summary, told.paraphrase)


def test_what_the_grammar_cannot_say_has_no_derivation(sample):
    text = sample[0].text
    assert derivations("") == derivations(text + " The end.") == derivations(text[:-1]) == []
    assert derivations(" ".join(reversed(text.split()))) == []


def test_the_probabilities_of_every_choice_sum_to_one_and_its_surfaces_differ():
    def walk(nodes, seen):
        for node in nodes:
            if isinstance(node, engine.Draw | engine.Choice) and id(node) not in seen:
                seen.add(id(node))
                assert math.fsum(math.exp(-n) for n in node.nats) == pytest.approx(1, abs=1e-12)
                if isinstance(node, engine.Choice):
                    for alternative in node.alternatives:
                        walk(alternative, seen)
                elif not node.variable:
                    assert len(set(node.surfaces)) == len(node.words)

    for topic in stories.topics():
        walk(grammar.compile_topic(topic), set())


def test_nats_are_the_frequencies_of_the_grammar():
    """In a toy grammar small enough to list, exp(-nats) is how often each text comes up, and sums to one."""
    words_ = [lexicon.Word({"": w}, "toy") for w in ("cat", "dog")]
    draw = engine.Draw(words_, [0.7, 0.3], "", "pet")
    nodes = [draw, engine.Choice([[" met a ", draw], [" slept"]], [0.25, 0.75])]
    texts = {a + b for a in ("cat", "dog") for b in (f" met a {a}", " slept")}
    exact = {text: math.exp(-parses(nodes, text)[0][0]) for text in texts}
    assert math.fsum(exact.values()) == pytest.approx(1)
    rng, seen = random.Random(0), Counter()
    for _ in range(20000):
        pieces: list[str] = []
        engine.sample(nodes, rng, {}, pieces)
        seen["".join(pieces)] += 1
    assert {text: seen[text] / 20000 for text in texts} == pytest.approx(exact, abs=0.015)


def test_an_ambiguous_grammar_is_found_out():
    twice = [engine.Choice([["a", "b"], ["ab"]], [0.5, 0.5])]
    assert len(parses(twice, "ab")) == 2


def test_no_word_of_the_lexicon_is_also_glue_of_the_templates():
    """So a word says by itself whether a template or a list gave it."""
    assert literal_words() & lexicon_words() == set()


def test_two_entries_with_one_surface_are_refused():
    lists = {"a.yaml": {"things": [lexicon.Word(inflection.noun("saw"), "things")]}}
    lists["b.yaml"] = {"holds": [lexicon.Word(inflection.verb("see/saw"), "holds")]}
    with pytest.raises(UserError, match=r"b.yaml: 'saw' in holds .* a.yaml"):
        lexicon.check(lists)


@pytest.mark.parametrize("template", ["{nothing}", "{$nobody}", "<nowhere>", "[open", "close)", "a | b"])
def test_a_wrong_template_is_refused(template):
    with pytest.raises(UserError, match="templates"):
        grammar.Compiler("sea").text(template)


def test_a_topic_file_with_another_list_is_refused(tmp_path):
    (tmp_path / "sky.yaml").write_text("gloss: lofty\nbirds: lark\n")
    with pytest.raises(UserError, match=r"sky.yaml: has the lists birds"):
        lexicon.read(tmp_path / "sky.yaml")


def test_there_are_more_than_a_trillion_stories_of_every_topic():
    assert all(count(grammar.compile_topic(topic)) >= 10**12 for topic in stories.topics())


def test_at_least_two_thousand_content_words_in_zipfian_frequencies(sample):
    counts = Counter(w for s in sample for w in WORD.findall(s.text.lower()) if w in lexicon_words())
    assert len(counts) >= 2000
    frequency = np.sort(list(counts.values()))[::-1]
    rank = np.unique(np.geomspace(10, 2000, 60).astype(int))
    slope = np.polyfit(np.log(rank), np.log(frequency[rank - 1]), 1)[0]
    assert -1.3 < slope < -0.5


def test_a_topic_never_uses_the_words_of_another_and_uses_its_own_to_the_end(sample):
    assert len(stories.topics()) >= 24
    own = {topic: surfaces(lists) for topic, lists in lexicon.load_lexicon().topics.items()}
    for told in sample:
        used = words(told.text)
        assert {topic for topic in own if used & own[topic]} == {told.topic}
    halves = [words(s.text[len(s.text) // 2 :]) & own[s.topic] for s in sample]
    assert np.mean([len(half) > 0 for half in halves]) > 0.95


def test_summaries_name_what_the_story_names(sample):
    for told in sample:
        content = words(told.summary) & lexicon_words()
        assert len(content) >= 4
        assert content <= words(told.text)
    assert len({s.summary for s in sample}) > 0.99 * len(sample)


def test_no_content_word_of_a_paraphrase_is_in_any_story(sample):
    topics = lexicon.load_lexicon().topics.values()
    glosses = {w.gloss for lists in topics for kind in lexicon.GLOSSED for w in lists[kind]}
    frames = (summaries.FRAME + t["paraphrase"] for t in summaries.templates().values())
    said = words(" ".join([*glosses, *lexicon.load_lexicon().glosses.values(), *summaries.HERO.values()]))
    said |= words(re.sub(r"\{\w+\}", "", " ".join(frames)))
    assert said & (literal_words() | lexicon_words()) <= FUNCTION_WORDS
    for told in sample:
        assert words(told.paraphrase) & words(told.text) <= FUNCTION_WORDS
        assert told.paraphrase.count(".") == told.summary.count(".") == 1


def test_every_plot_has_a_summary():
    plots = {m for texts in grammar.rules().values() for t in texts for m in re.findall(r"\{@plot=(\w+)\}", t)}
    assert plots == set(summaries.templates())


def test_texts_are_well_formed(sample):
    for told in sample:
        text = told.text
        assert not re.search(r"  |\s[.,!?]|[,.]{2}|[<>{}\[\]()|*]", text)
        assert re.fullmatch(r'["A-Z].*[.!?]', text)
        assert text.count('"') % 2 == 0
        assert all(s.lstrip('"')[0].isupper() for s in re.split(r"[.!?] (?=\w)", text))
        for article, first in re.findall(r"\b([Aa]n?) ([a-z]+)", text):
            assert inflection.add_article(first) == f"{article.lower()} {first}"


def test_inflection():
    assert [inflection.plural(w) for w in ("fox", "pony", "day", "witch")] == ["foxes", "ponies", "days", "witches"]
    assert [inflection.past_tense(w) for w in ("hug", "bake", "carry", "play")] == [
        "hugged",
        "baked",
        "carried",
        "played",
    ]
    assert [inflection.progressive(w) for w in ("chop", "tie", "bake")] == ["chopping", "tying", "baking"]
    assert [inflection.add_article(w)[:2] for w in ("owl", "unicorn", "honest", "hat")] == ["an", "a ", "an", "a "]


def test_the_length_of_stories(sample):
    lengths = np.array([len(s.text.split()) for s in sample])
    assert 120 < lengths.mean() < 170
    assert np.quantile(lengths, [0.01, 0.99]) == pytest.approx([140, 140], abs=65)


def test_entropy_per_token(sample):
    """Nats a token of BPE-1024: the floor that no model goes below, and what a model of two tokens' context reaches."""
    tokenizers = pytest.importorskip("tokenizers")
    bytes_ = tokenizers.pre_tokenizers.ByteLevel
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = bytes_(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=1024, initial_alphabet=bytes_.alphabet(), show_progress=False)
    bpe.train_from_iterator([s.text for s in sample], trainer)
    ids = [e.ids for e in bpe.encode_batch([s.text for s in sample])]
    floor = sum(s.nats for s in sample) / sum(map(len, ids))
    assert 1.35 < floor < 1.6
    assert trigram_loss(ids[:1800], ids[1800:]) > max(2.0, floor)


def trigram_loss(train: list[list[int]], test: list[list[int]], vocabulary: int = 1024) -> float:
    """Mean -log p a token of an interpolated (Witten-Bell) trigram model."""
    grams, seen, kinds = Counter(), Counter(), Counter()
    for text in train:
        for i in range(2, len(text)):
            for n in range(3):
                gram = tuple(text[i - n : i + 1])
                kinds[gram[:-1]] += gram not in grams
                grams[gram] += 1
                seen[gram[:-1]] += 1
    nats = []
    for text in test:
        for i in range(2, len(text)):
            p = 1 / vocabulary
            for n in range(3):
                gram = tuple(text[i - n : i + 1])
                if seen[gram[:-1]]:
                    p = (grams[gram] + kinds[gram[:-1]] * p) / (seen[gram[:-1]] + kinds[gram[:-1]])
            nats.append(-math.log(p))
    return float(np.mean(nats))
