"""Parameter counts to the digit, and counted operations against counts by hand."""

import time

import pytest
import torch

from allmlp import models
from allmlp.models.flops import counted_flops, parameters, six_nd
from allmlp.models.relation import FLOPS_PER_PAIR_AND_FEATURE


def on_meta(name, **hyperparameters):
    """A model of any size without memory."""
    with torch.device("meta"):
        return models.build(name, **hyperparameters)


COPYING = {"vocabulary": 29, "context": 34, "d_model": 192, "n_blocks": 12}


@pytest.mark.parametrize(
    ("name", "blocks_and_head", "with_embeddings"),
    [
        ("causal-rn", 1_337_280, 1_349_376),
        ("linear-causal-rn", 1_337_280, 1_349_376),
        ("transformer", 5_325_504, 5_337_600),
        ("linear-transformer", 5_325_504, 5_337_600),
    ],
)
def test_parameters_of_002(name, blocks_and_head, with_embeddings):
    count = parameters(on_meta(name, **COPYING))
    assert count["non_embedding"] + count["unembedding"] == blocks_and_head
    assert count["total"] == with_embeddings
    longer = parameters(on_meta(name, **(COPYING | {"context": 514})))
    assert longer["total"] - longer["positions"] == count["total"] - count["positions"]


@pytest.mark.parametrize(
    ("d_mlp", "options", "expected"),
    [
        (16384, {"bias": False, "norm": False}, 37_486_592),
        (16384, {"norm": False}, 37_520_896),
        (16384, {}, 37_589_504),
        (8192, {"bias": False, "norm": False}, 20_709_376),
        (8192, {"norm": False}, 20_727_296),
        (8192, {}, 20_763_136),
    ],
)
def test_parameters_of_000_mlp(d_mlp, options, expected):
    model = on_meta("mlp", vocabulary=32000, context=15, d_model=512, d_mlp=d_mlp, **options)
    assert parameters(model)["non_embedding"] == expected


def test_parameters_of_000_gpt():
    model = on_meta("gpt2-last", vocabulary=32000, context=15, d_model=512, d_mlp=8192)
    matrices = sum(w.numel() for name, w in model.named_parameters() if w.ndim == 2 and name.startswith("blocks"))
    assert matrices + parameters(model)["positions"] == 18_882_048
    vectors = 2 * (4 * 512 + 8192 + 512 + 4 * 512) + 2 * 512  # biases and norms of two blocks, the final norm
    assert parameters(model)["non_embedding"] == matrices + vectors


def test_parameters_of_003():
    assert parameters(on_meta("constant-attention", vocabulary=59))["total"] == 212_608


@pytest.mark.parametrize("name", [name for name in models.REGISTRY if "vocabulary" in models.hyperparameters(name)])
def test_parts_add_up_and_a_larger_vocabulary_grows_only_embeddings(name):
    required = {"vocabulary": 11, "context": 12, "d_model": 8, "n_blocks": 2, "n_heads": 2, "d_mlp": 16, "features": 4}
    takes = models.hyperparameters(name)
    size = {key: value for key, value in required.items() if key in takes}
    if takes.get("context") == 2:
        size["context"] = 2
    model = on_meta(name, **size)
    growing = [weight for part, weight in model.EMBEDDINGS.items() if part != "positions"]
    widths = [dict(model.named_parameters())[weight].numel() // size["vocabulary"] for weight in growing]
    small, large = parameters(model), parameters(on_meta(name, **(size | {"vocabulary": 31})))
    assert small["total"] == small["embedding"] + small["non_embedding"]
    assert small["embedding"] == small["token_embedding"] + small["positions"] + small["unembedding"]
    bias = 20 if name == "triangular" else 0  # of its unembedding
    assert large["non_embedding"] == small["non_embedding"] + bias
    # patches are embedded by a map that no vocabulary enlarges; the early GPT's two embeddings are one
    assert len(widths) == (1 if model.features or name == "openai-gpt" else 2)
    assert large["embedding"] - small["embedding"] == 20 * sum(widths)


def test_six_nd_gives_the_tokens_of_000():
    """A budget of 3e18 at 50M parameters is the paper's 10 billion targets."""
    assert six_nd(50_000_000, 10_000_000_000) == 3 * 10**18


def test_mlp_costs_six_operations_per_weight_and_target():
    model = on_meta("mlp", vocabulary=1000, context=15, d_model=64, d_mlp=256, bias=False, norm=False)
    count = parameters(model)
    assert counted_flops(model, 32) == six_nd(count["total"] - count["token_embedding"], 32)


def test_causal_relation_counts_its_pairs():
    B, T, D, V = 3, 34, 48, 29
    model = on_meta("causal-rn", vocabulary=V, context=T, d_model=D, n_blocks=2)
    pairs = T * (T + 1) // 2 * D * FLOPS_PER_PAIR_AND_FEATURE
    forward = 2 * (3 * 2 * T * D * D + 2 * T * T * D + pairs) + 2 * T * D * V
    assert counted_flops(model, B) == 3 * B * forward
    linear = on_meta("linear-causal-rn", vocabulary=V, context=T, d_model=D, n_blocks=2)
    assert counted_flops(linear, B) == 3 * B * (2 * 3 * 2 * T * D * D + 2 * T * D * V)


def test_attention_counts_all_pairs():
    B, T, D, V = 3, 34, 48, 29
    model = on_meta("transformer", vocabulary=V, context=T, d_model=D, n_blocks=2)
    forward = 2 * (12 * 2 * T * D * D + 2 * 2 * T * T * D) + 2 * T * D * V
    assert counted_flops(model, B) == 3 * B * forward


def test_a_real_model_counts_as_its_meta_twin_and_stays_as_it_is():
    size = {"vocabulary": 29, "context": 34, "d_model": 48, "n_blocks": 2}
    real = models.build("causal-rn", **size)
    before = {key: weight.clone() for key, weight in real.state_dict().items()}
    assert counted_flops(real, 32) == counted_flops(on_meta("causal-rn", **size), 32)
    assert all(torch.equal(before[key], weight) for key, weight in real.state_dict().items())


def test_a_model_that_makes_tensors_of_no_device_is_counted_too():
    model = models.build("causal-rn", vocabulary=29, context=34, d_model=48, n_blocks=2)
    counted = counted_flops(model, 32)
    model.register_forward_pre_hook(lambda _, inputs: (inputs[0] + torch.arange(34),))
    assert counted_flops(model, 32) == counted


def test_counting_the_largest_model_takes_no_time():
    model = on_meta("causal-rn", vocabulary=256, context=514, d_model=768, n_blocks=12)
    counted_flops(model, 1)
    start = time.process_time()  # of the processor: a loaded machine takes its share of the wall time
    counted_flops(model, 320)
    assert time.process_time() - start < 1.0  # about 0.05 s
