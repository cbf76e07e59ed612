"""Made-up measurements of study 001's trainings, of which every comparison is known."""

import numpy as np
import pandas as pd

SEEDS, STEPS = range(6), 400
ARCHITECTURES = {"llama": "llama", "gpt": "openai-gpt", "hybrid": "hybrid"}


def noise(seed: int) -> float:
    """The same for every model: what is paired by seed has next to no spread of it."""
    return 0.01 * ((seed * 7) % 5 - 2)


def curve(
    variant: str,
    loss: float,
    *,
    seconds: float = 0.01,
    flops: int = 1000,
    steps: int = STEPS,
    gap: float = 0.1,
    size: str = "base",
    d_model: int = 64,
    n_blocks: int = 2,
    batch_size: int = 16,
    padding: str = "right",
    part: str = "training",
    schedule: str = "constant",
    diverged: tuple[int, ...] = (),
    seeds=SEEDS,
) -> pd.DataFrame:
    """Rows of `learning_curve` whose held-out loss falls by 0.1 for each doubling of the steps, to `loss` at 400."""
    at = np.array([1, 25, 50, *range(100, steps + 1, 100)])
    rows = []
    for seed in seeds:
        own = loss + noise(seed) + 1e-3 * ((seed + len(variant)) % 3) + 0.1 * np.log2(STEPS / at)
        label = {
            "variant": variant, "model": ARCHITECTURES.get(variant.split("-")[0], "masked-mixer"), "size": size,
            "d_model": d_model, "n_blocks": n_blocks, "batch_size": batch_size, "padding": padding, "part": part,
            "schedule": schedule, "text": part, "seed": seed, "run": f"{variant}-{size}-{padding}-{part}-{seed}",
        }  # fmt: skip
        columns = {
            "step": at,
            "flops": at * flops,
            "seconds": at * seconds,
            "seconds_per_step": seconds * (1 + seed / 50),
        }
        losses = {"train_nats": own - gap, "validation_nats": own}
        ended = {"learning_rate": 0.01, "diverged": seed in diverged}
        rows.append(pd.DataFrame({**columns, **losses, **ended}).assign(**label))
    return pd.concat(rows, ignore_index=True)


def table(*parts: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True)


def leaks(**changes: float) -> pd.DataFrame:
    """Rows of `leak`: largest changes of a logit, by what follows `hybrid-` in a model's name."""
    found = [("as-published", "left", 1.5), ("after", "right", 0.0), ("before", "right", 0.0)]
    rows = [
        {
            "variant": f"hybrid-{order}", "padding": padding, "size": "base", "part": "training", "seed": seed,
            "run": f"{order}-{seed}", "rows": 16, "changed_share_1": 0.5,
            "largest_change_1": changes.get(order.replace("-", "_"), change),
        }
        for order, padding, change in found
        for seed in SEEDS
    ]  # fmt: skip
    return pd.DataFrame(rows)
