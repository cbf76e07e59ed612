"""Pairs of a text of another corpus and its summary, written by a chat model (001's were by Llama-3-8B).

    corpora:
      tinystories-summaries: {source: summaries, texts_of: tinystories, base_url: "http://localhost:8000/v1",
                              model: llama-3-8b-instruct, tokenizer_of: tinystories}

Each answer is saved when it arrives, a JSON line by the text's digest, in work/summaries/<digest of model,
prompts>.jsonl: a killed call goes on where it was, and no text is paid for twice. The prompts are those of the
published code (retrieval_generation/gen.py; "brief ... summary" there).
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
from allmlp.data.corpora.addresses import Address
from allmlp.data.corpora.pairs import Pair, PairSource

RECIPE = 1
FOLDER = Path("work/summaries")
SYSTEM = "You are an assistant for creating summaries for short stories."
PROMPT = (
    "Give a brief summary of the following with no other output, do not begin with 'Here is a summary...'\n\n{text}"
)
SECONDS_BETWEEN = 10.0  # between progress lines


class SummaryPairs(PairSource):
    """Texts of the corpus `texts_of`, each with a summary by `model` at `base_url`."""

    source: Literal["summaries"]
    texts_of: str = Field(min_length=1, description="the corpus of text that is summarised")
    base_url: Address = Field(description="of an OpenAI-compatible endpoint, .../v1 usually")
    model: str = Field(min_length=1)
    system: str = SYSTEM
    prompt: str = Field(PROMPT, description="{text} stands for the text")
    max_tokens: int = Field(200, ge=1, description="of a summary")
    limit: int | None = Field(None, ge=1, description="use only the first so many texts")
    key_variable: str | None = Field(None, description="the environment variable that holds the endpoint's key")
    requests_per_minute: float = Field(60.0, gt=0)
    parallel: int = Field(4, ge=1, description="requests under way at a time")

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, prompt: str) -> str:
        if "{text}" not in prompt:
            raise ValueError("lacks {text}, which stands for the text to be summarised")
        return prompt

    def pairs(self, root: Path, texts: Iterable[str]) -> Iterator[Pair]:
        """The pairs, in the texts' order; missing summaries are requested from the endpoint."""
        from allmlp.data.corpora.pairs.endpoint import Endpoint  # requests: plans start without it

        name = paths.digest([self.model, self.system, self.prompt, self.max_tokens], 16)
        file = root / FOLDER / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with hold(file.with_suffix(".lock"), f"summaries {file.name}"), ThreadPoolExecutor(self.parallel) as pool:
            kept = SummaryCache(file)
            endpoint: Endpoint | None = None  # not needed, and no key, if every summary is there
            chosen = islice(texts, self.limit)
            while block := list(islice(chosen, self.parallel)):
                if missing := [text for text in dict.fromkeys(block) if text not in kept]:
                    endpoint = endpoint or Endpoint(
                        self.base_url, self.model, self.key_variable, self.requests_per_minute
                    )
                    for job in [pool.submit(self._summarise, endpoint.answer, text, kept) for text in missing]:
                        job.result()
                yield from (Pair(kept[text], text) for text in block)

    def _summarise(self, answer: Callable[[str, str, int], str], text: str, kept: "SummaryCache") -> None:
        kept.add(text, answer(self.system, self.prompt.replace("{text}", text), self.max_tokens))


class SummaryCache:
    """Summaries by their text's digest, in a file of JSON lines that each answer is added to at once."""

    def __init__(self, file: Path) -> None:
        self.file, self._lock, self._said = file, threading.Lock(), time.monotonic()
        self._by_digest: dict[str, str] = {}
        lines = file.read_bytes().splitlines(keepends=True) if file.is_file() else []
        if lines and not lines[-1].endswith(b"\n"):  # cut off by a kill: it will be requested again
            paths.write_atomically(file, b"".join(lines[:-1]))
            lines.pop()
        for number, line in enumerate(lines, 1):
            try:
                row = formats.check_format("summary", f"{file}:{number}", formats.parse_json(line))
                self._by_digest[row["text_sha256"]] = row["summary"]
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{file}:{number}: damaged ({error!r}). Remove this line and run again.") from None

    def __contains__(self, text: str) -> bool:
        return _digest(text) in self._by_digest

    def __getitem__(self, text: str) -> str:
        return self._by_digest[_digest(text)]

    def add(self, text: str, summary: str) -> None:
        """Save one summary to disk before adding it to memory."""
        line = json.dumps({"text_sha256": _digest(text), "summary": summary}, ensure_ascii=False) + "\n"
        with self._lock, self.file.open("ab") as stream:
            stream.write(line.encode("utf-8", "backslashreplace"))
            stream.flush()
            os.fsync(stream.fileno())
            self._by_digest[_digest(text)] = summary
            if time.monotonic() - self._said > SECONDS_BETWEEN:
                self._said = time.monotonic()
                print(f"{len(self._by_digest):,} summaries in {self.file}", flush=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
