"""Numbers of weights by formula, so that a plan turns a budget C = 6 N D into steps without building a model.

    MLP   2 V d + T d^2 + d + 2 d + blocks (2 d w + (w + d) + 2 (w + d))
    GPT   2 V d + T d + blocks (4 d^2 + 4 d + 2 d w + (w + d) + 4 d) + 2 d

V vocabulary, T context, d width, w hidden width; the terms beside the matrices are biases and norms. N counts all of
them, embeddings among them (000-1, E000-8).
"""

from collections.abc import Callable

from allmlp.errors import UserError


def mlp(vocabulary: int, context: int, d_model: int, d_mlp: int, n_blocks: int) -> int:
    """All weights of a `LastTokenMLP` with biases and norms."""
    d, w = d_model, d_mlp
    first = context * d * d + 3 * d
    return 2 * vocabulary * d + first + n_blocks * (2 * d * w + 3 * (w + d))


def gpt2_last(vocabulary: int, context: int, d_model: int, d_mlp: int, n_blocks: int) -> int:
    """All weights of a `LastTokenGPT2` with biases; independent of the number of heads."""
    d, w = d_model, d_mlp
    block = 4 * d * d + 4 * d + 2 * d * w + w + d + 4 * d
    return (2 * vocabulary + context) * d + n_blocks * block + 2 * d


PARAMETERS: dict[str, Callable[[int, int, int, int, int], int]] = {"mlp": mlp, "gpt2-last": gpt2_last}


def steps_of(budget_flops: float, parameters: int, batch_size: int) -> int:
    """Updates of `batch_size` targets that spend the budget C = 6 N D. UserError if it is less than one update."""
    steps = round(budget_flops / (6 * parameters * batch_size))
    if steps < 1:
        raise UserError(
            f"budget_flops={budget_flops:g}: less than one update of {parameters:,} weights on {batch_size} targets. "
            "Take a larger budget, a smaller d_model or a smaller batch_size."
        )
    return steps


def as_deep(d_mlp: int, n_blocks: int, deeper: int) -> int:
    """The hidden width at which `deeper` blocks have about as many weights as `n_blocks` of width `d_mlp`, at equal
    d."""
    return max(1, round(d_mlp * n_blocks / deeper))
