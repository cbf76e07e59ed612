"""What transformers, Trainer, PEFT and lm-eval ask of an exported folder; each alone in a process without allmlp."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allmlp import models
from allmlp.pipeline.exporting import hf
from tests.exported import WRITERS, trained

pytestmark = pytest.mark.usefixtures("here")


FIELD = """
import os, sys, torch
sys.path[:0] = os.environ.get("TOOLS", "").split(os.pathsep)
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, pipeline
def load(name, **how):
    return AutoModelForCausalLM.from_pretrained(name, trust_remote_code=True, **how).eval()
"""
MODEL = """
for name in sys.argv[1:]:
    model, tokenizer = load(name), AutoTokenizer.from_pretrained(name, trust_remote_code=True)
    config, texts, context = model.config, ["a", "a b c", "a b"], model.model.context
    assert config.num_hidden_layers >= 1 and config.hidden_size >= 8 and config.max_position_embeddings == context
    assert model.get_input_embeddings().weight.shape[0] == config.vocab_size
    how = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None}
    alone = [model.generate(**tokenizer(text, return_tensors="pt"), **how)[0, -12:].tolist() for text in texts]
    padded = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left")
    assert not padded.attention_mask.all()
    for cached in (True, False):
        short = {**how, "max_new_tokens": context - padded.input_ids.shape[1], "use_cache": cached}
        for row, text in zip(model.generate(**padded, **short), alone):
            n = short["max_new_tokens"]
            assert row[-n:].tolist() == text[:n], (name, cached)
    rows = model.generate(**padded, **how)
    assert [row[-12:].tolist() for row in rows] == alone, name
    beams = {**how, "max_new_tokens": 2, "num_beams": 2}
    assert torch.equal(model.generate(**padded, **beams), model.generate(**padded, **beams, use_cache=False)), name
    for side in ("left", "right"):
        padded = tokenizer(texts, return_tensors="pt", padding=True, padding_side=side)
        logits = model(**padded).logits
        for row, mask, text in zip(logits, padded.attention_mask.bool(), texts):
            one = model(**tokenizer(text, return_tensors="pt")).logits[0]
            torch.testing.assert_close(row if config.predicts == "last" else row[mask], one)
    whole = torch.arange(context)[None]
    for cause, error in ((lambda: model(whole, output_hidden_states=True), "output_hidden_states: this model does not"),
                         (lambda: model(torch.zeros(1, context + 1, dtype=int)), f"reads at most {context}")):
        try:
            cause()
        except ValueError as refused:
            assert type(refused) is ValueError and error in str(refused)
        else:
            raise SystemExit(f"{name}: not refused: {error}")
    with torch.no_grad():
        exact, half = model(whole).logits, load(name, dtype=torch.bfloat16)
        assert next(half.parameters()).dtype == torch.bfloat16
        assert all(table.dtype != torch.bfloat16 for table in half.buffers()), name
        off = (half(whole).logits.float() - exact).norm() / exact.norm()
        assert off < 0.03, (name, off)
        assert half.generate(whole[:, :3], **how).shape == (1, 15)
    lengths = []
    watched = model.model.register_forward_pre_hook(lambda module, given: lengths.append(given[0].shape[1]))
    for cached in (False, True):
        lengths.append(0)
        model.generate(whole[:, :3], **how, use_cache=cached)
    watched.remove()
    again = lengths.index(0, 1)
    assert not config.has_memory or sum(lengths[again:]) < sum(lengths[:again]) / 2, (name, lengths)
    written = pipeline("text-generation", model=model, tokenizer=tokenizer)
    short = {"max_new_tokens": 4, "do_sample": False, "batch_size": 1}
    batched = [one[0]["generated_text"] for one in written(texts, **{**short, "batch_size": 3})]
    assert batched == [written(text, **short)[0]["generated_text"] for text in texts], name
    if config.predicts == "all":
        padded = DataCollatorForLanguageModeling(tokenizer, mlm=False)([dict(tokenizer(text)) for text in texts])
        alone = [tokenizer(text, return_tensors="pt").input_ids for text in texts]
        losses = [model(ids, labels=ids, num_items_in_batch=1).loss for ids in alone if ids.shape[1] > 1]
        count = sum(ids.shape[1] - 1 for ids in alone)
        torch.testing.assert_close(model(**padded, num_items_in_batch=count).loss, sum(losses) / count)
        rows = whole.repeat(4, 1).roll(1, 1)
        count = torch.tensor(rows[:, 1:].numel())
        parts = [model(part, labels=part, num_items_in_batch=count).loss for part in rows.split(2)]
        torch.testing.assert_close(sum(parts), model(rows, labels=rows).loss)
        half.train()(whole, labels=whole).loss.backward()
        assert all(torch.isfinite(weight.grad).all() for weight in half.parameters() if weight.grad is not None)
assert not any(module.split(".")[0] == "allmlp" for module in sys.modules)
"""
TRAINER = """
from transformers import Trainer, TrainingArguments, set_seed
name, losses = sys.argv[1], {}
rows = [{"input_ids": torch.arange(n) + n, "labels": torch.arange(n) + n} for n in [5, 9, 7, 4] * 8]
def collate(batch):
    T = max(len(row["input_ids"]) for row in batch)
    sides = lambda n: (n, 0) if side == "left" else (0, n)
    pad = lambda row, value: torch.nn.functional.pad(row, sides(T - len(row)), value=value)
    return {"input_ids": torch.stack([pad(row["input_ids"], 256) for row in batch]),
            "labels": torch.stack([pad(row["labels"], -100) for row in batch]),
            "attention_mask": torch.stack([pad(torch.ones_like(row["labels"]), 0) for row in batch])}
for side in ("right", "left"):
    for optimiser, rate in (("sgd", 0.1), ("adamw_torch", 1e-3)):
        tolerance = 1e-4 if side == "right" else 0.02  # Trainer also counts tokens that padding would predict
        for accumulation in (1, 2, 8):
            set_seed(0)
            arguments = TrainingArguments("trained", per_device_train_batch_size=8 // accumulation, max_steps=4,
                gradient_accumulation_steps=accumulation, logging_steps=1, report_to=[], use_cpu=True,
                save_strategy="no", remove_unused_columns=False, disable_tqdm=True, learning_rate=rate, optim=optimiser)
            trainer = Trainer(load(name), arguments, train_dataset=rows, data_collator=collate)
            trainer.train()
            losses[accumulation] = [row["loss"] for row in trainer.state.log_history if "loss" in row]
        assert len(losses[1]) == 4
        for accumulation in (2, 8):
            off = (torch.tensor(losses[1]) - torch.tensor(losses[accumulation])).abs().max()
            assert off < tolerance, (side, optimiser, accumulation, off)
tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
ragged = [dict(tokenizer(text)) for text in ("a", "a b c d", "a b")]
arguments = TrainingArguments("trained", per_device_train_batch_size=3, max_steps=1, logging_steps=1, report_to=[],
    use_cpu=True, save_strategy="no", disable_tqdm=True)
pads = DataCollatorForLanguageModeling(tokenizer, mlm=False)  # as the tokenizer says
trainer = Trainer(load(name), arguments, train_dataset=ragged, data_collator=pads, processing_class=tokenizer)
trainer.train()
one_by_one = load(name)
whole = [torch.tensor([row["input_ids"]]) for row in ragged if len(row["input_ids"]) > 1]
losses = [one_by_one(ids, labels=ids, num_items_in_batch=1).loss for ids in whole]
count = sum(len(row["input_ids"]) - 1 for row in ragged)
assert abs(trainer.state.log_history[0]["loss"] - float(sum(losses)) / count) < 1e-4
side = "right"
model, batch = load(name), collate(rows[:4])
moved = {key: torch.stack([row.roll(int((mask == 0).sum())) for row, mask in zip(value, batch["attention_mask"])])
         for key, value in batch.items()}
torch.testing.assert_close(model(**moved).loss, model(**batch).loss)
"""
PEFT = """
from peft import LoraConfig, get_peft_model
for name in sys.argv[1:]:
    model, whole = load(name), torch.arange(10)[None]
    before = model(whole).logits
    adapted = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=2, target_modules="all-linear"))
    torch.testing.assert_close(adapted(whole).logits, before)
    adapted(whole, labels=whole).loss.backward()
    grads = [weight.grad for weight in adapted.parameters() if weight.requires_grad]
    assert grads and all(grad is not None for grad in grads), name
    assert adapted.generate(input_ids=whole[:, :3], max_new_tokens=4, eos_token_id=None).shape == (1, 7)
"""
HARNESS = """
import json
from pathlib import Path
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
Path("tasks").mkdir()
rows = [{"text": text, "answer": answer} for text, answer in [("one", " 1"), ("a two", " 2"), ("of three", " 3")]]
Path("tasks/rows.jsonl").write_text("".join(json.dumps(row) + chr(10) for row in rows))
data = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(Path("tasks/rows.jsonl").resolve())}},
    "test_split": "test", "doc_to_text": "{{text}}", "doc_to_target": "{{answer}}"}
Path("tasks/chosen.yaml").write_text(json.dumps({**data, "task": "chosen", "output_type": "multiple_choice",
    "doc_to_choice": [" 1", " 2", " 3"], "metric_list": [{"metric": "acc"}]}))
Path("tasks/written.yaml").write_text(json.dumps({**data, "task": "written", "output_type": "generate_until",
    "generation_kwargs": {"until": ["."], "max_gen_toks": 4}, "metric_list": [{"metric": "exact_match"}]}))
found = {}
for batch in (1, 3):
    model = HFLM(pretrained=sys.argv[1], trust_remote_code=True, device="cpu", batch_size=batch, dtype="float32")
    assert model.max_length == load(sys.argv[1]).model.context
    done = simple_evaluate(model, tasks=["chosen", "written"], log_samples=True, bootstrap_iters=0,
        task_manager=TaskManager(include_path="tasks", include_defaults=False))
    found[batch] = {name: [row["resps"] for row in rows] for name, rows in done["samples"].items()}
assert found[1]["written"] == found[3]["written"]
assert all(resps[0][0] for resps in found[1]["written"])
for one, three in zip(found[1]["chosen"], found[3]["chosen"], strict=True):
    for (a,), (b,) in zip(one, three, strict=True):
        assert abs(float(a[0]) - float(b[0])) < 1e-4
"""
NEEDS = {"transformers": MODEL, "accelerate": TRAINER, "peft": PEFT, "lm_eval": HARNESS}


@pytest.mark.slow
@pytest.mark.parametrize("package", NEEDS)
def test_the_field_s_tools_take_every_architecture(package: str, here: Path) -> None:
    """`TOOLS`: folders with packages that the environment lacks (`pip install --target`)."""
    tools = os.environ.get("TOOLS", "")
    if not importlib.util.find_spec(package) and not any((Path(of) / package).is_dir() for of in tools.split(":")):
        pytest.skip(f"needs {package}: `pip install --target FOLDER {package}`, and TOOLS=FOLDER")
    predict_all = [name for name in WRITERS if models.load(name).predicts == "all"]
    names = {"transformers": WRITERS, "peft": predict_all}.get(package, ["masked-mixer"])
    for name in names:
        hf.write(trained(name, *(["bpe"] if package == "transformers" else [])), here / "exported" / name)
    environment = {"HOME": str(here), "HF_HUB_OFFLINE": "1", "PATH": "", "TOOLS": tools, "HF_DATASETS_OFFLINE": "1"}
    words = [sys.executable, "-I", "-c", FIELD + NEEDS[package], *(f"exported/{name}" for name in names)]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False, env=environment)
    assert not done.returncode, done.stderr
