"""Long-range recall: keys with values early in a sequence of fillers, queried at its end.

    f f k3 v7 f f k1 v2 f f f f f f f f f f f f k1 f f k3     24 tokens, two pairs, two queries
    pairs in the first half, queries in the last quarter      targets: v2 at the second k1, v7 at the second k3

One query, the last token, is the single form; several are the multi-query form (MQAR, Arora et al. 2023). MQAR has one
filler token; here fillers are drawn, so that no position is marked.
Vocabulary: fillers 0 to 15, then `symbols` keys, then as many values.
"""

from typing import Any, Literal

import numpy as np
import torch

from allmlp.common.errors import UserError
from allmlp.data.tasks.task import IGNORED, Batch, Task, generator

RECIPE = 1
FILLERS = 16
HELD_OUT = 2**40  # the seed of held-out batches, which no run has
HELD_OUT_BATCHES = 8


class Recall(Task):
    """Fresh sequences at every step: each key occurs once with a newly drawn value, so memorising is impossible.

    tokens (B, context); targets (B, context), supervised at the queries alone, or (B,) with `predicts="last"`, for
    which the only query is the last token. Between a value and its query lie at least a quarter of the context.
    Raises UserError where pairs or queries do not fit.
    """

    def __init__(
        self,
        context: int,
        n_pairs: int,
        n_queries: int,
        batch_size: int,
        symbols: int = 32,
        predicts: Literal["all", "last"] = "all",
    ) -> None:
        most = min(context // 4, symbols)
        if not 1 <= n_pairs <= most:
            raise UserError(
                f"n_pairs={n_pairs}: a context of {context} and {symbols} keys have room for 1 to {most} pairs"
            )
        if not 1 <= n_queries <= n_pairs:
            raise UserError(f"n_queries={n_queries}: {n_pairs} pairs can be asked for 1 to {n_pairs} times, each once")
        if predicts == "last" and n_queries > 1:
            raise UserError(f"n_queries={n_queries}: a model that predicts the last token only answers one query")
        self.vocabulary, self.symbols = FILLERS + 2 * symbols, symbols
        self.context, self.n_pairs, self.n_queries = context, n_pairs, n_queries
        self.batch_size, self.predicts = batch_size, predicts

    @staticmethod
    def size(n_queries: int, batch_size: int, **_: Any) -> tuple[int, int]:
        """Sequences of one batch, and their queries."""
        return batch_size, batch_size * n_queries

    def batch(self, seed: int, step: int) -> Batch:
        """tokens (B, context), targets (B, context) or (B,)."""
        rng, B, T = generator(seed, step), self.batch_size, self.context
        tokens = rng.integers(0, FILLERS, (B, T))
        keys = FILLERS + _draw_numbers(rng, B, self.symbols, self.n_pairs)
        values = FILLERS + self.symbols + rng.integers(0, self.symbols, (B, self.n_pairs))
        rows, places = np.arange(B)[:, None], 2 * _draw_numbers(rng, B, T // 4, self.n_pairs)
        tokens[rows, places], tokens[rows, places + 1] = keys, values
        asked = _draw_numbers(rng, B, self.n_pairs, self.n_queries)
        back = _draw_numbers(rng, B, T // 4, self.n_queries) if self.n_queries > 1 else np.zeros((B, 1), np.int64)
        queries = T - 1 - back  # the only query is the last token
        tokens[rows, queries] = keys[rows, asked]
        targets = np.full((B, T), IGNORED)
        targets[rows, queries] = values[rows, asked]
        last = targets[:, -1] if self.predicts == "last" else targets
        return Batch(torch.from_numpy(tokens), torch.from_numpy(np.ascontiguousarray(last)))

    def validation(self) -> list[Batch]:
        """Batches of a seed that no run has."""
        return [self.batch(HELD_OUT, number) for number in range(HELD_OUT_BATCHES)]

    def baseline_accuracy(self, batch: Batch) -> float:
        """Accuracy of the best answer without a look-up: the most frequent value of a sequence."""
        first = FILLERS + self.symbols
        shown = torch.stack([(batch.tokens == first + value).sum(1) for value in range(self.symbols)])
        return (shown.max(0).values / self.n_pairs).double().mean().item()


def _draw_numbers(rng: np.random.Generator, rows: int, of: int, count: int) -> np.ndarray:
    """`count` different numbers below `of`, in random order, in each row: (rows, count)."""
    return rng.random((rows, of)).argsort(axis=1, kind="stable")[:, :count]
