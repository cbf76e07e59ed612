"""A run's tokenizer as `transformers` reads one: byte-level BPE and bytes. Other kinds have no equal there."""

import json
from pathlib import Path
from typing import Any

from allmlp.data.tokenizers.base import EOD
from allmlp.data.tokenizers.library import LibraryTokenizer, byte_level
from allmlp.data.tokenizers.plain import ByteTokenizer
from allmlp.data.tokens import TokenizerFile
from allmlp.pipeline.generating import has_leading_end
from allmlp.spec.run import Run


def write(run: Run, file: TokenizerFile, folder: Path) -> bool:
    """Write `tokenizer.json` and `tokenizer_config.json`; False, and nothing, for a kind without an equal.

    A text is encoded as the run saw the beginning of a document. The name of the document's end in a text is plain
    text, as it is for the run's own tokenizer.
    """
    own = file.tokenizer
    if isinstance(own, LibraryTokenizer):
        content = json.loads((file.folder / "tokenizer.json").read_text(encoding="utf-8"))
    elif isinstance(own, ByteTokenizer):
        content = _byte_tokenizer(own)
    else:
        return False
    if has_leading_end(run):
        content["post_processor"] = _end_prefix(file.eod)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": EOD,
        "pad_token": EOD,
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
        "model_max_length": run.hyperparameters["context"],
    }
    for name, of in (("tokenizer.json", content), ("tokenizer_config.json", settings)):
        (folder / name).write_text(json.dumps(of, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return True


def _byte_tokenizer(own: ByteTokenizer) -> dict[str, Any]:
    """A BPE without merges, in which each byte has its own number for an id."""
    from tokenizers import models

    inner = byte_level(models.BPE(vocab={letter: byte for byte, letter in enumerate(_letters())}, merges=[]))
    inner.add_special_tokens([EOD])
    content: dict[str, Any] = json.loads(inner.to_str())
    assert content["added_tokens"][0]["id"] == own.eod
    return content


def _letters() -> list[str]:
    """The letter that stands for each byte in a byte-level BPE: itself where it prints, else the next from 256 on."""
    prints = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in prints]
    return [chr(byte) if byte in prints else chr(256 + others.index(byte)) for byte in range(256)]


def _end_prefix(eod: int) -> dict[str, Any]:
    """The end of the document before, then the text."""
    return {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": EOD, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {EOD: {"id": EOD, "ids": [eod], "tokens": [EOD]}},
    }
