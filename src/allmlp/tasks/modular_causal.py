"""Addition modulo p (003) for models that predict every token: the sum is predicted after y."""

import torch
from torch import Tensor

from allmlp.tasks.modular import ModularAddition
from allmlp.tasks.task import IGNORED, Batch

RECIPE = 1


class ModularAdditionCausal(ModularAddition):
    """The same pairs in the same split; targets (n, 2), supervised at the second token alone."""

    def _pairs(self, pairs: Tensor) -> Batch:
        sums = super()._pairs(pairs).targets
        return Batch(pairs, torch.stack([torch.full_like(sums, IGNORED), sums], dim=1))
