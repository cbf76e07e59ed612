"""`--format hf`: a trained language model as a folder that `transformers` loads.

The folder holds the architecture's own source files (`sources`), so it works where allmlp is not installed; the
tokenizer, where `transformers` has one of its kind (`tokenizer`); and a card made from what was measured (`card`).
"""

import json
import shutil
from pathlib import Path

from allmlp import models, paths
from allmlp.errors import UserError
from allmlp.exporting import card, sources, tokenizer
from allmlp.generating import check, text_of
from allmlp.tokens.folders import partial_folder
from allmlp.training.storage import write_tensors
from allmlp.training.trained import Trained

DTYPE = "float32"


def write(trained: Trained, folder: Path) -> list[Path]:
    """Write the folder, whole or not at all; returns its files. UserError if it is there, or no text can be written."""
    if folder.exists():
        raise UserError(f"{folder}: is there already. Remove it, or give another folder with --to.")
    run, file, model = trained.run, text_of(trained.run), trained.model()
    check(run, model, file)
    module, _, architecture = models.REGISTRY[run.architecture].partition(":")
    with partial_folder(folder) as partial:
        has_tokenizer = tokenizer.write(run, file, partial)
        names = sources.write(module, architecture, partial)
        tensors = dict(model.named_buffers()) | model.state_dict()  # with tables that are no weights
        write_tensors(partial / "model.safetensors", {f"model.{name}": value for name, value in tensors.items()})
        _write_json(partial / "config.json", _config(trained, model.predicts, file.eod))
        _write_json(partial / "generation_config.json", {"eos_token_id": file.eod, "use_cache": False})
        (partial / "README.md").write_text(card.text(trained, file, folder, names, has_tokenizer), encoding="utf-8")
        shutil.copyfile(paths.project() / "LICENSE", partial / "LICENSE")  # of the source files
        partial.rename(folder)
    return sorted(folder.iterdir())


def _config(trained: Trained, predicts: str, eod: int) -> dict[str, object]:
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
        "predicts": predicts,
        "vocab_size": run.hyperparameters["vocabulary"],
        "eos_token_id": eod,
        "pad_token_id": eod,
        "use_cache": False,
        "dtype": DTYPE,
    }


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
