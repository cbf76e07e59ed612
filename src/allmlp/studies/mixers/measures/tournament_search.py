"""The matcher as a search engine: tournaments among more and more held-out texts, with their passes (001-30)."""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from allmlp.columns import exact, numeric
from allmlp.models.base import SequenceModel
from allmlp.protocols import Trained
from allmlp.studies.mixers.measures.tournament_passes import Groups, Winners, passes, search
from allmlp.tasks.embeddings import device_here
from allmlp.tasks.retrieval import Retrieval, draw
from allmlp.tasks.task import generator

RECIPE = 1
QUERIES = 64
SEED = 2**42  # of the draws; no training or held-out loss uses it

COLUMNS = {
    "texts": exact("texts among which one is sought"),
    "group": exact("texts that one pass compares"),
    "queries": exact("held-out queries that were sought"),
    "passes": exact("forward passes of the matcher for one query"),
    "top_1": numeric("share of queries that end at their own text", rtol=0.02, atol=0.03),
}


@torch.no_grad()
def measure(trained: Trained) -> pd.DataFrame:
    """One row per number of texts: one group, and twice as many again and again, up to all that are held out."""
    task, device = trained.task(), device_here(trained.run.device)
    model = trained.model().to(device)
    assert isinstance(task, Retrieval)
    most, group = len(task.raw["validation"].texts), task.vocabulary
    sizes = sorted({most, *(group * 2**power for power in range(20) if group * 2**power < most)})
    queries = np.arange(min(QUERIES, most), dtype=np.int64)
    rows = []
    for n in sizes:
        drawn = draw(generator(SEED, n), queries, most, n)
        ends = [
            search(texts, group, _winners(model, task, query, device))
            for query, texts in zip(queries.tolist(), drawn.candidates, strict=True)
        ]
        right = np.mean([end == query for (end, _), query in zip(ends, queries, strict=True)])
        taken = {count for _, count in ends}
        assert taken == {passes(n, group)}
        rows.append((n, group, len(queries), passes(n, group), float(right)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _winners(model: SequenceModel, task: Retrieval, query: int, device: str) -> Winners:
    """Which of each group the matcher scores highest for one query."""
    sides = task.embedded["validation"]

    def of(groups_PC: Groups) -> NDArray[np.int64]:
        query_P1D = sides.queries[query].expand(len(groups_PC), 1, -1)
        read_PCD = torch.cat([query_P1D, sides.texts[torch.from_numpy(groups_PC)]], dim=1)
        return model(read_PCD.to(device)).argmax(dim=-1).cpu().numpy()

    return of
