"""The checks of a GPU pass where the computation is right, and fail where it is not; here they run on the CPU."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from allmlp.common.errors import UserError
from allmlp.models import causal_rn, relation
from allmlp.pipeline import gpu_check
from allmlp.pipeline.gpu_check import exact, survival, training
from allmlp.pipeline.gpu_check.outcome import Check, Checks, outcome
from tests.conftest import PROJECT


def test_every_architecture_and_kernel_is_exact() -> None:
    groups = (exact.check_architectures, exact.check_relations, exact.check_loss, exact.check_padding)
    outcomes = [outcome(one) for group in groups for one in group("cpu")]
    assert len(outcomes) > 50
    assert [one for one in outcomes if not one.passed] == []


def passed(group: Checks) -> dict[str, bool]:
    """The checks of a group on the CPU: did they pass?"""
    return {one.check: one.passed for one in map(outcome, group("cpu"))}


@pytest.mark.parametrize("wrong", [3e-4, float("nan")])
def test_a_wrong_sum_over_pairs_is_found(monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    true_sum = relation.causal_relation_sum

    def in_single_precision(p: torch.Tensor, *others: object) -> torch.Tensor:
        y = true_sum(p, *others)
        return y + wrong * y.flip(-1) if p.dtype == torch.float32 else y

    monkeypatch.setattr(causal_rn, "causal_relation_sum", in_single_precision)
    monkeypatch.setattr(exact, "causal_relation_sum", in_single_precision)
    found = passed(exact.check_architectures) | passed(exact.check_relations)
    assert not found["causal-rn"]
    assert not any(passed for name, passed in found.items() if name.startswith("relation"))
    assert found["masked-mixer"]


def test_losses_that_drift_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true_losses = training.losses
    monkeypatch.setattr(training, "ARCHITECTURES", {"linear-causal-rn": {}})
    monkeypatch.setattr(training, "MOST", {"float32": 1e-4})
    assert list(passed(training.check_modes).values()) == [True]
    drifts = iter((0.0, 2e-4))
    monkeypatch.setattr(training, "losses", lambda run: true_losses(run) + next(drifts))
    assert list(passed(training.check_modes).values()) == [False]


def test_stacks_that_drift_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true_losses = training.losses
    monkeypatch.setattr(training, "ARCHITECTURES", {"linear-causal-rn": {}})
    assert list(passed(training.check_stacks).values()) == [True]
    monkeypatch.setattr(training, "losses", lambda run: true_losses(run) + 2e-4 * (run.seed == 1))
    assert list(passed(training.check_stacks).values()) == [False]


def test_an_error_is_a_failed_check_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong() -> tuple[bool, str]:
        raise RuntimeError("no kernel image is available")

    def failing(device: str) -> Iterator[Check]:
        yield "wrong", wrong
        yield "after it", lambda: (True, "")

    def fine(device: str) -> Iterator[Check]:
        yield "fine", lambda: (True, "")

    monkeypatch.chdir(tmp_path)
    for module, names in (
        (exact, ("check_architectures", "check_relations", "check_padding")),
        (survival, ("check_kill", "check_lease")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, fine)
    monkeypatch.setattr(training, "check_modes", fine)
    monkeypatch.setattr(training, "check_stacks", fine)
    monkeypatch.setattr(survival, "check_large_batch", fine)
    monkeypatch.setattr(exact, "check_loss", failing)
    assert gpu_check.show() == 1
    assert "no kernel image is available" in capsys.readouterr().out
    kept = json.loads(gpu_check.FOUND.read_text(encoding="utf-8"))
    assert [one["passed"] for one in kept["checks"]] == [True] * 5 + [False] + [True] * 4


@pytest.mark.parametrize("chosen", ["ALLMLP_RUNS_PER_GPU=4", "SLURM_JOB_GPUS=0", "CUDA_VISIBLE_DEVICES="])
def test_the_lease_is_tried_whatever_the_user_has_chosen(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    monkeypatch.setenv(*chosen.split("="))
    assert passed(survival.check_lease) == {"a leased device": True}


def test_a_gpu_that_torch_cannot_use_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """nvidia-smi lists one, and this torch has no CUDA."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gpu_check, "candidates", lambda listed: ["GPU-1"])
    monkeypatch.setattr(gpu_check, "lease", lambda kind: nullcontext())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="torch cannot use this GPU: install one for its driver"):
        gpu_check.show()


@pytest.mark.slow
def test_the_benchmark_has_a_row_for_each_model() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/gpu.py"], cwd=PROJECT, env={**os.environ, "PYTHONPATH": "src"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = done.stdout.splitlines()[2:]
    assert "not measured" not in done.stdout.replace("Hugging Face's Llama: not measured (No module named", "")
    assert len(rows) == 14
