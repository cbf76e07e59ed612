"""Addition modulo p (003): all pairs (x, y), a fixed random share of them for training, all at every step."""

import torch
from torch import Tensor

from allmlp.data.tasks.task import IGNORED, Batch, Task, generator

RECIPE = 1


class ModularAddition(Task):
    """(x, y) -> (x + y) mod p, full batch. The split depends on `split_seed` alone."""

    context = 2

    def __init__(self, p: int, train_share: float, split_seed: int = 0) -> None:
        self.vocabulary = p
        pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
        order = torch.from_numpy(generator(split_seed, p).permutation(p * p))
        cut = int(train_share * p * p)
        self._train, self._rest = self._pairs(pairs[order[:cut]]), self._pairs(pairs[order[cut:]])

    @staticmethod
    def size(p: int, train_share: float, split_seed: int = 0) -> tuple[int, int]:
        """Pairs of the one batch, each supervised once."""
        return (int(train_share * p * p),) * 2

    def _pairs(self, pairs: Tensor) -> Batch:
        return Batch(pairs, pairs.sum(dim=1) % self.vocabulary)

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (n, 2), targets (n,): every training pair, at every step."""
        return self._train

    def validation(self) -> list[Batch]:
        """The pairs that were kept from training."""
        return [self._rest] if len(self._rest.tokens) else []


class ModularAdditionCausal(ModularAddition):
    """The same for models that predict every token: targets (n, 2), supervised at the second token alone."""

    def _pairs(self, pairs: Tensor) -> Batch:
        sums = super()._pairs(pairs).targets
        return Batch(pairs, torch.stack([torch.full_like(sums, IGNORED), sums], dim=1))
