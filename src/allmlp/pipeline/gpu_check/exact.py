"""Architectures, kernels and the loss in single precision on a device, against float64 on the CPU."""

import copy
import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from allmlp import models
from allmlp.models.audit import VARIANTS
from allmlp.models.audit.subject import PAD, Subject, build_small
from allmlp.models.base import LinearHead, SequenceModel
from allmlp.models.ragged import select_rows
from allmlp.models.relation import causal_relation_sum
from allmlp.pipeline.gpu_check.outcome import Check
from allmlp.training.loss import linear_cross_entropy

MOST = 1e-5  # relative distance: an H100 and a CPU come to 7e-7; tf32 and mistakes are far above
WIDER = {"vocabulary": 61, "context": 80, "d_model": 64, "d_mlp": 96, "n_heads": 4}  # more than one block of a kernel
ROWS = 3
RELATIONS = [(activation, norm) for activation in ("exp", "relu", "elu") for norm in ("none", "exact")]
LENGTHS = (1, 33, 100)


def check_architectures(device: str) -> Iterator[Check]:
    """Logits and gradients of every architecture and of the variants that the audit knows."""
    for name in models.REGISTRY:
        takes = models.hyperparameters(name)
        wider = {key: size for key, size in WIDER.items() if takes.get(key, 2) is inspect.Parameter.empty}
        for options in [wider, *({**wider, **one} for one in VARIANTS.get(name, []))]:
            said = " ".join(f"{key}={value}" for key, value in options.items() if key not in wider)
            yield f"{name} {said}".strip(), partial(_compare_model, name, options, device)


def _compare_model(name: str, options: dict[str, Any], device: str) -> tuple[bool, str]:
    reference = build_small(name, **options)
    inputs = Subject(reference, None).rows(ROWS)
    found = copy.deepcopy(reference).float().to(device)
    for weight, other in zip(reference.parameters(), found.parameters(), strict=True):
        weight.data = other.data.double().cpu()  # the same numbers, so that only the computation differs
    given = inputs.float().to(device) if inputs.is_floating_point() else inputs.to(device)
    of_both = [_logits_and_gradients(model, of) for model, of in ((found, given), (reference, inputs))]
    forward = distance(of_both[0][0], of_both[1][0])
    backward = max((distance(one, other) for one, other in zip(of_both[0][1], of_both[1][1], strict=True)), default=0.0)
    return _judge_differences(forward, backward)


def _logits_and_gradients(model: SequenceModel, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
    logits = model(inputs)
    weights = torch.randn(logits.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    (logits * weights.to(logits)).sum().backward()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    return logits, [torch.cat([one.flatten() for one in gradients])] if gradients else []


def _judge_differences(forward: float, backward: float) -> tuple[bool, str]:
    said = f"forward {forward:.1e} backward {backward:.1e} (at most {MOST:.0e})"
    return forward <= MOST and backward <= MOST, said


def distance(found: Tensor, reference: Tensor) -> float:
    """|found - reference| / |reference| over all numbers, in float64 on the CPU; not a number if one is not."""
    found, reference = found.detach().double().cpu(), reference.detach().double().cpu()
    scale = reference.norm().item()
    return (found - reference).norm().item() / (scale or 1.0)


def check_relations(device: str) -> Iterator[Check]:
    """The sum over pairs of the causal relation: on a GPU with Triton, its own kernels."""
    for activation, norm in RELATIONS:
        for length in LENGTHS:
            name = f"relation {activation}, norm {norm}, {length} tokens"
            yield name, partial(_compare_relation, activation, norm, length, device)


def _compare_relation(activation: str, norm: str, length: int, device: str) -> tuple[bool, str]:
    draw = torch.Generator().manual_seed(length)
    p, q, g = (torch.randn(2, length, 72, dtype=torch.float64, generator=draw).float() for _ in range(3))
    of_both = []
    for kind, dtype in ((device, torch.float32), ("cpu", torch.float64)):
        own_p, own_q = (x.to(kind, dtype, copy=True).requires_grad_() for x in (p, q))
        y = causal_relation_sum(own_p, own_q, activation, norm, 1e-5)
        y.backward(g.to(kind, dtype))
        of_both.append((y, torch.stack([x.grad for x in (own_p, own_q) if x.grad is not None])))
    (y, gradient), (true_y, true_gradient) = of_both
    return _judge_differences(distance(y, true_y), distance(gradient, true_gradient))


def check_loss(device: str) -> Iterator[Check]:
    """The cross-entropy that never holds all logits, of the supervised rows."""
    yield "linear cross-entropy", partial(_compare_loss, device)


def _compare_loss(device: str) -> tuple[bool, str]:
    draw = torch.Generator().manual_seed(7)
    hidden, weight = (torch.randn(rows, 48, generator=draw) for rows in (300, 1000))
    targets = torch.randint(-1, 1000, (300,), generator=draw)
    of_both = []
    for kind, dtype in ((device, torch.float32), ("cpu", torch.float64)):
        states, unembedding = (x.to(kind, dtype, copy=True).requires_grad_() for x in (hidden, weight))
        answers, supervised = targets.to(kind), targets.to(kind) >= 0
        loss = linear_cross_entropy(
            select_rows(states, supervised), LinearHead(unembedding), answers[supervised], dtype
        )
        loss.backward()
        of_both.append((loss, torch.cat([x.grad.flatten() for x in (states, unembedding) if x.grad is not None])))
    (loss, gradient), (true_loss, true_gradient) = of_both
    return _judge_differences(distance(loss, true_loss), distance(gradient, true_gradient))


def check_padding(device: str) -> Iterator[Check]:
    """Rows without their padding on the device, against the same rows of a pass over all positions."""
    for name, options in (("masked-mixer", {}), ("llama", {"pad": PAD})):
        yield f"{name} without padding", partial(_compare_padding, name, options, device)


def _compare_padding(name: str, options: dict[str, Any], device: str) -> tuple[bool, str]:
    reference = build_small(name, **options)
    tokens = Subject(reference, None).rows(ROWS)
    places, lengths = torch.arange(tokens.shape[1]), torch.tensor([[1], [5], [tokens.shape[1]]])
    asked = places >= tokens.shape[1] - lengths if "pad" in options else places < lengths
    tokens = torch.where(asked, tokens, PAD)
    found = copy.deepcopy(reference).float().to(device)
    states = found.select_hidden_states(tokens.to(device), asked.to(device))
    true_states = reference.hidden(tokens)[asked]
    states.square().sum().backward()
    true_states.square().sum().backward()
    of_both = [torch.cat([x.grad.flatten() for x in m.parameters() if x.grad is not None]) for m in (found, reference)]
    return _judge_differences(distance(states, true_states), distance(*of_both))
