"""The audit passes what is causal, catches every kind of leak where it begins, and says so."""

import json
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from allmlp import models
from allmlp.cli import main
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.models import audit
from allmlp.models.audit import Finding, Subject, examine
from allmlp.models.audit.checks import CHECKS
from allmlp.models.audit.subject import has_changed
from allmlp.models.base import SequenceModel
from allmlp.studies.mixers.measures import causality
from allmlp.training import checkpoint
from tests import exhibits, tiny


class Reader(SequenceModel):
    """A causal sum of embeddings, and whatever a subclass adds to it."""

    causal: ClassVar[bool] = True
    predicts = "all"
    family = "test"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "wte.weight"}
    vocabulary, context = 11, 12

    def __init__(self):
        super().__init__()
        self.wte, self.unembedding = nn.Embedding(11, 8), nn.Linear(8, 11, bias=False)

    def hidden(self, tokens_BT):
        x_BTD = self.wte(tokens_BT)
        return x_BTD.cumsum(1) + self.more(tokens_BT, x_BTD)

    def more(self, tokens_BT, x_BTD):
        return 0

    def forward(self, tokens_BT):
        self.check_length(tokens_BT.shape[1])
        return self.unembedding(self.hidden(tokens_BT))


class NextToken(Reader):
    def more(self, tokens_BT, x_BTD):
        return 1e-6 * x_BTD.roll(-1, dims=1)


class FromTheFifth(Reader):
    """Only position 5 looks ahead, two tokens."""

    def more(self, tokens_BT, x_BTD):
        ahead = torch.zeros_like(x_BTD)
        ahead[:, 5:6] = x_BTD[:, 7:8] if x_BTD.shape[1] > 7 else 0
        return ahead


class GradientOnly(Reader):
    """The values of later tokens cancel, their gradients do not: a mask applied to data, not to the function."""

    def more(self, tokens_BT, x_BTD):
        ahead = x_BTD.roll(-1, dims=1)
        return ahead - ahead.detach()


class BelowPadding(Reader):
    """Looks ahead only in rows that begin with token 10."""

    def more(self, tokens_BT, x_BTD):
        return x_BTD.roll(-1, dims=1) * (tokens_BT[:, :1, None] == 10)


class CountsPadding(Reader):
    """Says that padding alters nothing, but adds up all of it."""

    pad = 10


class AllPadding(Reader):
    """Divides by the tokens of the row: what follows a text alters its predictions."""

    def more(self, tokens_BT, x_BTD):
        return x_BTD / tokens_BT.shape[1]


class MeanOfTheBatch(Reader):
    def more(self, tokens_BT, x_BTD):
        return x_BTD.mean(0, keepdim=True).cumsum(1)


class Blind(Reader):
    """Does not read token 3."""

    def hidden(self, tokens_BT):
        x_BTD = self.wte(tokens_BT)
        return (x_BTD * (torch.arange(x_BTD.shape[1]) != 3)[:, None]).cumsum(1)


def found(model, pad=10):
    """Of a model, what fails: check -> finding."""
    findings = list(examine("model", Subject(audit.amplify_weights(model), pad)))
    assert [finding.check for finding in findings] == list(CHECKS)
    return {finding.check: finding for finding in findings if finding.result == "fail"}


def test_a_causal_sum_passes_every_check():
    assert not found(Reader())


@pytest.mark.parametrize(
    ("model", "check", "position", "source"),
    [
        (NextToken, "later tokens", 0, 1),
        (NextToken, "later gradients", 0, 1),
        (FromTheFifth, "later tokens", 5, 7),
        (FromTheFifth, "later gradients", 5, 7),
        (GradientOnly, "later gradients", 0, 1),
        (BelowPadding, "left padding", 0, 1),
        (CountsPadding, "more padding", 0, -1),
        (AllPadding, "right padding", 0, 1),
        (MeanOfTheBatch, "batch neighbours", 0, -1),
        (Blind, "inputs matter", -1, 3),
    ],
)
def test_each_check_catches_its_leak_where_it_begins(model, check, position, source):
    failed = found(model())
    assert check in failed
    assert (failed[check].position, failed[check].source) == (position, source)
    assert not failed[check].is_expected


def test_a_leak_under_padding_is_no_other_leak():
    assert list(found(BelowPadding())) == ["left padding"]


def test_a_leak_of_gradients_alone_is_no_leak_of_values():
    assert list(found(GradientOnly())) == ["later gradients"]


def test_not_a_number_is_not_the_same():
    nan = torch.tensor([[float("nan"), 1.0]])
    assert has_changed(nan, nan).all()
    assert not has_changed(torch.zeros(1, 2), torch.zeros(1, 2)).any()


def test_a_declared_leak_must_fail():
    class Declared(Reader):
        LEAKS: ClassVar[dict[str, str]] = {"later tokens": "as published"}

    findings = list(examine("declared", Subject(audit.amplify_weights(Declared()), 10)))
    assert [finding.check for finding in findings if not finding.is_expected] == ["later tokens"]

    class Misspelt(Reader):
        LEAKS: ClassVar[dict[str, str]] = {"future": "?"}

    with pytest.raises(ValueError, match=r"Misspelt\.LEAKS: no check future"):
        list(examine("misspelt", Subject(audit.amplify_weights(Misspelt()), 10)))


def test_texts_hold_no_padding_and_are_altered_to_another_token():
    for pad in (0, 4, 10):
        subject = Subject(Reader(), pad)
        rows = subject.rows(batch=20)
        assert set(rows.flatten().tolist()) == set(range(11)) - {pad}
        for position in range(12):
            changed = subject.alter_token(rows, position)
            assert changed[0, position] not in (rows[0, position], pad)
            assert (changed != rows).sum() == 1


audited = cache(audit.audit_architecture)


@pytest.mark.parametrize("name", models.REGISTRY)
def test_every_architecture_is_in_order(name):
    findings = audited(name)
    assert all(finding.is_expected for finding in findings), [f for f in findings if not f.is_expected]
    assert len(findings) == len(CHECKS) * (1 + len(audit.VARIANTS.get(name, [])))
    causal = models.load(name).causal
    assert all(
        (finding.result != "not applicable") == causal for finding in findings if finding.check == "later tokens"
    )


def test_the_audit_catches_what_is_kept_as_published():
    leaks = {(f.architecture, f.check) for name in models.REGISTRY for f in audited(name) if f.result == "fail"}
    assert leaks == {
        ("hybrid-as-published", "left padding"),
        ("matcher-transformer-as-published", "batch neighbours"),
        ("matcher-transformer-as-published", "inputs matter"),
    }


def test_leak_in_one_sentence():
    assert audit.leak(FromTheFifth()) == "position 5 changes with token 7, which comes after it"
    model = Reader()
    before = model.wte.weight.clone()
    assert audit.leak(model) is None
    assert torch.equal(model.wte.weight, before)
    assert model.wte.weight.dtype == torch.float32


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.DIRECTORY, str(tmp_path))
    torch.set_num_threads(1)
    return tmp_path


def run_of(name: str, **hyperparameters: object):
    """A tiny run, trained."""
    run = tiny.run(name, steps=2, hyperparameters={**tiny.COPYING, **hyperparameters})
    checkpoint.produce(run)
    return run


@pytest.mark.parametrize(
    ("name", "options", "leaks"),
    [
        ("llama", {"pad": 28}, []),
        ("masked-mixer", {}, []),
        ("hybrid-as-published", {"pad": 28}, ["left padding"]),
        ("hybrid-as-published", {}, []),
    ],
)
def test_a_trained_run_is_audited_as_it_is(here: Path, name: str, options: dict, leaks: list):
    run = run_of(name, **options)
    findings = audit.audit_weights(run.id, run.architecture, run.hyperparameters, checkpoint.TrainedRun(run).model())
    assert [finding.check for finding in findings if finding.result == "fail"] == leaks
    assert all(finding.is_expected and finding.architecture == run.id for finding in findings)
    applies = {finding.check for finding in findings if finding.result != "not applicable"}
    assert ("more padding" in applies) == (name == "llama")
    assert ("left padding" in applies) == (name != "hybrid-as-published" or bool(options))


def call(*words: str):
    return CliRunner().invoke(main.app, ["audit", *words])


def test_the_command_ends_with_0_where_only_what_is_declared_leaks():
    done = call("hybrid", "hybrid-as-published", "--format", "json")
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    assert said["not_in_order"] == 0
    assert {row["architecture"] for row in said["findings"] if row["result"] == "fail"} == {"hybrid-as-published"}
    done = call("transformer", "hybrid-as-published")
    assert "2 audited; not in order: 0" in done.stdout
    assert (
        "hybrid-as-published: left padding: after 1 of padding, the prediction at 0 changes with token 1" in done.stdout
    )


def test_the_command_ends_with_1_where_a_leak_is_not_declared(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(models.load("hybrid-as-published"), "LEAKS", {})
    done = call("hybrid-as-published")
    assert done.exit_code == 1
    assert "NOT DECLARED" in done.stdout
    monkeypatch.setattr(models.load("transformer"), "LEAKS", {"later tokens": "it does not"})
    done = call("transformer")
    assert done.exit_code == 1
    assert "transformer: later tokens: passes, but LEAKS says: it does not" in done.stdout


def test_a_wrong_name_is_refused_with_the_right_ones():
    done = call("llame")
    assert isinstance(done.exception, UserError)
    assert "Did you mean 'llama'" in str(done.exception)


def test_measure_and_table(monkeypatch: pytest.MonkeyPatch):
    names = ("llama", "hybrid-as-published", "matcher-transformer-as-published")
    some = [finding for name in names for finding in audited(name)]
    monkeypatch.setattr(audit, "audit", lambda names: some)
    rows = causality.audit()
    assert len(rows) == 4 * len(CHECKS)
    tabled = exhibits.table("mixers", "audit", {"audit": rows.assign(run="one", seed=0)})
    assert list(tabled.columns) == ["architecture", *CHECKS, "found"]
    by_name = tabled.set_index("architecture")
    assert by_name.loc["llama", "left padding"] == "pass"
    assert by_name.loc["hybrid-as-published", "left padding"] == "leaks"
    assert by_name.loc["matcher-transformer-as-published", "later tokens"] == "-"
    assert "batch neighbours: predictions of a row change" in by_name.loc["matcher-transformer-as-published", "found"]
    undeclared = rows.assign(declared="", run="one", seed=0)
    assert "FAILS" in exhibits.table("mixers", "audit", {"audit": undeclared})["left padding"].tolist()


def test_a_finding_is_in_order_only_if_it_is_as_declared():
    assert Finding("a", "later tokens", "pass").is_expected
    assert not Finding("a", "later tokens", "fail").is_expected
    assert Finding("a", "later tokens", "fail", declared="known").is_expected
    assert not Finding("a", "later tokens", "pass", declared="known").is_expected
    assert Finding("a", "later tokens", "not applicable", declared="known").is_expected
