"""A training that finds no memory says what to do."""

import pytest
import torch

from allmlp.common.errors import UserError
from allmlp.models.backbone import Backbone
from allmlp.training.checkpoint import produce
from tests import tiny


def device_is_full(*_):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def more_than_there_is(*_):
    return torch.empty(1 << 60)  # real: no machine has 4 EiB


@pytest.mark.parametrize("forward", [device_is_full, more_than_there_is])
def test_the_run_its_batch_and_the_ways_out_are_named(forward, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Backbone, "forward", forward)
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "accumulation": 2})
    with pytest.raises(UserError) as error:
        produce(run)
    assert str(error.value).startswith(
        f"{run.id}: out of memory on the machine, with a batch of 4 sequences in 2 parts."
    )
    assert "`accumulation: 4` in its optimiser where it has that key, or a smaller `batch_size`" in str(error.value)


def test_another_error_stays_what_it_is(monkeypatch, tmp_path):
    def wrong(*_):
        raise RuntimeError("shapes do not match")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Backbone, "forward", wrong)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        produce(tiny.run("transformer"))
