"""Published runs with random weights, to be exported and read elsewhere."""

from dataclasses import replace
from pathlib import Path

import torch

from allmlp import models
from allmlp.common import paths
from allmlp.data import tokenizers
from allmlp.data import tokens as writing
from allmlp.data.tokenizers.specs import BPE, Bytes, Chunks
from allmlp.spec.run import Run
from allmlp.training.published import TrainedRun
from allmlp.training.storage import write_json, write_tensors
from tests import tiny

TEXTS = [f"Story {number}: the cat sat on mat <|endoftext|> number {number * number}.\n" for number in range(200)]
KINDS = {"bytes": Bytes(), "bpe": BPE(vocabulary=300), "chunks": Chunks(length=1)}
WRITERS = sorted(name for name in models.REGISTRY if models.load(name).causal or name in ("mlp", "gpt2-last"))
WRITERS = [name for name in WRITERS if name != "hand-coded-addition" and name != "constant-attention"]


def trained(architecture: str, kind: str = "bytes", task: str = "next-token", **changes: object) -> TrainedRun:
    """A published run with random weights on a text."""
    writing.write_tokens(TEXTS, tokenizers.fit(KINDS[kind], TEXTS), Path(f"results/tokens/{kind}-0"), describe={})
    vocabulary = writing.TokenFile(Path(f"results/tokens/{kind}-0")).vocabulary
    sizes = {**tiny.SIZES.get(architecture, tiny.COPYING), "vocabulary": vocabulary}
    run = replace(
        tiny.run(architecture), hyperparameters=sizes, task=task, tokens=f"{kind}-0", corpus="own-stories", **changes
    )  # type: ignore[arg-type]
    torch.manual_seed(5)
    publish(run, models.build(architecture, **sizes).state_dict())
    return TrainedRun(run)


def publish(run: Run, weights: dict[str, torch.Tensor]) -> None:
    files = {"final.safetensors": write_tensors(run.folder / "final.safetensors", weights)}
    ending = {"steps_done": 12, "diverged": False, "validation_loss": 5.4321}
    write_json(run.folder / "run.json", {"ending": ending})
    files["run.json"] = paths.file_sha256(run.folder / "run.json")
    write_json(run.folder / "manifest.json", files)
