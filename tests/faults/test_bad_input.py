"""Bad input ends with one clear message and a status other than 0; nothing is lost, nothing half-written."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import call, edit, environment, git, small_clone


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_clone(tmp_path_factory.mktemp("bad") / "clone")


def overlay(clone: Path, corpus: dict, steps: int = 3, batch_size: int = 4) -> str:
    """A file that trains the language study's smoke run on a corpus of the user's own."""
    corpus = {"source": "local", "tokenizer": {"kind": "bytes"}, **corpus}
    smoke = {"corpus": "mine", "steps": steps, "batch_size": batch_size}
    content = {"corpora": {"mine": corpus}, "studies": {"language": {"scales": {"smoke": smoke}}}}
    (clone / "my.yaml").write_text(json.dumps(content))
    return "my.yaml"


def refused(clone: Path, *words: str, code: int = 2, **more: str) -> str:
    """Run a command that must be refused. Returns its one message."""
    done = call(clone, *words, ok=False, **more)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_unknown_parameter(clone: Path) -> None:
    (clone / "my.yaml").write_text("studies:\n  copying:\n    stesp: 3\n")
    for words in (
        ("allmlp", "plan", "--params", "my.yaml"),
        ("snakemake", "-n", "--configfile", "params.yaml", "my.yaml"),
    ):
        assert "my.yaml:3: unknown key 'stesp' in studies.copying. Did you mean 'steps'?" in refused(clone, *words)


def test_two_studies_at_once(clone: Path) -> None:
    said = refused(clone, "snakemake", "-n", "--config", "study=[quadrature,copying]")
    assert "study=['quadrature', 'copying']: give one study" in said


def test_scale_given_singly(clone: Path) -> None:
    assert "scale is 'desktop'" in refused(clone, "snakemake", "-n", "--config", "scale=desktop")


@pytest.mark.parametrize(
    ("name", "content", "corpus", "said"),
    [
        (None, b"", {"files": ["data/none/*.txt"]}, "data/none/*.txt"),
        ("data/empty.txt", b"", {"files": ["data/empty.txt"]}, "empty"),
        ("data/latin.txt", b"caf\xe9 au lait. " * 20, {"files": ["data/latin.txt"]}, "latin.txt"),
        (
            "data/rows.jsonl",
            b'{"text": "one"}\n{"body": "two"}\n',
            {"files": ["data/rows.jsonl"], "field": "text"},
            "rows.jsonl:2",
        ),
        ("data/cut.xz", b"\xfd7zXZ\x00\x00\x04", {"files": ["data/cut.xz"]}, "cut.xz"),
    ],
)
def test_a_corpus_that_cannot_be_read(clone: Path, name: str | None, content: bytes, corpus: dict, said: str) -> None:
    if name:
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_bytes(content)
    message = refused(clone, "allmlp", "tokenize", "mine", "--params", overlay(clone, corpus))
    assert said in message
    assert not list((clone / "results").glob("tokens/mine-*"))
    assert "mine" not in (clone / "corpora.lock").read_text() if (clone / "corpora.lock").is_file() else True


def lines(clone: Path, count: int) -> None:
    (clone / "data").mkdir(exist_ok=True)
    (clone / "data/good.txt").write_text(
        "".join(f"Story {n}: a cat sat on mat {n * n}.\n<|end|>\n" for n in range(count))
    )


GOOD = {"files": ["data/good.txt"], "separator": "<|end|>"}


@pytest.mark.slow
def test_a_corpus_smaller_than_one_batch(clone: Path) -> None:
    lines(clone, 30)
    file = overlay(clone, GOOD, batch_size=100_000)
    call(clone, "allmlp", "tokenize", "mine", "--params", file)
    run = language_run(clone, file)
    assert "are fewer than one batch of 100000" in refused(clone, "allmlp", "train", run, "--params", file)
    assert not (clone / "results/checkpoints" / run).exists()


def language_run(clone: Path, file: str) -> str:
    plan = json.loads(call(clone, "allmlp", "plan", "--format", "json", "--params", file).stdout)
    return next(run["run"] for run in plan["runs"] if run["study"] == "language")


@pytest.mark.slow
def test_a_truncated_shard(clone: Path) -> None:
    lines(clone, 40)
    file = overlay(clone, GOOD)
    call(clone, "allmlp", "tokenize", "mine", "--params", file)
    shard = max((clone / "results/tokens").glob("mine-*/train-*.arrow"), key=lambda path: path.stat().st_mtime)
    shard.write_bytes(shard.read_bytes()[:-100])
    message = refused(clone, "allmlp", "train", language_run(clone, file), "--params", file)
    assert shard.name in message
    assert "allmlp tokenize" in message


@pytest.mark.slow
def test_a_flipped_byte_in_a_checkpoint_stops_the_measure(clone: Path) -> None:
    run = next(
        r["run"]
        for r in json.loads(call(clone, "allmlp", "plan", "--format", "json").stdout)["runs"]
        if r["study"] == "quadrature"
    )
    call(clone, "allmlp", "train", run)
    path = clone / "results/checkpoints" / run / "final.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    message = refused(clone, "allmlp", "measure", run)
    assert f"results/checkpoints/{run}/final.safetensors: sha256 is" in message
    assert not list((clone / "work/measurements/quadrature/neurons").glob("*"))


def test_a_full_disk_while_tokenizing(clone: Path) -> None:
    lines(clone, 3000)
    file = overlay(clone, GOOD)

    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(
        [str(Path(sys.executable).parent / "allmlp"), "tokenize", "mine", "--params", file],
        cwd=clone, env=environment(clone), capture_output=True, text=True, preexec_fn=small_files_only,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr


def test_no_gpu_is_said_before_anything_runs(clone: Path) -> None:
    plan = json.loads(call(clone, "allmlp", "plan", "--format", "json", "--device", "cuda").stdout)
    run = next(run["run"] for run in plan["runs"] if run["study"] == "copying")
    message = refused(clone, "allmlp", "train", run, "--device", "cuda", CUDA_VISIBLE_DEVICES="")
    assert "no CUDA device" in message
    assert "device=cpu" in message


@pytest.mark.slow
def test_a_damaged_measurement_is_reported(clone: Path) -> None:
    edit(clone, "config/quadrature/smoke.yaml", "seeds: [0]", "seeds: [5]")
    run = next(
        r["run"]
        for r in json.loads(call(clone, "allmlp", "plan", "--format", "json").stdout)["runs"]
        if r["study"] == "quadrature"
    )
    call(clone, "allmlp", "train", run)
    call(clone, "allmlp", "measure", run)
    call(clone, "allmlp", "select")
    (file,) = (clone / "results/measurements/quadrature/neurons").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    assert f"{file}: its bytes are not those that its name is the digest of" in refused(clone, "allmlp", "judge")
    git(clone, "checkout", "--quiet", "config")
