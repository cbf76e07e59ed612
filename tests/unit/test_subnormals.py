"""Trainings count subnormal numbers as zero, and get the same weights."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from allmlp import models
from allmlp.training.loop import Training
from allmlp.training.subnormals import flush_to_zero
from tests import tiny

SUBNORMAL = 1e-39


def counts() -> bool:
    return bool(torch.full((4,), SUBNORMAL).mul(1).all())


def test_they_are_zero_within_the_block_alone() -> None:
    assert counts()
    with flush_to_zero():
        assert not counts()
    assert counts()
    with pytest.raises(KeyError), flush_to_zero():
        raise KeyError
    assert counts()


def test_they_are_zero_in_threads_that_begin_there_too() -> None:
    program = f"""
import numpy, torch
from allmlp.training.subnormals import flush_to_zero
torch.set_num_threads(2)
numbers = torch.from_numpy(numpy.full(10**6, {SUBNORMAL}, numpy.float32))
with flush_to_zero():
    print(numbers.mul(1).any())
"""
    environment = {"PYTHONPATH": str(Path(models.__file__).parents[2])}
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout == "tensor(False)\n"


def test_a_network_that_has_learned_its_task_gets_the_same_weights(tmp_path: Path) -> None:
    run = tiny.run("constant-attention", steps=40)
    torch.manual_seed(run.seed)
    model = models.build(run.architecture, **run.hyperparameters)
    with torch.no_grad():
        model.W_U *= 3000  # logits as far apart as after a long training
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}

    def trained(folder: str) -> dict[str, torch.Tensor]:
        training = Training(run, tmp_path / folder, weights=weights)
        probabilities = training.model(training.task.batch(0, 0).tokens).double().softmax(-1)
        tiniest = torch.finfo(torch.float32).tiny
        assert ((probabilities > 1e-45) & (probabilities < tiniest)).any(), "no subnormal number would be met"
        training.train()
        return training.model.state_dict()

    plain = trained("plain")
    with flush_to_zero():
        fast = trained("fast")
    torch.testing.assert_close(fast, plain, rtol=1e-6, atol=1e-30)
    assert any(not torch.equal(plain[name], weights[name]) for name in weights)
