"""How far a trained hybrid's logits move when later tokens change: exactly 0 for a causal model (001-19, E001-10)."""

import pandas as pd
import torch
from torch import Tensor

from allmlp.columns import exact, numeric
from allmlp.models.base import SequenceModel
from allmlp.protocols import Trained
from allmlp.tasks.documents import Documents
from allmlp.tasks.task import IGNORED, generator

RECIPE = 2
ROWS = 16  # held-out rows, those with the most padding
PLACES = 6  # positions per row after which all tokens are changed
SEED = 1

COLUMNS = {
    "rows": exact("held-out rows looked at"),
    "padded_rows": exact("those of them with padding"),
    "changed_share_1": numeric("share of rows with a logit that changed with later tokens", rtol=0, atol=0.2),
    "largest_change_1": numeric(
        "largest change of a logit at a position before all changed tokens", rtol=0.5, atol=1e-9
    ),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row: in float64, on the held-out rows with the most padding."""
    task = trained.task()
    assert isinstance(task, Documents)
    tokens, targets = (torch.cat(parts) for parts in zip(*task.validation(), strict=True))
    most = (targets != IGNORED).sum(1).argsort(stable=True)[:ROWS]
    tokens, text = tokens[most], targets[most] != IGNORED
    changes = largest_changes(trained.model().double(), tokens, text, task.vocabulary, task.eod)
    share, largest = float((changes > 0).double().mean()), float(changes.max())
    return pd.DataFrame([(len(tokens), int((~text).any(1).sum()), share, largest)], columns=list(COLUMNS))


@torch.no_grad()
def largest_changes(model: SequenceModel, tokens_BT: Tensor, text_BT: Tensor, vocabulary: int, end: int) -> Tensor:
    """Per row, the largest change of a logit before a place where all later tokens of the text are replaced: (B,).

    text_BT: where a row has text. Padding is kept, because a text of another length is another text. The place is drawn
    within the text. Replaced tokens differ from the old ones and are never `end`, the token that pads.
    """
    rng, (B, T) = generator(SEED), tokens_BT.shape
    given, worst = model(tokens_BT), torch.zeros(B, dtype=torch.float64)
    position_T = torch.arange(T)
    first_B, last_B = text_BT.int().argmax(1), T - 1 - text_BT.flip(1).int().argmax(1)
    for _ in range(PLACES):
        share_B = torch.from_numpy(rng.random(B))
        place_B = first_B + 1 + (share_B * (last_B - first_B).clamp(min=1)).long()
        moves_BT = torch.from_numpy(rng.integers(1, vocabulary - 1, (B, T)))
        after_end_BT = (tokens_BT - end) % vocabulary  # the ids in a ring, counted from the end's: 0 is the end
        others_BT = (end + 1 + (after_end_BT - 1 + moves_BT) % (vocabulary - 1)) % vocabulary
        later_BT = text_BT & (position_T >= place_B[:, None])
        change_BT = (model(torch.where(later_BT, others_BT, tokens_BT)) - given).abs().amax(-1)
        before_BT = text_BT & (position_T < place_B[:, None])
        worst = torch.maximum(worst, change_BT.where(before_BT, 0.0).amax(1).double())
    return worst
