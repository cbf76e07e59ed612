"""The costs of a model: parameters, the usual estimate 6 N D, and counted operations."""

import torch
from torch.func import functional_call
from torch.utils.flop_counter import FlopCounterMode

from allmlp.models.base import SequenceModel


def parameters(model: SequenceModel) -> dict[str, int]:
    """Numbers of weights: total = embedding + non_embedding, embedding = its three parts, also listed.

    000 counts its MLP as non_embedding and its GPT with positions; 002 counts non_embedding + unembedding;
    the N of 6 N D in 000 is the total.
    """
    sizes = {name: weight.numel() for name, weight in model.named_parameters()}
    parts = {
        part: sizes[model.EMBEDDINGS[part]] if part in model.EMBEDDINGS else 0
        for part in ("token_embedding", "positions", "unembedding")
    }
    total, embedding = sum(sizes.values()), sum(parts.values())
    return {"total": total, "embedding": embedding, "non_embedding": total - embedding, **parts}


def six_nd(n: int, supervised_tokens: int) -> int:
    """C = 6 N D floating-point operations, D counting the tokens on which a loss is taken (000 Sec. 3)."""
    return 6 * n * supervised_tokens


def counted_flops(model: SequenceModel, batch_size: int) -> int:
    """Operations of one training step on `batch_size` full sequences: forward and backward, no optimiser.

    Matrix products as PyTorch counts them (2 per multiply and add; attention over all T^2 pairs, as if
    unmasked), and the pairs of causal relations by `relation.FLOPS_PER_PAIR_AND_FEATURE`; the backward pass
    as twice the forward. Norms, activations and sums over single tokens are left out. Runs on the meta
    device, without computing or allocating.
    """
    weights = {name: torch.empty_like(weight, device="meta") for name, weight in model.named_parameters()}
    weights |= {name: torch.empty_like(buffer, device="meta") for name, buffer in model.named_buffers()}
    inputs = torch.empty(batch_size, model.context, dtype=torch.int64, device="meta")
    if model.features is not None:
        inputs = torch.empty(batch_size, model.context, model.features, device="meta")
    with torch.no_grad(), torch.device("meta"), FlopCounterMode(display=False) as counter:
        functional_call(model, weights, (inputs,))
    return 3 * counter.get_total_flops()
