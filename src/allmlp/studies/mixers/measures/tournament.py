"""Search by tournament: groups of candidates meet, winners meet again."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from allmlp.common.errors import UserError
from allmlp.data.tasks.embeddings import available_device
from allmlp.data.tasks.retrieval import Retrieval, draw
from allmlp.data.tasks.task import generator
from allmlp.models.base import SequenceModel
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun

Groups = NDArray[np.int64]
Winners = Callable[[Groups], NDArray[np.int64]]  # (passes, group) candidates -> (passes,) which place of each wins
GROUPS = (8, 32, 128)  # the article's are 32 and 128
TEXTS = (10**3, 10**4, 10**5, 10**6)


@measure(
    recipe=1,
    group=exact("texts that one pass compares"),
    texts=exact("texts among which one is sought"),
    passes=exact("forward passes, counted as they are made"),
    passes_per_text_1=numeric("passes over texts", rtol=1e-12),
    limit_1=numeric("1 / (group - 1), which passes over texts come near to", rtol=1e-12),
)
def tournament_passes() -> Rows:
    """Search by tournament: groups of candidates meet in a pass of the matcher, winners meet again (001-30).

    A pass reads the query and one group, and keeps one of it. n texts in groups of c take ceil(n / c) passes, then as
    many for the winners, until one is left: about n / (c - 1) in all, which grows as n, not as n log n (E001-13).

    One row per size of groups and number of texts, without training.
    """
    for group in GROUPS:
        for n in TEXTS:
            _, made = search(np.arange(n), group, lambda meetings: np.zeros(len(meetings), np.int64))
            if made != passes(n, group):
                raise ValueError(f"{n} texts in groups of {group}: {made} passes made, {passes(n, group)} expected")
            yield (group, n, made, made / n, 1 / (group - 1))


def rounds(n: int, group: int) -> list[int]:
    """Passes in each round of a tournament of n texts in groups of `group`.

    A text left alone goes to the next round without a pass. Raises UserError unless n >= 1 and group >= 2.
    """
    if n < 1 or group < 2:
        raise UserError(f"a tournament of {n} texts in groups of {group}: needs a text, and two in a group")
    found = []
    while n > 1:
        whole, left = divmod(n, group)
        found.append(whole + (left > 1))
        n = whole + (left > 0)
    return found


def passes(n: int, group: int) -> int:
    """Forward passes of the matcher in the whole tournament.

    >>> passes(1000, 32), passes(10**6, 32), round(10**6 / 31)
    (33, 32259, 32258)
    """
    return sum(rounds(n, group))


def search(candidates: NDArray[np.int64], group: int, winners: Winners) -> tuple[int, int]:
    """The candidate that wins, and the passes it took.

    `winners` needs full groups: a smaller group is filled up by repeating its members.
    """
    taken, left = 0, np.asarray(candidates, dtype=np.int64)
    if not len(left) or group < 2:
        raise UserError(f"a tournament of {len(left)} texts in groups of {group}: needs a text, and two in a group")
    while len(left) > 1:
        unasked = left[-1:] if len(left) % group == 1 else left[:0]
        playing = left[: len(left) - len(unasked)]
        whole, rest = np.split(playing, [len(playing) // group * group])
        groups = [whole.reshape(-1, group)] + ([np.resize(rest, (1, group))] if len(rest) else [])
        meetings = np.concatenate(groups)
        taken += len(meetings)
        left = np.concatenate([meetings[np.arange(len(meetings)), winners(meetings)], unasked])
    return int(left[0]), taken


QUERIES = 64
SEED = 2**42  # of the draws; no training or held-out loss uses it


@measure(
    recipe=1,
    texts=exact("texts among which one is sought"),
    group=exact("texts that one pass compares"),
    queries=exact("held-out queries that were sought"),
    passes=exact("forward passes of the matcher for one query"),
    top_1=numeric("share of queries that end at their own text", rtol=0.02, atol=0.03),
)
@torch.no_grad()
def tournament_search(trained: TrainedRun) -> Rows:
    """The matcher as a search engine: tournaments among more and more held-out texts, with their passes (001-30).

    One row per number of texts: one group, and twice as many again and again, up to all that are held out.
    """
    task, device = trained.task(), available_device(trained.run.device)
    model = trained.model().to(device)
    assert isinstance(task, Retrieval)
    most, group = len(task.raw["validation"].texts), task.vocabulary
    sizes = sorted({most, *(group * 2**power for power in range(20) if group * 2**power < most)})
    queries = np.arange(min(QUERIES, most), dtype=np.int64)
    for n in sizes:
        drawn = draw(generator(SEED, n), queries, most, n)
        ends = [
            search(texts, group, _winners(model, task, query, device))
            for query, texts in zip(queries.tolist(), drawn.candidates, strict=True)
        ]
        right = np.mean([end == query for (end, _), query in zip(ends, queries, strict=True)])
        taken = {count for _, count in ends}
        assert taken == {passes(n, group)}
        yield (n, group, len(queries), passes(n, group), float(right))


def _winners(model: SequenceModel, task: Retrieval, query: int, device: str) -> Winners:
    """Which of each group the matcher scores highest for one query."""
    sides = task.embedded["validation"]

    def of(groups_PC: Groups) -> NDArray[np.int64]:
        query_P1D = sides.queries[query].expand(len(groups_PC), 1, -1)
        read_PCD = torch.cat([query_P1D, sides.texts[torch.from_numpy(groups_PC)]], dim=1)
        return model(read_PCD.to(device)).argmax(dim=-1).cpu().numpy()

    return of
