"""Which width is best, and whether width or depth matters (001-5, -6, -12). The unit is the seed."""

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding, Values, better
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import BASE, FLAT, deepest, of_model, widths
from allmlp.studies.mixers.verdicts.common import NATS, both, not_judged, of_parts, only_on_paper, smallest, trainings
from allmlp.studies.mixers.verdicts.expansion import MANY_HEADS

BEST_LLAMA, BEST_FLAT = 512, 1024  # the widths that the article finds best
BESIDE_LLAMA = (128, 256, 1024)  # the other widths of Llamas that it tries
BESIDE_FLAT = (256, 2048)  # of flat mixers: the next smaller one that it tries, and the next larger one


def best_llama(evidence: Evidence) -> Finding:
    """001-5: the printed losses of Llamas with 16 heads, and is width 512 the best at equal time?"""
    of_width = widths(trainings(evidence), MANY_HEADS)
    printed: dict[str, Values] = {}
    for width, rows in of_width.items():
        printed |= {key.replace("loss", f"loss_d{width}"): values for key, values in both(rows, "").items()}
    known = {key: values for key, values in printed.items() if key in evidence.paper}
    margin = evidence.margin["loss_nats"]
    return of_parts(
        {
            "(a) printed losses": lambda: only_on_paper(evidence, known or None, refuting=2),
            "(b) width 512 is best": lambda: _ahead_of_others(of_width, BEST_LLAMA, BESIDE_LLAMA, margin),
        }
    )


def flat_against_llama(evidence: Evidence) -> Finding:
    """001-6: at equal time the best flat mixer beats the best Llama with 16 heads, and width 1,024 is its best."""
    rows, margin = trainings(evidence), evidence.margin
    flat, llama = widths(rows, FLAT), widths(rows, MANY_HEADS)

    def behind() -> Finding:
        amount = budgets.budget([*flat.values(), *llama.values()], "seconds")
        best_flat, best_llama = (
            smallest({str(width): budgets.at(of_one, "seconds", amount) for width, of_one in of_width.items()})
            for of_width in (flat, llama)
        )
        return better((best_llama - best_flat).to_numpy(), margin["loss_nats"], unit=NATS)

    return of_parts(
        {
            "(a) printed losses": lambda: only_on_paper(evidence, _flat_losses(rows, flat), tolerated=1, refuting=3),
            "(b) best Llama behind best flat mixer": behind,
            "(c) width 1,024 is the flat mixer's best": lambda: _ahead_of_others(
                flat, BEST_FLAT, BESIDE_FLAT, margin["loss_nats"]
            ),
        }
    )


def width_against_depth(evidence: Evidence) -> Finding:
    """001-12: a deep and narrow flat mixer ends far behind a wide and shallow one."""
    rows = trainings(evidence)
    deep, wide = deepest(rows, FLAT), _wide(rows)
    losses: dict[str, Values] = {
        "deep_validation_loss_nats": budgets.ends(deep).to_numpy(),
        "wide_validation_loss_nats": budgets.ends(wide).to_numpy(),
    }
    sizes = " against ".join(
        f"{int(one['n_blocks'].iloc[0])} blocks of width {int(one['d_model'].iloc[0])}" for one in (deep, wide)
    )
    return of_parts(
        {
            f"(a) {sizes}, at equal time": lambda: better(
                budgets.compared(deep, wide, "seconds"), evidence.margin["gap_nats"], unit=NATS
            ),
            "(b) printed losses": lambda: only_on_paper(evidence, losses),
        }
    )


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """The flat mixer of the width that the claim names, in its largest batch; the widest where that is not planned."""
    of_width = widths(rows, FLAT)
    if BEST_FLAT not in of_width:
        return of_width[max(of_width)]
    depth = rows.loc[rows["size"].eq(BASE), "n_blocks"]
    found = of_model(rows, FLAT, size=None)
    found = found[found["d_model"].eq(BEST_FLAT) & found["n_blocks"].isin(depth)]
    return found[found["batch_size"].eq(found["batch_size"].max())]


def _ahead_of_others(of_width: dict[int, pd.DataFrame], best: int, others: tuple[int, ...], margin: float) -> Finding:
    """Is width `best` ahead of the others at equal time: per seed, their smallest loss minus its own?"""
    if missing := [width for width in (best, *others) if width not in of_width]:
        return not_judged(f"needs width {' and '.join(f'{d:,}' for d in missing)}, which this scale does not plan")
    amount = budgets.budget([of_width[width] for width in (best, *others)], "seconds")
    losses = {width: budgets.at(of_width[width], "seconds", amount) for width in (best, *others)}
    lead = smallest({str(width): losses[width] for width in others}) - losses[best]
    return better(lead.to_numpy(), margin, unit=NATS)


def _flat_losses(rows: pd.DataFrame, of_width: dict[int, pd.DataFrame]) -> dict[str, Values] | None:
    """The ten printed losses of flat mixers: five widths or batch sizes; None where one of them is not planned."""
    found = of_model(rows, FLAT, size=None)
    wide = found[found["d_model"].eq(BEST_FLAT)]
    sizes = {f"d{width}": of_width.get(width) for width in (256, 512, BEST_FLAT, 2048)}
    sizes[f"d{BEST_FLAT}_b32"] = wide[wide["batch_size"].eq(32)]
    if any(of_one is None or of_one.empty for of_one in sizes.values()):
        return None
    return {
        f"{name}_loss_{size}_nats": budgets.ends(of_one, column).to_numpy()
        for size, of_one in sizes.items()
        if of_one is not None
        for name, column in (("train", "train_nats"), ("validation", "validation_nats"))
    }
