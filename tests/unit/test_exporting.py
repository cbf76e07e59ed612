"""Text from a trained run, and its folder for `transformers`: the same tokens and the same numbers as here."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.pipeline import generating
from allmlp.pipeline.exporting import card, hf
from allmlp.pipeline.exporting import tokenizer as exported_tokenizer
from allmlp.training.published import TrainedRun, load_trained_run
from tests import tiny
from tests.exported import WRITERS, trained

pytestmark = pytest.mark.usefixtures("here")


# --- allmlp generate


def write(made: TrainedRun, prompt: str, seeds: list[int]) -> list[str]:
    return generating.texts(made, prompt, tokens=30, temperature=1.0, seeds=seeds)


def test_a_text_goes_on_after_its_prompt_and_each_seed_has_its_own() -> None:
    made = trained("llama")
    texts = write(made, "Story 7", [3, 4, 3])
    assert texts[0] == texts[2] != texts[1]
    assert write(made, "Story 8", [3]) != texts[:1]
    assert generating.texts(made, "Story 7", tokens=0, temperature=1.0, seeds=[0]) == [""]


def test_a_prompt_that_is_no_text_is_refused() -> None:
    with pytest.raises(UserError, match=r"--prompt 'caf\\udce9': is not UTF-8"):
        write(trained("llama"), b"caf\xe9".decode(errors="surrogateescape"), [0])


def test_a_text_ends_with_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = torch.tensor([[104, 105, 256, 106], [104, 105, 106, 107]])
    monkeypatch.setattr(generating, "generate", lambda *_, **__: ids)
    assert write(trained("llama"), "a", [0, 1]) == ["hi", "hijk"]


@pytest.mark.parametrize(("task", "expected"), [("documents", [97]), ("next-token", [256, 97])])
def test_a_prompt_begins_a_document_as_in_training(task: str, expected: list[int]) -> None:
    run = trained("llama", task=task).run
    file = generating.text_tokenizer(run)
    assert generating.encode_prompt(run, file, "a") == expected
    assert generating.encode_prompt(run, file, "") == [256], "the model needs at least one token"


def test_a_run_that_writes_no_text_says_so() -> None:
    with pytest.raises(UserError, match=r"reads no text: its task is 'copying', without a corpus"):
        generating.text_tokenizer(tiny.run("llama"))
    with pytest.raises(UserError, match=r"does not write text: 'mixer-autoencoder' trained on 'autoencode'"):
        write(trained("mixer-autoencoder", task="autoencode"), "a", [0])


def test_checkpoints_that_are_not_here_name_what_brings_them() -> None:
    run = tiny.run("llama")
    with pytest.raises(UserError) as refused:
        load_trained_run(run)
    assert str(refused.value) == f"{run.folder}: is not here; `allmlp train {run.id}` makes them."
    Path(f"{run.folder}.dvc").parent.mkdir(parents=True)
    Path(f"{run.folder}.dvc").write_text("")
    with pytest.raises(
        UserError, match=rf"`dvc pull {run.folder}` fetches .*, or `allmlp train {run.id}` makes them\.$"
    ):
        load_trained_run(run)


# --- allmlp export


ALONE = """
import importlib, json, sys
assert "allmlp" not in sys.modules
import torch
from safetensors.torch import load_file
module = importlib.import_module(sys.argv[1])
config = json.load(open("exported/config.json"))
torch.manual_seed(0)
model = getattr(module, sys.argv[2])(**config["hyperparameters"]).eval()
weights = load_file("exported/model.safetensors")
weights = {name.removeprefix("model."): value for name, value in weights.items()}
assert not model.load_state_dict(weights, strict=False).missing_keys
tokens = torch.arange(model.context)[None]
print(json.dumps(model(tokens).tolist()))
assert not any(name == "allmlp" or name.startswith("allmlp.") for name in sys.modules)
"""


@pytest.mark.parametrize("architecture", WRITERS)
def test_the_sources_of_a_folder_are_the_model_without_allmlp(architecture: str, here: Path) -> None:
    made = trained(architecture)
    hf.write(made, here / "exported")
    module, _, name = models.REGISTRY[architecture].partition(":")
    words = [sys.executable, "-c", ALONE, f"exported.{module.rpartition('.')[2]}", name]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(here)})
    assert not done.returncode, done.stderr
    model = made.model()
    expected = model(torch.arange(model.context)[None])
    torch.testing.assert_close(torch.tensor(json.loads(done.stdout)), expected.detach())
    for file in (here / "exported").glob("*.py"):
        assert not re.search(r"^\s*(from|import) allmlp", file.read_text(), re.MULTILINE), file


@pytest.mark.parametrize("architecture", WRITERS)
def test_transformers_copies_all_source_files(architecture: str, here: Path) -> None:
    """It follows `from .file import name`, not `from . import file`."""
    copying = pytest.importorskip("transformers.dynamic_module_utils")
    hf.write(trained(architecture), here / "exported")
    copied = {Path(file).name for file in copying.get_relative_import_files(here / "exported/modeling_allmlp.py")}
    assert copied | {"modeling_allmlp.py"} == {file.name for file in (here / "exported").glob("*.py")}


def test_the_card_says_what_the_model_is_and_how_to_use_it(here: Path) -> None:
    made = trained("llama")
    files = hf.write(made, here / "exported")
    card = (here / "exported/README.md").read_text()
    for said in (made.run.id, "`llama`: vocabulary 257, context 10", "12 steps, seed 1", "5.4321 nats", "llama.py"):
        assert said in card, said
    assert "AutoTokenizer" in card
    assert {file.name for file in files} >= {"config.json", "model.safetensors", "tokenizer.json", "modeling_allmlp.py"}
    hf.write(trained("llama", "chunks"), here / "other")
    assert f"`allmlp generate {made.run.id.rpartition('-')[0]}" in (here / "other/README.md").read_text()
    assert not (here / "other/tokenizer.json").exists(), "transformers has no such kind"


def test_the_card_s_example_begins_as_the_texts_that_the_model_was_trained_on(here: Path) -> None:
    hf.write(trained("llama"), here / "exported")
    (said,) = re.findall(r'tokenizer\("(.*)", return', (here / "exported/README.md").read_text())
    assert re.fullmatch(r"Story \d+: the cat sat", said), said
    made = trained("llama")
    assert card._beginning(replace(made.run, corpus="stories")) == card._beginning(replace(made.run, corpus=None))
    assert card._beginning(replace(made.run, corpus="stories")) == "Once upon a time"


def test_a_folder_that_is_there_is_not_touched(here: Path) -> None:
    (here / "exported").mkdir()
    with pytest.raises(UserError, match=r"exported: is there already\. Remove it"):
        hf.write(trained("llama"), here / "exported")
    assert not list((here / "exported").iterdir())


@pytest.mark.parametrize("kind", ["bytes", "bpe"])
@pytest.mark.parametrize("task", ["documents", "next-token"])
def test_an_exported_tokenizer_gives_the_run_s_own_ids(kind: str, task: str, here: Path) -> None:
    library = pytest.importorskip("tokenizers")
    made = trained("llama", kind, task)
    file = generating.text_tokenizer(made.run)
    assert exported_tokenizer.write(made.run, file, here)
    read = library.Tokenizer.from_file(str(here / "tokenizer.json"))
    read.encode_special_tokens = True
    for text in ("Story 1", "größer 部屋 \x00\x7f\r\n\t ", "the <|endoftext|> of it", "  two  blanks "):
        assert read.encode(text).ids == generating.encode_prompt(made.run, file, text)
        assert read.decode(read.encode(text).ids, skip_special_tokens=True).endswith(text)


TRANSFORMERS = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
read = {}
for name in sys.argv[1:]:
    model = AutoModelForCausalLM.from_pretrained(name, trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
    whole = tokenizer("Story <|endoftext|>", return_tensors="pt")
    given = whole.input_ids
    how = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None}
    written = model.generate(given, **how)[0, given.shape[1] :]
    assert torch.equal(model.generate(**whole, **how)[0, given.shape[1] :], written)
    read[name] = {"given": given[0].tolist(), "written": written.tolist()}
    if model.config.predicts == "all":
        ids = given[:, : model.model.context]
        read[name]["loss"] = model(ids, labels=ids).loss.item()
assert not any(module.split(".")[0] == "allmlp" for module in sys.modules)
print(json.dumps(read))
"""


@pytest.mark.slow
def test_transformers_loads_every_architecture_and_writes_the_same(here: Path) -> None:
    made = {name: trained(name, "bpe") for name in WRITERS}
    for name, one in made.items():
        hf.write(one, here / "exported" / name)
    environment = {"HOME": str(here), "HF_HUB_OFFLINE": "1", "PATH": ""}
    words = [sys.executable, "-I", "-c", TRANSFORMERS, *(f"exported/{name}" for name in made)]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False, env=environment)
    assert not done.returncode, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "[transformers]" in line]
    assert all("exceeded the model's predefined maximum length" in line for line in warnings), warnings
    for name, one in made.items():
        read = json.loads(done.stdout)[f"exported/{name}"]
        file, model = generating.text_tokenizer(one.run), one.model()
        ids = generating.encode_prompt(one.run, file, "Story <|endoftext|>")
        assert read["given"] == ids
        written = generating.generate(model, ids, 12, temperature=0, pad=file.eod)[0].tolist()
        assert read["written"] == written, name
        if "loss" in read:
            rows = torch.tensor([ids[: model.context]])
            loss = torch.nn.functional.cross_entropy(model(rows)[0, :-1], rows[0, 1:])
            assert read["loss"] == pytest.approx(loss.item(), rel=1e-5)
