"""A corpus streamed from a server that speaks the Hub's protocol, by the real library and the real command.

Text of 180 MB, because a shard has 2^27 tokens: with bytes as tokens the first is full within the fourth of five files.
"""

import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from allmlp.data.tokens import TokenFile
from tests import hub
from tests.conftest import call, environment

CORPUS = "corpora: {{mine: {{source: hub, name: {name}, revision: {revision}, tokenizer: {{kind: bytes}}}}}}\n"
PER_FILE = 900  # documents of 40,000 characters
WORDS = ("allmlp", "tokenize", "mine", "--params", "my.yaml")
PATIENCE_S = 300


def texts(number: int) -> list[str]:
    return [f"{number}, {place}: the cat sat on the mat and was happy.\n".ljust(80) * 500 for place in range(PER_FILE)]


def killed_when_a_shard_is_finished(clone: Path, **env: str) -> None:
    """The command, killed as soon as its first shard is recorded; the server holds back the file after it."""
    process = subprocess.Popen(
        WORDS, cwd=clone, env={**environment(clone), **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + PATIENCE_S
    while not list((clone / "results/tokens").glob(".mine-*.unfinished.json")):
        assert process.poll() is None, "it ended before a shard was finished"
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("name", hub.KINDS)
def test_cut_killed_and_damaged_streams_give_the_same_tokens(clone: Path, name: str) -> None:
    files = hub.files(name, [texts(number) for number in range(5)])
    part = [path for path in files if path != "README.md"]
    (clone / "my.yaml").write_text(CORPUS.format(name=name, revision=hub.REVISION))
    tokens = clone / "results/tokens"
    with hub.Hub(name, dict(files)) as served:
        env = {"HF_ENDPOINT": served.endpoint, "HF_HOME": str(clone / "work/hub"), "no_proxy": "127.0.0.1"}
        undisturbed = call(clone, *WORDS, **env).stdout
        (folder,) = tokens.iterdir()
        expected = (folder / "meta.json").read_bytes()
        shutil.rmtree(tokens)

        served.cut, served.measurements_by_run = [part[1]], [part[4]]
        killed_when_a_shard_is_finished(clone, **env)
        assert served.cut == []
        served.release.set()
        kept = (tokens / f".{folder.name}.unfinished").glob("*.arrow")
        finished = {path.name: path.stat().st_mtime_ns for path in kept}
        assert sorted(finished) == ["train-00000.arrow", "validation-00000.arrow"]

        whole = files[part[4]]
        served.files[part[4]] = whole[: len(whole) // 2] + bytes(1000) + whole[len(whole) // 2 + 1000 :]
        served.asked.clear()
        damaged = call(clone, *WORDS, ok=False, **env)
        assert damaged.returncode == 2
        said = damaged.stderr
        assert f"hub corpus {name}" in said
        assert re.search(rf"hf://\S*/{part[4]} cannot be read: .* Run again\. If it says the same", said), said
        assert "1 shard is finished and kept in" in said

        served.files[part[4]] = whole
        resumed = call(clone, *WORDS, **env).stdout
        assert served.transfers(part[1]) == served.transfers(part[2]) == []
        assert "goes on after finished shards: 1, 1" in resumed
        assert resumed.splitlines()[-1] == undisturbed.splitlines()[-1]
        assert (folder / "meta.json").read_bytes() == expected
        assert {name: (folder / name).stat().st_mtime_ns for name in finished} == finished
        assert [path.name for path in tokens.iterdir()] == [folder.name]
    made = TokenFile(folder)
    assert json.loads(expected)["dtype"] == "uint16"
    assert made.decode(made.documents("train")[-1]).startswith(("4, 899", "4, 898", "4, 897"))
    shutil.rmtree(folder)  # 360 MB
