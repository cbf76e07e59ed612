"""Retrieval (001): which of C - 1 texts does a query belong to, by the embeddings of a frozen model?"""

from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from allmlp.common.errors import UserError
from allmlp.data.tasks.embeddings import Normalisation, Position, available_device, embed, normalise
from allmlp.data.tasks.task import Batch, Task, generator
from allmlp.data.tokens.pairs import PairFile
from allmlp.models.base import SequenceModel

RECIPE = 1
HELD_OUT_SEED = 2**41  # of the draws of held-out pairs; no training has this seed

Split = Literal["train", "validation"]
Rows = NDArray[np.int64]


class EmbedderRun(Protocol):
    """The settings of a trained embedder that a retrieval task reads."""

    @property
    def id(self) -> str: ...
    @property
    def hyperparameters(self) -> dict[str, Any]: ...
    @property
    def task_parameters(self) -> dict[str, Any]: ...
    @property
    def device(self) -> str: ...
    @property
    def threads(self) -> int: ...


class Embedder(Protocol):
    """A trained run whose last weights embed the texts."""

    @property
    def run(self) -> EmbedderRun: ...
    @property
    def ending(self) -> dict[str, Any]: ...
    def model(self) -> SequenceModel: ...


class Sides(NamedTuple):
    """Embeddings of the pairs of one split, row i of each side being one pair: (N, D) float32 each."""

    queries: Tensor
    texts: Tensor


class Draw(NamedTuple):
    """Queries (B,), the candidate texts of each (B, C - 1), and the place of its own among them (B,)."""

    queries: Rows
    candidates: Rows
    places: Rows


class Retrieval(Task):
    """Embeddings of a query and of C - 1 candidates in (B, C, D), the place of the query's own text out (B,).

    Other texts are drawn without replacement; the query's own is at a random place. All embeddings are computed once by
    the parent's last weights, padded as in its training. Held out: `validation_draws`
    draws among pairs of documents that no training batch has, in batches of the same size.
    """

    reads_parent: ClassVar[bool] = True

    def __init__(
        self,
        tokens: Path,
        parent: Embedder,
        context: int,
        batch_size: int,
        position: Position,
        normalisation: Normalisation,
        validation_draws: int = 1024,
        training_pairs: int | None = None,
    ) -> None:
        if normalisation is None or position is None:
            raise UserError(
                "retrieval: position and normalisation have no value: name them, or a search to choose them"
            )
        self.context, self.vocabulary, self.batch_size = context, context - 1, batch_size
        self.pairs, self.parent, self.position, self.normalisation = PairFile(tokens), parent, position, normalisation
        self.validation_draws = validation_draws
        as_read = _embed_pairs(parent, self.pairs, position)
        train = Sides(*(side[:training_pairs] for side in as_read["train"]))
        self.raw: dict[Split, Sides] = {"train": train, "validation": as_read["validation"]}
        self.embedded: dict[Split, Sides] = {split: self.normalise_sides(normalisation, split) for split in self.raw}
        for split, sides in self.raw.items():
            if len(sides.texts) < self.vocabulary:
                raise UserError(
                    f"{tokens}: {len(sides.texts):,} pairs in the {split} split cannot fill a context of {context}, a "
                    f"query and {self.vocabulary} texts. Take more pairs or a smaller context."
                )
        self.features = self.raw["train"].texts.shape[1]

    @staticmethod
    def size(batch_size: int, **_: Any) -> tuple[int, int]:
        """Queries of one batch, each answered once."""
        return batch_size, batch_size

    def normalise_sides(self, normalisation: Normalisation, split: Split) -> Sides:
        """A split's embeddings, each side normalised by that side of the training split."""
        both = zip(self.raw[split], self.raw["train"], strict=True)
        return Sides(*(normalise(side_ND, normalisation, like_ND) for side_ND, like_ND in both))

    def batch(self, seed: int, step: int) -> Batch:
        """embeddings (B, C, D) float32, the query's first; places (B,)."""
        rng, count = generator(seed, step), len(self.raw["train"].texts)
        return self._batch("train", draw(rng, rng.integers(0, count, self.batch_size), count, self.vocabulary))

    def held_out(self) -> Draw:
        """The held-out draws: each query in turn, always with the same candidates."""
        count = len(self.raw["validation"].texts)
        queries = np.arange(self.validation_draws, dtype=np.int64) % count
        return draw(generator(HELD_OUT_SEED), queries, count, self.vocabulary)

    def validation(self) -> list[Batch]:
        """The held-out draws, in batches."""
        whole, starts = self.held_out(), range(0, self.validation_draws, self.batch_size)
        return [self._batch("validation", Draw(*(part[i : i + self.batch_size] for part in whole))) for i in starts]

    def _batch(self, split: Split, drawn: Draw) -> Batch:
        sides = self.embedded[split]
        queries_B1D = sides.queries[torch.from_numpy(drawn.queries)][:, None]
        texts_BCD = sides.texts[torch.from_numpy(drawn.candidates)]
        return Batch(torch.cat([queries_B1D, texts_BCD], dim=1), torch.from_numpy(drawn.places))


def draw(rng: np.random.Generator, queries_B: Rows, count: int, candidates: int) -> Draw:
    """`candidates` of `count` texts for each query: its own at a random place, the others drawn without replacement."""
    others_BK, places_B = (
        _draw_others(rng, queries_B, count, candidates - 1),
        rng.integers(0, candidates, len(queries_B)),
    )
    drawn_BC = np.empty((len(queries_B), candidates), dtype=np.int64)
    own_BC = np.arange(candidates) == places_B[:, None]
    drawn_BC[own_BC], drawn_BC[~own_BC] = queries_B, others_BK.ravel()
    return Draw(queries_B, drawn_BC, places_B)


def _draw_others(rng: np.random.Generator, own_B: Rows, count: int, k: int) -> Rows:
    """k different numbers below `count`, none of them the row's own: every set equally likely (Floyd's method)."""
    tops_K = np.arange(count - 1 - k, count - 1)
    chosen_BK = rng.integers(0, tops_K + 1, (len(own_B), k))
    for place, top in enumerate(tops_K):
        taken_B = (chosen_BK[:, :place] == chosen_BK[:, place, None]).any(axis=1)
        chosen_BK[taken_B, place] = top
    return chosen_BK + (chosen_BK >= own_B[:, None])


# embeddings by embedder, pairs and position, the last used at the end: runs of one embedder follow one another
_KEPT: dict[tuple[str, Path, str], dict[Split, Sides]] = {}
MOST_KEPT = 1 << 30  # bytes, besides the newest


def _embed_pairs(parent: Embedder, pairs: PairFile, position: Position) -> dict[Split, Sides]:
    """Every pair's embeddings by the parent; the last used are kept."""
    key = (parent.run.id, pairs.folder, position)
    if key not in _KEPT:
        while sum(side.nbytes for kept in _KEPT.values() for sides in kept.values() for side in sides) > MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        torch.set_num_threads(parent.run.threads)  # another number gives other bits
        model, padding = parent.model(), parent.run.task_parameters["padding"]
        device = available_device(parent.run.device)
        splits: tuple[Split, Split] = ("train", "validation")
        _KEPT[key] = {
            split: Sides(
                *(
                    embed(model, [ids[ids != pairs.end] for ids in side], padding, position, pairs.end, device)
                    for side in (pairs.queries(split), pairs.texts(split))
                )
            )
            for split in splits
        }
    _KEPT[key] = _KEPT.pop(key)
    return _KEPT[key]
