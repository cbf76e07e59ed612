"""`--format hf`: a trained language model as a folder that `transformers` loads.

The folder holds the architecture's own source files (`sources`), so it works where allmlp is not installed; the
tokenizer, where `transformers` has one of its kind (`tokenizer`); and a card made from what was measured (`card`).
"""

import json
import shutil
from pathlib import Path
from typing import Any

from allmlp import models
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.data.tokens.folders import partial_folder
from allmlp.models.base import SequenceModel
from allmlp.pipeline.exporting import card, sources, tokenizer
from allmlp.pipeline.generating import check, text_tokenizer
from allmlp.training.published import TrainedRun
from allmlp.training.storage import write_tensors

DTYPE = "float32"


def write(trained: TrainedRun, folder: Path) -> list[Path]:
    """Write the folder, whole or not at all; returns its files. UserError if it is there, or no text can be written."""
    if folder.exists():
        raise UserError(f"{folder}: is there already. Remove it, or give another folder with --to.")
    run, file, model = trained.run, text_tokenizer(trained.run), trained.model()
    check(run, model, file)
    module, _, architecture = models.REGISTRY[run.architecture].partition(":")
    with partial_folder(folder) as partial:
        has_tokenizer = tokenizer.write(run, file, partial)
        names = sources.write(module, architecture, partial)
        config = _config(trained, model, file.eod)
        tensors = dict(model.named_buffers()) | model.state_dict()  # with tables that are no weights
        write_tensors(partial / "model.safetensors", {f"model.{name}": value for name, value in tensors.items()})
        _write_json(partial / "config.json", config)
        _write_json(partial / "generation_config.json", {"eos_token_id": file.eod, "use_cache": config["has_memory"]})
        (partial / "README.md").write_text(card.text(trained, file, folder, names, has_tokenizer), encoding="utf-8")
        shutil.copyfile(paths.project() / "LICENSE", partial / "LICENSE")  # of the source files
        partial.rename(folder)
    return sorted(folder.iterdir())


def _config(trained: TrainedRun, model: SequenceModel, eod: int) -> dict[str, object]:
    run = trained.run
    return {
        "model_type": "allmlp",
        "architectures": ["AllMLPForCausalLM"],
        "auto_map": {
            "AutoConfig": f"{sources.REMOTE}.AllMLPConfig",
            "AutoModelForCausalLM": f"{sources.REMOTE}.AllMLPForCausalLM",
        },
        "run": run.id,
        "architecture": run.architecture,
        "hyperparameters": run.hyperparameters,
        "predicts": model.predicts,
        "vocab_size": run.hyperparameters["vocabulary"],
        "eos_token_id": eod,
        "pad_token_id": eod,
        "tie_word_embeddings": False,  # ties are the architecture's own
        "max_position_embeddings": model.context,
        "hidden_size": run.hyperparameters["d_model"],
        "num_hidden_layers": len(list(model.get_submodule("blocks").children())),
        "has_memory": _has_memory(model),
        "dtype": DTYPE,
    }


def _has_memory(model: SequenceModel) -> bool:
    """Can it go on token after token? One that leaks from left padding refuses to."""
    stepping: Any = model  # the type of models without a memory has no `start`
    if not (model.causal and model.predicts == "all" and hasattr(model, "step")):
        return False
    try:
        stepping.start(1)
    except UserError:
        return False
    return True


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
