"""Made-up runs of study 000 at fixed budgets, whose best sizes and exponents are known."""

import numpy as np
import pandas as pd

BUDGETS = (1e10, 3e10, 1e11)
BUDGET_OF_DEPTH, WIDTHS = 3e11, (8, 16, 24, 48, 96)
OPERATIONS = {"mlp": 0.5, "gpt2-last": 4.0}  # counted over 6 N D


def scaling_rows(
    gap: float = 0.1, exponent: float = 0.5, gpt_exponent: float = 0.5, noise: float = 0.002, seeds: int = 7
) -> pd.DataFrame:
    """Runs of both models at three budgets of five sizes, parabolas in log N; the GPT is lower by `gap`."""
    rng = np.random.default_rng(0)
    rows = []
    for model, grows in (("mlp", exponent), ("gpt2-last", gpt_exponent)):
        for budget in BUDGETS:
            best = 2e4 * (budget / 1e10) ** grows
            for n in best * np.geomspace(0.2, 5, 5):
                for seed in range(seeds):
                    loss = 5.5 * (budget / 1e10) ** -0.1 - gap * (model != "mlp")
                    loss += 0.05 * np.log(n / best) ** 2 + noise * rng.normal()
                    counted = OPERATIONS[model] * budget
                    weights = int(n)
                    rows.append((model, seed, budget, weights, int(weights**0.7), budget / 6 / weights, counted, loss))
    columns = "model seed budget_flops parameters non_embedding_parameters supervised_tokens counted_flops"
    table = pd.DataFrame(rows, columns=[*columns.split(), "validation_nats"])
    run = table["model"] + table["budget_flops"].astype(str) + table["parameters"].astype(str)
    return table.assign(
        part="scaling", shape="base", epochs_1=table["budget_flops"] / 5e10, run=run + table["seed"].astype(str)
    )


def depth_rows(
    deep: float,
    gain: float = 0.1,
    weights: tuple[int, int] = (100, 102),
    best: int = 24,
    widths: tuple[int, ...] = WIDTHS,
) -> pd.DataFrame:
    """Two depths, and MLPs of the same budget whose loss doubling the width up to the `best` one lowers by `gain`."""
    rows = []
    for width in widths:
        for seed in range(5):
            loss = 4 + gain * np.log2(width / best) ** 2 + 0.003 * np.sin(5 * seed + width)
            rows.append(("mlp", "base", seed, 10 * width, loss, 2, 4 * width, width, "scaling"))
    for shape, shift, count in zip(("base", "deep"), (0.0, deep), weights, strict=True):
        for seed in range(5):
            loss = 4 + shift + 0.003 * np.sin(7 * seed + ord(shape[0]))
            rows.append(("mlp", shape, seed, count, loss, 6 if shape == "deep" else 2, 96, 24, "depth"))
    columns = ["model", "shape", "seed", "parameters", "validation_nats", "n_blocks", "d_mlp", "d_model", "part"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(run=range(len(table)), budget_flops=BUDGET_OF_DEPTH)
