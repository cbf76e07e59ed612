"""Sizes, budgets, depth (000-1 to 000-4, 000-own-1, -own-2). The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.correction import adjust_p_values
from allmlp.judging.multiplicity import partial_conjunction, require_all_parts
from allmlp.judging.rules import NotPlannedError, judge_all, nowhere_verdict, part_rows, premise
from allmlp.judging.statistics import Finding, Verdict, judge_better, judge_equal, judge_prediction
from allmlp.report.names import display
from allmlp.spec.protocols import Evidence
from allmlp.studies.language.isoflop import BUDGET, FEWEST_SIZES, SIZE, Parabola, exponents, gain_to_best, minima, slope

MLP, GPT = "mlp", "gpt2-last"
CHOOSING = 2  # seeds reserved for choosing the size of a bump
WIDTH = "d_model"
FEWEST = 3  # budgets with a minimum inside that a difference of exponents needs
NOT_THE_PAPERS = "these are not the paper's budgets"


def bump(evidence: Evidence) -> Finding:
    """000-1: a local maximum of the loss over size, in more than half of the budgets."""
    rows = part_rows(evidence.table("scaling"), "scaling", models=[MLP])
    limit = evidence.margin["prominence_nats"]
    mine = rows[rows["model"] == MLP]
    found = {
        f"{budget:.2g}": judge_all(
            {
                side: judge_better(heights, limit, unit="nats")
                for side, heights in prominence(mine[mine[BUDGET] == budget]).items()
            }
        )
        for budget in sorted(mine[BUDGET].unique())
    }
    adjusted = adjust_p_values({name: 1.0 if f.p is None else f.p for name, f in found.items()})
    held = [name for name, f in found.items() if f.verdict == "reproduced" and adjusted[name] <= 0.05]
    needed = len(found) // 2 + 1
    highest = max(found.values(), key=lambda f: -np.inf if np.isnan(f.value) else f.value)
    verdict: Verdict = "reproduced" if len(held) >= needed else nowhere_verdict(found.values())
    p = sorted(adjusted.values())[needed - 1]  # p that at least this many hold (partial conjunction)
    listed = "; ".join(f"C = {name}: {f.text}" for name, f in found.items())
    text = f"a bump in {len(held)} of {len(found)} budgets ({needed} needed); {listed}"
    p_against = partial_conjunction((f.p_against for f in found.values()), len(found))  # every budget refutes
    return replace(highest, verdict=verdict, text=text, p=p, p_against=p_against)


def prominence(cell: pd.DataFrame) -> dict[str, np.ndarray]:
    """Height of the bump over the valley on either side, for each seed not used to find them.

    cell: runs of one model and budget. The first seeds, by number, choose the interior size and the two valleys.
    """
    losses = cell.pivot(index="seed", columns=SIZE, values="validation_nats").sort_index(axis=1)
    if losses.shape[1] < 3:
        raise NotPlannedError("needs three sizes of each budget, which are not planned")
    chosen, others = losses.iloc[:CHOOSING].mean().to_numpy(), losses.iloc[CHOOSING:].to_numpy()
    inner = range(1, losses.shape[1] - 1)
    at = max(inner, key=lambda i: chosen[i] - max(chosen[:i].min(), chosen[i + 1 :].min()))
    valleys = {"over smaller sizes": chosen[:at].argmin(), "over larger sizes": at + 1 + chosen[at + 1 :].argmin()}
    return {side: others[:, at] - others[:, valley] for side, valley in valleys.items()}


def size_exponents(evidence: Evidence) -> Finding:
    """000-2: the exponent of the best size, for both architectures, beside 0.24 and 0.49."""
    rows = part_rows(evidence.table("scaling"), "scaling", models=(MLP, GPT))
    paper, margin = evidence.paper, evidence.margin["exponent_1"]
    found = minima(rows)
    a = exponents(found).pivot(index="seed", columns="model", values="size_1")
    printed = {MLP: paper["mlp_size_exponent_1"], GPT: paper["gpt_size_exponent_1"]}
    predicted = {
        display(model): judge_prediction(a[model].to_numpy(), value, max_half_width=margin, rounding=0.005)
        for model, value in printed.items()
    }
    smaller = {
        display(model): judge_better((paper["hoffmann_size_exponent_1"] - a[model]).to_numpy(), margin)
        for model in printed
    }
    few, outside = _fewest_inside(found) < FEWEST, _outside_text(found)
    reason = f"fewer than {FEWEST} budgets of some seed have their minimum inside the sizes tried"
    parts = {
        "(a) 0.24 for both": premise(judge_all(predicted), NOT_THE_PAPERS, holds=evidence.scale == "paper"),
        "(b) alike": premise(judge_equal((a[MLP] - a[GPT]).to_numpy(), margin), reason, holds=not few),
        "(c) below 0.49": premise(judge_all(smaller), reason, holds=not few),
    }
    here = {"mlp_size_exponent_1": float(a[MLP].mean()), "gpt_size_exponent_1": float(a[GPT].mean())}
    finding = replace(require_all_parts(parts), here=here)
    return replace(finding, text=f"{finding.text}; {outside}") if outside else finding


def best_losses(evidence: Evidence) -> Finding:
    """000-3: the GPT lower at every budget, both improving alike."""
    best = minima(part_rows(evidence.table("scaling"), "scaling", models=(MLP, GPT)))
    models = best.groupby(BUDGET)["model"].nunique()
    best = best[best[BUDGET].isin(models.index[models == 2])]
    if best.empty:
        raise NotPlannedError("needs budgets that both architectures share, which are not planned")
    wide = best.pivot(index=["seed", BUDGET], columns="model", values="best_nats")
    ratios = [_slope_ratio(of_seed.droplevel("seed")) for _, of_seed in wide.groupby("seed")]
    margin, gaps = evidence.margin, (wide[MLP] - wide[GPT]).unstack(BUDGET)
    lower = {
        _budget_name(at): judge_better(gaps[at].to_numpy(), margin["loss_nats"], unit="nats")
        for at in wide.index.unique(BUDGET)
    }
    parts = {
        "(a) GPT lower everywhere": judge_all(lower),
        "(b) slopes alike": judge_equal([ratio - 1 for ratio in ratios], margin["slope_ratio_1"]),
    }
    finding = require_all_parts(parts)
    budgets = ", ".join(f"{budget:.2g}" for budget in wide.index.unique(BUDGET))
    return replace(finding, text=f"{finding.text}; at {budgets}, which count supervised targets only")


def depth_and_width(evidence: Evidence) -> Finding:
    """000-4: deeper at equal size changes less than doubling the width up to the best one does, at equal compute."""
    rows = part_rows(evidence.table("scaling"), "depth")
    sizes = rows.groupby("shape")[SIZE].first()
    if abs(np.log(sizes["deep"] / sizes["base"])) > np.log(1.05):
        raise NotPlannedError("needs a deeper model within 5 % of the other's weights")
    losses = rows.pivot(index="seed", columns="shape", values="validation_nats")
    deeper = losses["deep"] - losses["base"]
    grid = part_rows(evidence.table("scaling"), "scaling", models=[MLP])
    gain, best = gain_to_best(_budget_rows(grid, rows[BUDGET].iloc[0]), WIDTH)
    more = judge_better((gain.reindex(deeper.index) - deeper.abs()).to_numpy(), 0.0, unit="nats")
    text = f"{more.text}; doubling the width up to the best one gains {gain.mean():.3g} nats"
    reason = _unknown_gain_reason(best)
    parts = {
        "(a) depth alters little": judge_equal(deeper.to_numpy(), evidence.margin["loss_nats"], unit="nats"),
        "(b) width gains more": premise(replace(more, text=text), reason, holds=not reason),
    }
    return require_all_parts(parts)


def _budget_rows(grid: pd.DataFrame, budget: float) -> pd.DataFrame:
    """The MLPs of one budget. NotPlannedError if they have too few widths for a best one."""
    found = grid[(grid["model"] == MLP) & (grid[BUDGET] == budget)]
    if found[WIDTH].nunique() < FEWEST_SIZES:
        raise NotPlannedError(f"needs MLPs of {FEWEST_SIZES} widths at {budget:.2g}, the budget of the deeper ones")
    return found


def _unknown_gain_reason(best: Parabola) -> str:
    """Why the gain of the last doubling up to the best width is unknown; empty if it is known."""
    if not best.inside:
        return f"the mean losses have no minimum inside the widths tried ({best.side})"
    if best.log_vertex - np.log(2) < best.log_smallest:
        half, smallest = np.exp(best.log_vertex) / 2, np.exp(best.log_smallest)
        return f"half of the best width, {half:.3g}, is below the smallest tried, {smallest:.3g}"
    return ""


def equal_operations(evidence: Evidence) -> Finding:
    """000-own-1: is the MLP lower at equal counted operations?"""
    best = minima(part_rows(evidence.table("scaling"), "scaling", models=(MLP, GPT)))
    paired = best.groupby("seed").filter(lambda of_seed: of_seed["model"].nunique() == 2)
    of_seeds = {seed: gaps_at_equal_operations(of_seed) for seed, of_seed in paired.groupby("seed")}
    gaps = pd.concat(of_seeds, names=["seed"])
    counted = gaps["covered"].groupby(BUDGET).sum()
    if not counted.any():
        raise NotPlannedError("needs budgets of both that cost alike in counted operations, which are not planned")
    shared = counted.index[counted == counted.max()]  # a seed's best run of another size may lie outside
    margin = evidence.margin["loss_nats"]
    return judge_all(
        {
            _budget_name(at): judge_better(gaps["gap_nats"].xs(at, level=BUDGET).to_numpy(), margin, unit="nats")
            for at in shared
        }
    )


def gaps_at_equal_operations(best: pd.DataFrame) -> pd.DataFrame:
    """Loss of each of the GPT's best runs minus the MLP's at its counted operations: a row for each budget of the GPT,
    with `covered`, was the MLP tried there?, and `gap_nats`, NaN where it was not and for a run that diverged.

    best: rows of `minima` of one seed. The MLP's loss is interpolated between its best runs in the logarithms of loss
    and operations; if a more expensive run is worse, the cheaper one's loss is used.
    """
    points = {
        model: best[best["model"] == model]
        .sort_values("best_counted_flops", kind="stable")
        .set_index(BUDGET)[["best_counted_flops", "best_nats"]]
        for model in (MLP, GPT)
    }
    x, y = np.log(points[MLP].to_numpy(dtype=float)).T
    at, loss = np.log(points[GPT].to_numpy(dtype=float)).T
    covered = (x.min() <= at) & (at <= x.max()) if len(x) else np.zeros(len(at), dtype=bool)
    theirs = np.interp(at, x, np.minimum.accumulate(y)) if len(x) else np.full(len(at), np.nan)
    gap = np.where(covered, np.exp(loss) - np.exp(theirs), np.nan)
    return pd.DataFrame({"covered": covered, "gap_nats": gap}, index=points[GPT].index)


def _budget_name(flops: float) -> str:
    return f"C = {flops:.2g}"


def what_counts_as_size(evidence: Evidence) -> Finding:
    """000-own-2: the MLP's exponent without embeddings minus the one with them."""
    rows = part_rows(evidence.table("scaling"), "scaling", models=[MLP])
    rows = rows[rows["model"] == MLP]
    with_all, without = minima(rows), minima(rows, "non_embedding_parameters")
    inside = (with_all["side"] == "inside") & (without["side"] == "inside")
    a, b = (exponents(found[inside]).set_index("seed")["size_1"] for found in (with_all, without))
    seeds = rows["seed"].unique()
    differences = (b - a).reindex(seeds)  # a seed without two such budgets gives no number
    finding = judge_better(differences.to_numpy(), evidence.margin["exponent_1"])
    outside = _outside_text(with_all[~inside])
    return replace(finding, text="; ".join(filter(None, [finding.text, outside])))


def _slope_ratio(wide: pd.DataFrame) -> float:
    """The ratio of the MLP's to the GPT's slope of the best loss over the budget; wide: (budgets, models)."""
    budgets = wide.index.to_numpy(dtype=float)
    return slope(budgets, wide[MLP]) / slope(budgets, wide[GPT])


def _fewest_inside(found: pd.DataFrame) -> int:
    """The smallest number of budgets, over seeds and models, whose minimum lies inside."""
    return int((found["side"] == "inside").groupby([found["model"], found["seed"]]).sum().min())


def _outside_text(found: pd.DataFrame) -> str:
    """Which budgets are left out, and in how many seeds."""
    left = found[found["side"] != "inside"].groupby(["model", BUDGET], as_index=False).size()
    listed = ", ".join(f"{display(str(row.model))} {row.budget_flops:.2g} ({row.size})" for row in left.itertuples())
    return f"left out, minimum outside the sizes tried (seeds): {listed}" if listed else ""
