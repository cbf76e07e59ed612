"""The checks of a GPU pass where the computation is right, and fail where it is not; here they run on the CPU."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from allmlp import gpu_check
from allmlp.gpu_check import exact, surviving, training
from allmlp.gpu_check.device import Outcome
from allmlp.models import causal_rn, relation
from tests.conftest import PROJECT


def test_every_architecture_and_kernel_is_exact() -> None:
    checks = (exact.of_architectures, exact.of_relations, exact.of_the_loss)
    outcomes = [one for check in checks for one in check("cpu")]
    assert len(outcomes) > 50
    assert [one for one in outcomes if not one.passed] == []


@pytest.mark.parametrize("wrong", [3e-4, float("nan")])
def test_a_wrong_sum_over_pairs_is_found(monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    true_sum = relation.causal_relation_sum

    def in_single_precision(p: torch.Tensor, *others: object) -> torch.Tensor:
        y = true_sum(p, *others)
        return y + wrong * y.flip(-1) if p.dtype == torch.float32 else y

    monkeypatch.setattr(causal_rn, "causal_relation_sum", in_single_precision)
    monkeypatch.setattr(exact, "causal_relation_sum", in_single_precision)
    found = {one.check: one.passed for check in (exact.of_architectures, exact.of_relations) for one in check("cpu")}
    assert not found["causal-rn"]
    assert not any(passed for name, passed in found.items() if name.startswith("relation"))
    assert found["masked-mixer"]


def test_losses_that_drift_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true_losses = training.losses
    monkeypatch.setattr(training, "ARCHITECTURES", {"linear-causal-rn": {}})
    monkeypatch.setattr(training, "MOST", {"float32": 1e-4})
    assert [one.passed for one in training.of_modes("cpu")] == [True]
    drifts = iter((0.0, 2e-4))
    monkeypatch.setattr(training, "losses", lambda run: true_losses(run) + next(drifts))
    assert [one.passed for one in training.of_modes("cpu")] == [False]


def test_an_error_is_a_failed_check_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(device: str) -> Iterator[Outcome]:
        yield Outcome("before", True, "")
        raise RuntimeError("no kernel image is available")

    def fine(device: str) -> Iterator[Outcome]:
        yield Outcome("after", True, "")

    monkeypatch.chdir(tmp_path)
    for module, names in ((exact, ("of_architectures", "of_relations")), (surviving, ("of_a_kill", "of_a_lease"))):
        for name in names:
            monkeypatch.setattr(module, name, fine)
    monkeypatch.setattr(training, "of_modes", fine)
    monkeypatch.setattr(surviving, "of_too_large_a_batch", fine)
    monkeypatch.setattr(exact, "of_the_loss", failing)
    assert gpu_check.show() == 1
    assert "no kernel image is available" in capsys.readouterr().out
    kept = json.loads(gpu_check.FOUND.read_text(encoding="utf-8"))
    assert [one["passed"] for one in kept["checks"]] == [True] * 6 + [False, True]


@pytest.mark.slow
def test_the_command_passes_on_this_machine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "allmlp", "doctor", "--gpu"],
        env={**os.environ, "ALLMLP_DIRECTORY": str(tmp_path), "PYTHONPATH": str(PROJECT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed and resumed" in done.stdout
    assert ", 0 failed; " in done.stdout
