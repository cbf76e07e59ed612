"""Tokenizing, documents -> shards on disk, beside the `tokenizers` library's batch encoder called by hand.

    python benchmarks/tokenizing.py        about 40 s on 2 cores, Linux

Prints MB of UTF-8 text per second of both, alternated in one process on the same documents (by hand
gives lists of ids in memory; ours are shards with digests), their ratio, and the peak resident memory of
writing one and four times the corpus, each in its own process. Exits with 1 if ours is slower or grows.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer as Library

from allmlp.data.tokenizers import fit
from allmlp.data.tokenizers.specs import BPE
from allmlp.data.tokens import write_tokens

VOCABULARY = 4096
DOCUMENTS = 12_000  # about 10 MB
ROUNDS = 7
GROWTH = 1.15  # of peak memory, from one to four times the corpus


def documents(count: int) -> Iterator[str]:
    """English-like text: words of 2 to 9 letters by Zipf's law, 60 to 240 a document, made when read."""
    draw = random.Random(0)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(20_000)]
    weights = [0.0]
    for rank in range(len(words)):
        weights.append(weights[-1] + 1 / (rank + 3))
    for _ in range(count):
        chosen = draw.choices(words, cum_weights=weights[1:], k=draw.randint(60, 240))
        yield " ".join(word if draw.random() > 0.1 else f"{word.capitalize()}." for word in chosen)


def compare(folder: Path) -> float:
    """Print the speeds of both and return ours over theirs, the median over rounds."""
    texts = list(documents(DOCUMENTS))
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    tokenizer = fit(BPE(vocabulary=VOCABULARY, sample_documents=2000), texts)
    library = Library.from_file(str(tokenizer.save(folder)))
    hand, ours, work = [], [], []
    for number in range(ROUNDS):
        start, used = time.perf_counter(), time.process_time()
        ids = [encoding.ids for encoding in library.encode_batch(texts)]
        hand.append(megabytes / (time.perf_counter() - start))
        work.append(time.process_time() - used)
        start, used = time.perf_counter(), time.process_time()
        meta = write_tokens(iter(texts), tokenizer, folder / f"tokens-{number}", describe={})
        ours.append(megabytes / (time.perf_counter() - start))
        work[-1] /= time.process_time() - used
        assert meta["tokens"] == sum(map(len, ids)) + len(texts)
    ratio = statistics.median(a / b for a, b in zip(ours, hand, strict=True))
    print(f"{megabytes:.1f} MB, {len(texts):,} documents, vocabulary {VOCABULARY}, median of {ROUNDS} rounds")
    print(f"by hand   {statistics.median(hand):6.2f} MB/s   documents -> lists of ids in memory")
    print(f"allmlp    {statistics.median(ours):6.2f} MB/s   documents -> shards with digests on disk")
    # processor time is what other processes on this machine disturb least
    print(f"ratio     {ratio:6.2f}        of processor time, theirs over ours: {statistics.median(work):.2f}")
    return ratio


def write_once(folder: Path, times: int) -> None:
    """Write `times` the corpus from a stream, and print this process's peak memory in MB."""
    tokenizer = fit(BPE(vocabulary=VOCABULARY, sample_documents=2000), documents(2000))
    write_tokens(documents(times * DOCUMENTS), tokenizer, folder / "tokens", describe={})
    # not ru_maxrss, which a process inherits from the one that started it
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def peak(times: int) -> float:
    """Peak resident memory, in MB, of a process that writes `times` the corpus."""
    command = [sys.executable, __file__, "--write", str(times)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Run the comparison, then the two memory measurements."""
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:2] == ["--write"]:
            write_once(Path(folder), int(sys.argv[2]))
            return 0
        ratio = compare(Path(folder))
    one, four = peak(1), peak(4)
    print(f"peak memory, streaming: {one:.0f} MB at 1x, {four:.0f} MB at 4x the corpus ({four / one:.2f})")
    return 0 if ratio >= 1 and four <= GROWTH * one else 1


if __name__ == "__main__":
    sys.exit(main())
