"""Rules on keywords, samples and completions (000-11, 000-17, 001-29), applied to text that people or GPT-4 wrote, and
to words at random.
"""

import lzma
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp.judging.statistics import Finding
from allmlp.studies.language.classification import N_GRAM
from allmlp.studies.language.keywords import RANDOM
from allmlp.studies.language.measures.classes import CONTEXT
from allmlp.studies.language.measures.weights import CLEAREST, keywords
from allmlp.studies.language.prompts import PROMPTS
from allmlp.studies.language.verdicts.words import differences
from allmlp.studies.mixers.measures.completions import STORIES, _count_names, completions, names
from allmlp.studies.shared import overlap
from tests import judging
from tests.unit.tried_rules import SEEDS, assert_as_in_ledger, passages

NOVELS, TALES = "classics/british_fiction_26.jsonl.xz", "tinystories/ts_train_head_cased.txt.xz"


class Corpus(NamedTuple):
    """Passages of novels as numbers of words: those that are read, and as many that are held out."""

    words: list[str]
    read: list[np.ndarray]
    held_out: list[np.ndarray]

    def documents(self, split: str) -> list[np.ndarray]:
        return {"train": self.read, "validation": self.held_out}[split]

    @property
    def vocabulary(self) -> int:
        return len(self.words)

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.words[token] for token in ids)


@cache
def corpus(path: Path, fewest: int = 1) -> Corpus:
    """Of the words that occur in at least so many of the passages that are read."""
    found = passages(path, length=1000, every=4)
    read, held_out = ([re.findall("[a-z]+", text.lower()) for text in texts] for texts in (found.read, found.held_out))
    held_out = held_out[: len(read)]
    counts = Counter(word for words in (read if fewest > 1 else read + held_out) for word in set(words))
    numbers = {word: number for number, word in enumerate(sorted(w for w, count in counts.items() if count >= fewest))}
    texts = ([np.array([numbers[w] for w in words if w in numbers]) for words in of] for of in (read, held_out))
    return Corpus(list(numbers), *texts)


# Keywords

Draw = Callable[[np.random.Generator], np.ndarray]
FEWEST, WIDTH, TEN = 20, 512, 10


def neurons_of(text: Corpus, bag: Draw, n_gram: Draw, seed: int) -> pd.DataFrame:
    """`keywords` of six neurons of each class, each near to ten words that are drawn for it."""
    rng = np.random.default_rng(seed)
    embedding_VD = rng.normal(size=(text.vocabulary, WIDTH)) / np.sqrt(WIDTH)
    layer_NTD = np.zeros((2 * CLEAREST, CONTEXT, WIDTH))
    for neuron in range(CLEAREST):
        for place, draw in ((neuron, bag), (CLEAREST + neuron, n_gram)):
            vector = embedding_VD[draw(rng)].sum(axis=0)
            layer_NTD[place, slice(None) if draw is bag and place == neuron else -1] = vector / np.linalg.norm(vector)
    weight = torch.tensor(embedding_VD, dtype=torch.float32)
    model = SimpleNamespace(embedding=torch.nn.Embedding.from_pretrained(weight), context=CONTEXT)
    model.from_embeddings = lambda x: torch.zeros(len(x), text.vocabulary)
    run = SimpleNamespace(seed=seed, hyperparameters={"context": CONTEXT}, optimiser={"weight_decay": 0.5}, steps=1)
    first = {"first.weight": torch.tensor(layer_NTD.reshape(len(layer_NTD), -1), dtype=torch.float32)}
    log = pd.DataFrame({"step": [0], "learning_rate": 0.1})
    trained = SimpleNamespace(
        run=run, steps=[0, 1], weights=lambda step: first, model=lambda: model, log=log, ending={"steps_done": 1}
    )  # fmt: skip
    with patch.multiple(keywords.make.__module__, TokenFile=lambda folder: text, token_folder=lambda trained: ""):
        return keywords(trained).assign(run=f"r{seed}", seed=seed, part="neurons")  # type: ignore[arg-type]


@pytest.mark.slow
def test_keywords_that_belong_together_are_not_told_from_common_words(shared_data) -> None:
    """The truth: ten words that are together in passages that are read, and ten that follow one word. Noise: any ten of
    the two hundred commonest words, and any ten words."""
    text = corpus(shared_data(NOVELS), FEWEST)
    there_MV = np.zeros((len(text.read), text.vocabulary), dtype=np.float32)
    for row, ids in enumerate(text.read):
        there_MV[row, ids] = 1
    together_VV, counts = there_MV.T @ there_MV, there_MV.sum(axis=0)
    expected_VV = np.outer(counts, counts) / len(text.read)
    related_VV = (together_VV - expected_VV) / np.sqrt(expected_VV)
    after: dict[int, Counter[int]] = {}
    for ids in text.read:
        for one, following in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
            after.setdefault(one, Counter())[following] += 1
    before = [word for word, following in after.items() if len(following) >= 3 * TEN]
    rare = np.flatnonzero(counts < len(text.read) / 10)

    def related(rng: np.random.Generator) -> np.ndarray:
        return np.argsort(-related_VV[rng.choice(rare)], kind="stable")[:TEN]

    def following(rng: np.random.Generator) -> np.ndarray:
        return np.array([word for word, _ in after[before[rng.integers(len(before))]].most_common(TEN)])

    def common(rng: np.random.Generator) -> np.ndarray:
        return rng.choice(np.argsort(-counts, kind="stable")[:200], TEN, replace=False)

    def any_ten(rng: np.random.Generator) -> np.ndarray:
        return rng.choice(text.vocabulary, TEN, replace=False)

    near = [
        pd.concat([neurons_of(text, *draws, seed) for seed in SEEDS])
        for draws in ((related, following), (common, any_ten))
    ]
    assert_as_in_ledger("000-11", *(judging.judged("000-11", keywords=rows) for rows in near))
    for other, noise in ((RANDOM, 0.01), (N_GRAM, 0.07)):
        found = [differences(log_ratios(rows, text), other, "dot").mean() for rows in near]
        assert found == pytest.approx([0.6, noise], abs=0.01), "as the ledger's reason says"


def log_ratios(rows: pd.DataFrame, text: Corpus) -> pd.DataFrame:
    """In the place of coherence: the logarithm of how often ten keywords' pairs are together in held-out passages, over
    how often words as common would be."""
    there_MV = np.zeros((len(text.held_out), text.vocabulary))
    for row, ids in enumerate(text.held_out):
        there_MV[row, ids] = 1
    number = {word: place for place, word in enumerate(text.words)}
    found = []
    for words in rows["keywords"]:
        there_MK = there_MV[:, [number[word] for word in words.split()]]
        pairs = np.triu_indices(there_MK.shape[1], 1)
        expected_K = there_MK.sum(axis=0)
        expected = (np.outer(expected_K, expected_K) / len(there_MK))[pairs].sum()
        found.append(np.log((there_MK.T @ there_MK)[pairs].sum() / expected))
    return rows.assign(coherence_1=found)


# Samples


def sampled(text: Corpus, folder: Path, drawn: Callable[[int], list[np.ndarray]]) -> pd.DataFrame:
    """`samples` of six seeds, of two models that write the same."""
    rows = []
    with patch.object(overlap, "TokenFile", lambda folder: text):
        for seed in SEEDS:
            for prompt, ids in enumerate(drawn(seed)):
                share = overlap.known_trigrams(ids, folder)
                for model in ("mlp", "gpt2-last"):
                    label = {"run": f"{model}-{seed}", "seed": seed, "model": model, "d_model": 512, "d_mlp": 512}
                    rows.append({**label, "prompt": prompt, "known_trigrams_1": share, "context_gain_nats": 0.0})
    return pd.DataFrame(rows)


@pytest.mark.slow
def test_trigrams_of_held_out_novels_and_of_words_at_random(shared_data, tmp_path: Path) -> None:
    text = corpus(shared_data(NOVELS))
    every = np.concatenate(text.read)

    def held_out(seed: int) -> list[np.ndarray]:
        return text.held_out[seed * len(PROMPTS) : (seed + 1) * len(PROMPTS)]

    def at_random(seed: int) -> list[np.ndarray]:
        return list(np.random.default_rng(seed).choice(every, (len(PROMPTS), 64)))

    truth, noise = (judging.judged("000-17", samples=sampled(text, tmp_path, drawn)) for drawn in (held_out, at_random))
    assert_as_in_ledger("000-17", truth, noise)


# Completions

PROMPT, WRITTEN = 20, 38  # words


class Story(NamedTuple):
    """The beginning of a story, and how it goes on."""

    prompt: str
    end: str


Writer = Callable[[list[Story]], list[str]]


def completed(stories: list[Story], known: frozenset[str], written: dict[str, Writer]) -> pd.DataFrame:
    """`completions` of six seeds: model -> what it writes after the beginnings of a hundred stories."""
    rows = []
    for variant, write in written.items():
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            drawn = [stories[place] for place in rng.permutation(len(stories))[:STORIES]]
            names, kept, repeated = _count_names([story.prompt for story in drawn], write(drawn), known)
            label = {"run": f"{variant}-{seed}", "seed": seed, "variant": variant, "size": "base"}
            numbers = {"names": names, "names_kept_1": kept, "repeated_1": repeated}
            _, *shares = _count_names([story.prompt for story in drawn], own(drawn), known)
            true = dict(zip(("true_names_kept_1", "true_repeated_1"), shares, strict=True))
            rows.append({**label, "padding": "right", "step": 9, "stories": len(drawn), **numbers, **true})
    return pd.DataFrame(rows)


def own(stories: list[Story]) -> list[str]:
    return [story.end for story in stories]


def of_another(stories: list[Story]) -> list[str]:
    return [story.end for story in stories[1:] + stories[:1]]


def in_circles(stories: list[Story]) -> list[str]:
    """The last four words of the prompt, over and over."""
    return [" ".join((story.prompt.split()[-4:] * WRITTEN)[:WRITTEN]) for story in stories]


def prompt_again(stories: list[Story]) -> list[str]:
    """The words of the prompt in no order."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.permutation(story.prompt.split())) for story in stories]


def test_completions_that_go_on_well_and_the_words_of_the_prompt_in_no_order(shared_data) -> None:
    with lzma.open(shared_data(TALES), "rt", encoding="utf-8", newline="") as file:
        whole = file.read().split("<|endoftext|>")[:-1]
    held_out, read = ([story.split() for story in some] for some in (whole[:400], whole[400:]))
    stories = [
        Story(" ".join(words[:PROMPT]), " ".join(words[PROMPT : PROMPT + WRITTEN]))
        for words in held_out
        if len(words) >= PROMPT + WRITTEN
    ]
    text = "\n".join(" ".join(words) for words in read).encode()
    with patch(f"{completions.make.__module__}.training_text", lambda tokens: text):
        known = names.__wrapped__(Path())
    pairs = (own, of_another), (own, in_circles), (prompt_again, own)  # in the place of the mixer and of the Llama
    kept, circled, noise = (
        _after_the_same_time(completed(stories, known, {"flat": first, "llama-4": second})) for first, second in pairs
    )
    truth = replace(kept, parts=(kept.parts[0], circled.parts[1]))
    assert_as_in_ledger("001-29", truth, noise)


def _after_the_same_time(rows: pd.DataFrame) -> Finding:
    cost = rows[["run"]].drop_duplicates().assign(steps_done=9, seconds=20.0, counted_flops=1)
    return judging.judged("001-29", completions=rows, cost=cost)
