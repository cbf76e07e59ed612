"""Copying (002): BOS s SEP s EOS, supervised on the second s and EOS only.

Vocabulary: BOS 0, SEP 1, EOS 2, letters 3 to 28. A string of n letters makes sequences of 2 n + 2 tokens.
"""

import torch
from torch import Tensor

from allmlp.data.tasks.task import IGNORED, Batch, Task, generator

RECIPE = 1
BOS, SEP, EOS, FIRST_LETTER, LETTERS = 0, 1, 2, 3, 26


class Copying(Task):
    """Fresh random strings at every step: training accuracy is accuracy on strings never seen before."""

    vocabulary = FIRST_LETTER + LETTERS

    def __init__(self, string_length: int, batch_size: int) -> None:
        self.string_length, self.batch_size = string_length, batch_size
        self.context = 2 * string_length + 2

    @staticmethod
    def size(string_length: int, batch_size: int) -> tuple[int, int]:
        """Sequences and supervised tokens of one batch."""
        return batch_size, batch_size * (string_length + 1)

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (B, 2n + 2) = BOS s SEP s; targets (B, 2n + 2) = n + 1 times -1, then s, then EOS."""
        shape = (self.batch_size, self.string_length)
        strings = torch.from_numpy(generator(seed, step).integers(FIRST_LETTER, FIRST_LETTER + LETTERS, shape))
        column = torch.ones(self.batch_size, 1, dtype=torch.int64)
        tokens = torch.cat([BOS * column, strings, SEP * column, strings], dim=1)
        silent = torch.full((self.batch_size, self.string_length + 1), IGNORED)
        return Batch(tokens, torch.cat([silent, strings, EOS * column], dim=1))

    def scores(self, logits: Tensor, batch: Batch) -> dict[str, float]:
        """Accuracy over supervised tokens, and over whole strings (letters and EOS all right)."""
        supervised = batch.targets != IGNORED
        right = (logits.argmax(dim=-1) == batch.targets) & supervised
        strings = (right == supervised).all(dim=1)
        token_accuracy = right.sum().item() / supervised.sum().item()
        return {"token_accuracy": token_accuracy, "string_accuracy": strings.double().mean().item()}
