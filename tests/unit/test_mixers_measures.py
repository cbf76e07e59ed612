"""What study 001 measures of a training: its curve, and whether it sees later tokens."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp.data.tasks.documents import Documents
from allmlp.studies.mixers.measures import causality
from allmlp.studies.mixers.measures.causality import ROWS, largest_changes, leak
from allmlp.studies.mixers.measures.learning import WINDOW, held_out_losses
from tests import tiny


def log(steps: int, tested: tuple[int, ...]) -> pd.DataFrame:
    rows = pd.DataFrame({"step": range(steps), "loss": np.linspace(4, 2, steps)})
    return rows.assign(validation_loss=[3.0 if step in tested else np.nan for step in range(steps)])


def test_a_curve_has_a_row_for_each_held_out_loss_and_one_for_the_end():
    rows = held_out_losses(log(60, (0, 30)), 60, 2.5)
    assert rows["step"].tolist() == [0, 30, 60]
    assert rows["validation_nats"].tolist() == [3.0, 3.0, 2.5]
    assert np.isnan(rows["train_nats"].iloc[0])
    assert rows["train_nats"].iloc[2] == pytest.approx(log(60, ())["loss"].iloc[-WINDOW:].mean())


@pytest.mark.parametrize("done", [0, 1, 30])
def test_a_diverged_run_has_its_end(done):
    rows = held_out_losses(log(40, (0, 20))[:done], done, None)
    assert rows["step"].iloc[-1] == done
    assert np.isnan(rows["validation_nats"].iloc[-1])


class Peeks(torch.nn.Module):
    """Logits that hear later tokens only where a row begins with padding."""

    def __init__(self, vocabulary: int, leaks: bool, end: int = 0) -> None:
        super().__init__()
        self.values, self.leaks, self.end = torch.arange(vocabulary, dtype=torch.float64), leaks, end

    def forward(self, tokens):
        heard = self.values[tokens].cumsum(1)
        padded = (tokens[:, :1] == self.end) & self.leaks
        return torch.where(padded, heard[:, -1:], heard)[..., None]


@pytest.mark.parametrize("end", [0, 7, 15])
def test_a_leak_is_found_in_the_rows_that_have_it_and_causality_is_exactly_0(end):
    tokens = torch.tensor([[end, end, 5, 3, 9, 2], [4, 4, 5, 3, 9, 2]])
    text = tokens != end
    assert (largest_changes(Peeks(16, True, end), tokens, text, 16, end) > 0).tolist() == [True, False]
    assert largest_changes(Peeks(16, False, end), tokens, text, 16, end).tolist() == [0, 0]


@pytest.mark.parametrize("end", [0, 7, 15])
def test_tokens_that_replace_others_are_never_the_end(end):
    seen = []

    def model(tokens):
        seen.append(tokens)
        return tokens[..., None].double()

    tokens = (torch.arange(60) % 16)[None]
    text = tokens != end
    largest_changes(model, tokens, text, 16, end)
    replaced = [(changed != tokens) for changed in seen[1:]]
    assert all((changed[moved] != end).all() for changed, moved in zip(seen[1:], replaced, strict=True))
    assert sum(int(moved.sum()) for moved in replaced) > 60
    assert all(torch.equal(moved, moved & text) for moved in replaced)


def test_the_leak_is_looked_for_with_the_end_of_the_tasks_tokens(monkeypatch, tmp_path):
    """Bytes end with 256: padding with 0, which is a byte of text, would be none."""
    tiny.write_tokens(tmp_path)
    task = Documents(tmp_path / "results/tokens/tiny-00000000", 16, 4, "left", 4)
    assert task.eod == 256
    given = []
    monkeypatch.setattr(causality, "largest_changes", lambda *args: given.append(args[-1]) or torch.zeros(16))
    leak(SimpleNamespace(task=lambda: task, model=lambda: Peeks(257, False)))
    assert given == [256]


def test_the_leak_is_looked_for_in_the_rows_with_the_most_padding_of_all(monkeypatch, tmp_path):
    tiny.write_tokens(tmp_path)
    task = Documents(tmp_path / "results/tokens/tiny-00000000", 16, 4, "left", 100)
    lengths = sorted(int((row != -1).sum()) for batch in task.validation() for row in batch.targets)
    assert len(task.validation()) > 1
    given = []
    monkeypatch.setattr(causality, "largest_changes", lambda *args: given.append(args[2]) or torch.zeros(16))
    leak(SimpleNamespace(task=lambda: task, model=lambda: Peeks(257, False)))
    assert sorted(given[0].sum(1).tolist()) == lengths[:ROWS]
