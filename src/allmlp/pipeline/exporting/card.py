"""The card of an exported model: what it is, what it was trained on, what was measured of it, how to use it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allmlp.common import paths
from allmlp.data.tokens import TokenFile, TokenizerFile
from allmlp.measurements import store
from allmlp.pipeline.show_run import run_claims
from allmlp.plan import params
from allmlp.report import first_screen
from allmlp.report.headings import heading
from allmlp.report.render import templates
from allmlp.spec import catalogue
from allmlp.spec.run import Run
from allmlp.training.published import TrainedRun

BEGINNING = "Once upon a time"  # of the project's own texts
UNFIT = str.maketrans("", "", "`\ufffd")  # what would end a block of code, and half a character
SEEN, WORDS, LONGEST = 64, 5, 32  # tokens that are read, words and characters that are shown


def text(trained: TrainedRun, file: TokenizerFile, folder: Path, sources: list[str], has_tokenizer: bool) -> str:
    """README.md of the folder; `file`: the run's tokens, `sources`: the Python files in the folder."""
    run, corpora = trained.run, {trained.run.corpus or "": {"spec": file.meta.get("source", {})}}
    template = templates().get_template("card.md.j2")
    return template.render(
        run=run,
        folder=folder.name,
        paper=catalogue.read_about(run.study)["paper"],
        parameters=sum(weight.numel() for weight in trained.model().parameters()),
        rate=trained.learning_rate,
        ending=trained.ending,
        text=first_screen.text(run.corpus or "", corpora),
        measured=list(_single_row_numbers(run)),
        claims=list(run_claims(run)),
        sources=sources,
        has_tokenizer=has_tokenizer,
        beginning=json.dumps(_beginning(run), ensure_ascii=False),
    )


def _beginning(run: Run) -> str:
    """What a text may begin with: of a user's own corpus, some words of its first document for validation."""
    tokens = Path("results/tokens") / str(run.tokens)
    committed = params.load(paths.project() / "params.yaml", committed=True).corpora
    if run.corpus is None or run.corpus in committed or not (tokens / "meta.json").is_file():
        return BEGINNING
    file = TokenFile(tokens)
    document = next(iter(file.documents("validation")), np.empty(0, file.dtype))
    words = file.decode(document[:SEEN]).translate(UNFIT).split()
    return " ".join(words[:WORDS])[:LONGEST] or BEGINNING


def _single_row_numbers(run: Run) -> Iterator[dict[str, Any]]:
    """The numbers of its measures that have a single row."""
    for measure in run.measures:
        stored, key = store.read_measure(run.study, measure), run.keys[measure]
        if key in stored.places and stored.count(key) == 1:
            columns = catalogue.measure(run.study, measure).columns
            row = stored.rows(key).to_pandas().iloc[0]
            for name, column in columns.items():
                if column.kind == "numeric" and pd.notna(row[name]):
                    value = f"{row[name]:.4g}"
                    yield {"measure": measure, "name": heading(name), "value": value, "meaning": column.meaning}
