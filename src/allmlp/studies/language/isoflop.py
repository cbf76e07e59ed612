"""The best size for a budget: a parabola in log N per budget, power laws over budgets, their intervals (000-2).

Rows are runs of the measure `scaling` with the labels model, budget_flops, seed. All logarithms are natural, all
maths float64. A minimum is known only if the parabola opens upwards and its vertex lies inside the sizes tried.
Otherwise the budget is left out of the power laws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SIZE, DATA, BUDGET = "parameters", "supervised_tokens", "budget_flops"
FEWEST_SIZES, FEWEST_BUDGETS = 3, 2  # fewer do not determine a parabola, or a line
DRAWS = 1000

Array = NDArray[np.float64]
Values = Sequence[float] | Array | pd.Series  # (n,)


@dataclass(frozen=True)
class Parabola:
    """loss = lowest + curvature (log x - log_vertex)^2; all NaN if the parabola does not open upwards."""

    log_vertex: float
    lowest: float
    curvature: float
    log_smallest: float
    log_largest: float

    @property
    def inside(self) -> bool:
        """Does the vertex lie inside the sizes tried?"""
        return bool(self.log_smallest <= self.log_vertex <= self.log_largest)

    @property
    def side(self) -> str:
        """Where the minimum is: "inside", "below" or "above" the sizes tried, "nowhere" for a hill or a line."""
        if np.isnan(self.log_vertex):
            return "nowhere"
        return "inside" if self.inside else "below" if self.log_vertex < self.log_smallest else "above"

    def __call__(self, x: Array) -> Array:
        return self.lowest + self.curvature * (np.log(x) - self.log_vertex) ** 2


def parabola(x: Values, loss: Values) -> Parabola:
    """Least squares in log x; x, loss (n,) of one budget. Raises ValueError for fewer than three different x."""
    log_x, loss = np.log(np.asarray(x, dtype=np.float64)), np.asarray(loss, dtype=np.float64)
    if len(np.unique(log_x)) < FEWEST_SIZES:
        raise ValueError(f"a parabola needs {FEWEST_SIZES} sizes, there are {len(np.unique(log_x))}")
    ends = float(log_x.min()), float(log_x.max())
    middle = log_x.mean()  # the powers of centred logarithms are nearly orthogonal
    powers = np.stack([(log_x - middle) ** k for k in range(3)], axis=1)
    constant, slope, curvature = np.linalg.lstsq(powers, loss, rcond=None)[0]
    if not (np.isfinite(loss).all() and curvature > 0):
        return Parabola(np.nan, np.nan, np.nan, *ends)
    vertex = -slope / (2 * curvature)
    return Parabola(float(middle + vertex), float(constant - curvature * vertex**2), float(curvature), *ends)


def gain_to_best(rows: pd.DataFrame, size: str) -> tuple[pd.Series, Parabola]:
    """Per seed, the gain (nats) from doubling `size` up to the best one, and the parabola that gives the best.

    rows: runs of one model and budget. The best size is the vertex for the mean over seeds. Each seed's loss at this
    size and at half of it is read from the seed's own quadratic fit of the losses over log size.
    """
    means = rows.groupby(size)["validation_nats"].mean()
    best = parabola(means.index.to_numpy(), means)
    at = np.array([best.log_vertex - np.log(2), best.log_vertex]) - best.log_smallest
    gains = {}
    for seed, of_seed in rows.groupby("seed"):
        log_size = np.log(of_seed[size].to_numpy(dtype=np.float64)) - best.log_smallest
        half, whole = np.polyval(np.polyfit(log_size, of_seed["validation_nats"], 2), at)
        gains[seed] = half - whole
    return pd.Series(gains), best


def slope(x: Values, y: Values) -> float:
    """The exponent of y in x by least squares of logarithms, (n,) each; NaN for fewer than two points."""
    log_x, log_y = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    if len(log_x) < FEWEST_BUDGETS:
        return float("nan")
    centred = log_x - log_x.mean()
    return float(centred @ log_y / (centred @ centred))


def minima(rows: pd.DataFrame, size: str = SIZE) -> pd.DataFrame:
    """One row per model, seed and budget: the vertex of its parabola and the best run tried.

    Columns model, seed, budget_flops, side, n_opt (the vertex), d_opt (of a separate parabola in the data, independent
    of n_opt), vertex_nats, curvature, best_nats, best_parameters, best_counted_flops.
    """
    found = []
    for (model, seed, budget), cell in rows.groupby(["model", "seed", BUDGET]):
        in_size, in_data = parabola(cell[size], cell["validation_nats"]), parabola(cell[DATA], cell["validation_nats"])
        best = cell.sort_values("validation_nats", kind="stable").iloc[0]
        found.append(
            {
                "model": model,
                "seed": seed,
                BUDGET: budget,
                "side": in_size.side,
                "n_opt": np.exp(in_size.log_vertex),
                "d_opt": np.exp(in_data.log_vertex) if in_data.inside else np.nan,
                "vertex_nats": in_size.lowest,
                "curvature": in_size.curvature,
                "best_nats": best["validation_nats"],
                "best_parameters": best[SIZE],
                "best_counted_flops": best["counted_flops"],
            }
        )
    return pd.DataFrame(found)


def exponents(found: pd.DataFrame) -> pd.DataFrame:
    """One row per model and seed of `minima`: size_1 (a), data_1 (b), and the number of budgets behind them.

    Budgets with a vertex outside are left out; NaN if fewer than two remain.
    """
    rows = []
    for (model, seed), of_seed in found.groupby(["model", "seed"]):
        inside = of_seed[of_seed["side"] == "inside"]
        data = inside.dropna(subset="d_opt")
        rows.append(
            {
                "model": model,
                "seed": seed,
                "size_1": slope(inside[BUDGET], inside["n_opt"]),
                "data_1": slope(data[BUDGET], data["d_opt"]),
                "budgets": len(inside),
            }
        )
    return pd.DataFrame(rows, columns=["model", "seed", "size_1", "data_1", "budgets"])


def pool_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    """All seeds as one: the mean loss of each model, budget and size."""
    by = ["model", BUDGET, SIZE]
    means = rows.groupby(by, as_index=False).mean(numeric_only=True)
    return means.assign(seed=0)


def bootstrap(rows: pd.DataFrame, size: str = SIZE, draws: int = DRAWS, level: float = 0.95) -> pd.DataFrame:
    """Percentile intervals of both exponents over runs drawn again within each model, budget and size.

    Columns model, size_low, size_high, data_low, data_high, share_1 (draws that gave an exponent). Runs of one size are
    exchangeable, so this shows the effect of seed noise on the whole fit; verdicts use seeds instead. The draws are the
    same each time.
    """
    rng = np.random.default_rng(0)
    tail = (1 - level) / 2 * 100
    found = []
    for model, of_model in rows.groupby("model"):
        budgets = {
            budget: cell.groupby(size, as_index=False).agg({DATA: "first", "validation_nats": list})
            for budget, cell in of_model.groupby(BUDGET)
        }
        size_1, data_1 = _draw_exponents(budgets, size, draws, rng)
        row: dict[str, object] = {"model": model}
        for name, values in (("size", size_1), ("data", data_1)):
            there = values[np.isfinite(values)]
            ends = np.percentile(there, [tail, 100 - tail]) if len(there) else (np.nan, np.nan)
            row |= {f"{name}_low": ends[0], f"{name}_high": ends[1]}
        found.append({**row, "share_1": float(np.isfinite(size_1).mean())})
    return pd.DataFrame(found)


def _draw_exponents(
    budgets: Mapping[Any, pd.DataFrame], size: str, draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Both exponents of each draw, (draws,). budgets: FLOPs -> a row per size, with its data and all runs' losses."""
    cells = list(budgets.values())
    counts = [len(losses) for cell in cells for losses in cell["validation_nats"]]
    picks = rng.integers(0, np.broadcast_to(np.repeat(counts, counts), (draws, sum(counts))))
    of_runs = iter(np.split(picks, np.cumsum(counts)[:-1], axis=1))
    sizes, data = [], []
    for cell in cells:
        means = np.stack([np.array(losses)[next(of_runs)].mean(axis=1) for losses in cell["validation_nats"]])
        sizes.append(_vertices(cell[size].to_numpy(dtype=np.float64), means))
        of_data = _vertices(cell[DATA].to_numpy(dtype=np.float64), means)
        data.append(np.where(np.isnan(sizes[-1]), np.nan, of_data))
    log_flops = np.log(list(budgets))
    return _slopes(log_flops, np.stack(sizes)), _slopes(log_flops, np.stack(data))


def _vertices(x: Array, losses: Array) -> Array:
    """log x at the vertex of each `parabola`, (m,); NaN where it lies outside of x. x: (n,), losses: (n, m)."""
    log_x = np.log(x)
    middle = log_x.mean()
    powers = np.stack([(log_x - middle) ** k for k in range(3)], axis=1)
    _, slope, curvature = np.linalg.lstsq(powers, losses, rcond=None)[0]
    vertices = middle - slope / (2 * np.where(curvature > 0, curvature, np.nan))
    return np.where((vertices >= log_x.min()) & (vertices <= log_x.max()), vertices, np.nan)


def _slopes(log_x: Array, log_y: Array) -> Array:
    """`slope` of each column's known values, (m,). log_x: (n,), log_y: (n, m)."""
    known = np.isfinite(log_y)
    count = known.sum(axis=0)
    centred = np.where(known, log_x[:, None] - (known * log_x[:, None]).sum(axis=0) / np.maximum(count, 1), 0)
    found = (centred * np.where(known, log_y, 0)).sum(axis=0) / np.where(count > 1, (centred**2).sum(axis=0), np.nan)
    return np.where(count >= FEWEST_BUDGETS, found, np.nan)
