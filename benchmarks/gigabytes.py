"""`allmlp tokenize` on gigabytes of text: MB/s, and how its memory and its files grow.

    python benchmarks/gigabytes.py                                about 3 minutes on 2 cores, Linux
    python benchmarks/gigabytes.py --gigabytes 0.5 5 --write      20 to 40 minutes, 6 GB of disk in a temporary folder

The command itself reads .jsonl.gz files, as C4 has them, and writes tokens of a BPE of 32,000 types, the tokenizer of
C4 here, trained on the first 20,000 documents. Documents are words by Zipf's law with a tail of 200,000: no two are the
same, and many words are not in the tokenizer's cache. Prints for each size MB of UTF-8 text per second, the processor
time of all threads and of the one that reads and writes, the peak of resident memory and the bytes of tokens. `--write`
keeps them in benchmarks/gigabytes.json, which docs/corpora.md quotes. Exits with 1 if the peak grows.
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from allmlp.common import paths

KEPT = Path(__file__).with_suffix(".json")
WORDS, LONGEST = 200_000, 12
PER_FILE = 50_000  # documents, about 70 MB of text
CORPUS = """corpora:
  big:
    source: local
    files: "text/*.jsonl.gz"
    field: text
    tokenizer: {kind: bpe, vocabulary: 32000, sample_documents: 20000}
"""
GROWTH = 1.15  # of peak memory, from the first size to the last


def documents(draw: np.random.Generator) -> Iterator[str]:
    """Endless: 60 to 400 words a document, the k-th word with a probability of 1 / (k + 3)."""
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    lengths = draw.integers(2, LONGEST, WORDS)
    words = ["".join(draw.choice(letters, length)) for length in lengths]
    words = [word if number % 10 else f"{word.capitalize()}." for number, word in enumerate(words)]
    upto = np.cumsum(1 / (np.arange(WORDS) + 3))
    while True:
        sizes = draw.integers(60, 400, 1000)
        chosen = iter(np.searchsorted(upto, draw.random(sizes.sum()) * upto[-1]).tolist())
        yield from (" ".join([words[next(chosen)] for _ in range(size)]) for size in sizes)


def write(folder: Path, size: float) -> float:
    """.jsonl.gz files of `size` bytes of text or a little more. Returns the bytes."""
    texts, written, number = documents(np.random.default_rng(0)), 0, 0
    folder.mkdir()
    while written < size:
        with gzip.open(folder / f"{number:05d}.jsonl.gz", "wt", compresslevel=1, encoding="utf-8") as file:
            for _ in range(PER_FILE):
                text = next(texts)
                file.write(f'{{"text": "{text}", "url": "none"}}\n')
                written += len(text)
                if written >= size:
                    break
        number += 1
    return written


def processor_seconds() -> float:
    """Of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ticks(pid: int) -> int:
    """Processor time of a process's first thread, which reads and writes while the others encode; 0 once it ended."""
    try:
        fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def tokenized(project: Path) -> dict[str, Any]:
    """The command's seconds, its peak of resident memory in MB, and what it wrote."""
    environment = {**os.environ, "ALLMLP_PROJECT": str(project)}
    command = [sys.executable, "-m", "allmlp", "tokenize", "big", "--params", "big.yaml"]
    start, used, peak, first = time.perf_counter(), processor_seconds(), 0, 0
    process = subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.DEVNULL)
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:  # not ru_maxrss, which a process inherits from the one that started it
        found = status.read_text().partition("VmHWM:")[2].split()
        peak = max(peak, int(found[0])) if found else peak
        first = max(first, ticks(process.pid))
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"allmlp tokenize ended with {process.returncode}")
    seconds, used = time.perf_counter() - start, processor_seconds() - used
    (meta,) = (json.loads(path.read_text()) for path in project.glob("results/tokens/big-*/meta.json"))
    return {
        "bytes": meta["bytes"],
        "documents": meta["documents"],
        "tokens": meta["tokens"],
        "bytes_on_disk": sum(meta["sizes"].values()),
        "seconds": round(seconds, 1),
        "processor_seconds": round(used, 1),
        "of_the_first_thread": round(first / os.sysconf("SC_CLK_TCK"), 1),
        "peak_mb": round(peak / 1024),
    }


def measured(gigabytes: float) -> dict[str, Any]:
    """One size, in a project of its own that is removed."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "Snakefile").touch()
        for name in ("params.yaml", "config", "corpora.lock"):
            (project / name).symlink_to(paths.project() / name)
        (project / "big.yaml").write_text(CORPUS)
        write(project / "text", gigabytes * 1e9)
        found = tokenized(project)
    speed = found["bytes"] / 1e6 / found["seconds"]
    print(
        f"{found['bytes'] / 1e9:5.2f} GB  {found['documents']:>9,} documents  {speed:6.2f} MB/s  "
        f"processor {found['processor_seconds']:.0f} s, of the first thread {found['of_the_first_thread']:.0f}  "
        f"peak {found['peak_mb']:,} MB  tokens {found['bytes_on_disk'] / 1e9:.2f} GB",
        flush=True,
    )
    return found


def main() -> int:
    """Measure each size, the smallest first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.05, 0.5])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    found = [measured(size) for size in sorted(asked.gigabytes)]
    if asked.write:
        kept = {"cores": len(os.sched_getaffinity(0)), "sizes": found}
        paths.write_atomically(KEPT, json.dumps(kept, indent=1) + "\n")
    return 0 if found[-1]["peak_mb"] <= GROWTH * found[0]["peak_mb"] else 1


if __name__ == "__main__":
    sys.exit(main())
