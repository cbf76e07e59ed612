"""DCT neurons and heads: SciPy's transform, the direct sum over each window in float64, gradients, steps, drift."""

import math

import numpy as np
import pytest
import scipy.fft
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models import flops, sliding_dct
from allmlp.models.dct import DCTHeads, DCTNeuron
from allmlp.models.sliding_dct import SlidingDCT, coefficients, log_windows
from tests.tensors import inputs

CASES = [(1, 1, [1]), (2, 2, [2, 9]), (3, 3, [5, 70]), (2, 4, [4, 12]), (2, 4, [40, 200]), (4, 5, [5, 17, 64, 65])]


def direct(x_BTHK, weights_HkKK, windows):
    """Each position's window cut out, zeros before the first position, SciPy's transform of it, the first k of it."""
    B, T, H, K = x_BTHK.shape
    y = np.zeros((B, T, H, K))
    for h, t in enumerate(windows):
        padded = np.concatenate([np.zeros((B, t - 1, K)), x_BTHK[:, :, h].detach().double().numpy()], axis=1)
        for i in range(T):
            dct = scipy.fft.dct(padded[:, i : i + t], axis=1, norm="ortho")[:, : weights_HkKK.shape[1]]
            y[:, i, h] = np.einsum("bjk,jkl->bl", dct, weights_HkKK[h].detach().double().numpy())
    return torch.from_numpy(y.reshape(B, T, H * K))


def weights_for(heads, k, width, dtype=torch.float64):
    return inputs(heads, k, width, width, seed=1, dtype=dtype) / math.sqrt(k * width)


@settings(deadline=None, max_examples=25)
@given(window=st.integers(1, 40), seed=st.integers(0, 99))
def test_coefficients_are_scipys_orthonormal_transform(window, seed):
    x = np.random.default_rng(seed).normal(size=window)
    basis = coefficients(window, window)
    np.testing.assert_allclose(basis @ x, scipy.fft.dct(x, norm="ortho"), atol=1e-12)
    np.testing.assert_allclose(basis @ basis.T, np.eye(window), atol=1e-12)
    plain = 2 * np.cos(np.pi * np.arange(window)[:, None] * (2 * np.arange(window) + 1) / (2 * window)) @ x  # Sec. 4.3
    np.testing.assert_allclose(plain, scipy.fft.dct(x), atol=1e-11)
    scale = np.where(np.arange(window) == 0, math.sqrt(4 * window), math.sqrt(2 * window))
    np.testing.assert_allclose(basis @ x * scale, plain, atol=1e-11)


@settings(deadline=None, max_examples=25)
@given(k=st.integers(1, 12), further=st.integers(0, 9), seed=st.integers(0, 99))
def test_a_window_of_k_is_any_linear_function_of_the_last_k_tokens(k, further, seed):
    neuron = DCTNeuron(d_model=3, window=k, frequencies=k).double()
    v_kD, x_BTD = inputs(k, 3, seed=seed), inputs(2, k + further, 3, seed=seed + 100)
    neuron.weight.data = neuron.basis @ v_kD
    expected = (x_BTD[:, further:] * v_kD).sum((1, 2))
    torch.testing.assert_close(neuron(x_BTD), expected, rtol=0, atol=1e-12)
    assert sum(weight.numel() for weight in neuron.parameters()) == 3 * k


def test_one_frequency_over_all_tokens_is_the_mean_and_no_other_frequency_is():
    x_BTD = inputs(4, 30, 5)
    neuron = DCTNeuron(5, window=30, frequencies=2).double()
    neuron.weight.data[1] = 0
    expected = math.sqrt(30) * x_BTD.mean(1) @ neuron.weight[0]
    torch.testing.assert_close(neuron(x_BTD), expected, rtol=0, atol=1e-12)
    neuron.weight.data[1], neuron.weight.data[0] = 1, 0
    constant = torch.ones(1, 30, 5, dtype=torch.float64)
    assert neuron(constant).abs().item() < 1e-12


@pytest.mark.parametrize(("heads", "k", "windows"), [(len(w), k, w) for _, k, w in CASES])
@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_sliding_is_the_direct_sum(heads, k, windows, length):
    """Across chunks of 32: windows shorter than one, of one, of many, and longer than the sequence."""
    x, weights = inputs(2, length, heads, 3), weights_for(heads, k, 3)
    sliding = SlidingDCT(windows, k, context=200)
    torch.testing.assert_close(sliding(x, weights), direct(x, weights, windows), rtol=0, atol=1e-11)


@pytest.mark.parametrize(("heads", "k", "windows"), [(len(w), k, w) for _, k, w in CASES])
def test_gradients_are_those_of_finite_differences(heads, k, windows, monkeypatch):
    monkeypatch.setattr(sliding_dct, "CHUNK", 3)
    sliding = SlidingDCT([min(t, 11) for t in windows] if k <= 5 else windows, k, context=11)
    x, weights = inputs(1, 11, heads, 2).requires_grad_(), weights_for(heads, k, 2).requires_grad_()
    assert torch.autograd.gradcheck(sliding, (x, weights))


HARD = {
    "far from zero": lambda x: x + 100,
    "alternating": lambda x: x + 100 * (-1.0) ** torch.arange(x.shape[1])[:, None, None],
    "a spike at the start": lambda x: torch.cat([1e4 + x[:, :1], x[:, 1:]], dim=1),
    "a ramp": lambda x: x + torch.linspace(-100, 100, x.shape[1], dtype=x.dtype)[:, None, None],
}


@pytest.mark.parametrize("name", HARD)
def test_single_precision_is_as_near_as_the_direct_sum_over_2048_positions(name):
    """Measured against what the window and its chunk hold: what has left both may leave no trace."""
    windows = log_windows(4, 4, 2048)
    x = HARD[name](inputs(1, 2048, 4, 2, dtype=torch.float32))
    weights = torch.eye(2).expand(4, 4, 2, 2) / 2
    y = SlidingDCT(windows, 4, 2048)(x, weights).double()
    right = direct(x, weights, windows)
    for h, t in enumerate(windows):
        largest = torch.nn.functional.pad(x[0, :, h].abs().double(), (0, 0, t + sliding_dct.CHUNK - 1, 0))
        largest = largest.unfold(0, t + sliding_dct.CHUNK, 1).amax(-1)
        off = (y - right)[0].unflatten(-1, (4, 2))[:, h].abs()
        assert (off / (math.sqrt(t) * largest)).max() < 2e-6


def test_gradients_in_single_precision_are_as_near():
    windows = log_windows(4, 4, 2048)
    found = []
    for dtype in (torch.float64, torch.float32):
        x, weights = inputs(1, 2048, 4, 2, dtype=dtype).requires_grad_(), weights_for(4, 4, 2, dtype).requires_grad_()
        y = SlidingDCT(windows, 4, 2048)(x, weights)
        g = 10 + inputs(1, 2048, 8, seed=2, dtype=dtype)
        found.append([gradient.double() for gradient in torch.autograd.grad(y, (x, weights), g)])
    for right, single in zip(*found, strict=True):
        assert (single - right).abs().max() / right.abs().max() < 2e-6


@pytest.mark.parametrize("k", [1, 3, 4])
def test_2048_steps_are_the_full_pass_to_1e_5(k):
    windows = log_windows(3, k, 2048)
    x, weights = inputs(1, 2048, 3, 2, dtype=torch.float32) + 3, weights_for(3, k, 2, torch.float32)
    sliding = SlidingDCT(windows, k, 2048)
    with torch.no_grad():
        full, state = sliding(x, weights), sliding.start(x[:, 0].flatten(1))
        for t in range(2048):
            y, state = sliding.step(x[:, t], weights, state)
            torch.testing.assert_close(y, full[:, t], rtol=1e-5, atol=1e-5)


def test_the_layer_is_projection_heads_map_norm_and_activation():
    torch.manual_seed(0)
    layer, x = DCTHeads(12, 40, n_heads=3, frequencies=2).double(), inputs(2, 40, 12)
    torch.nn.init.normal_(layer.norm.weight)
    projected = (x @ layer.proj.weight.T).unflatten(-1, (3, 4))
    joined = direct(projected, layer.frequency_maps, layer.sliding.windows) @ layer.out.weight.T + layer.out.bias
    normed = torch.nn.functional.layer_norm(joined, (12,), layer.norm.weight, layer.norm.bias, 1e-5)
    for activation, expected in (("gelu", torch.nn.functional.gelu(normed)), ("relu", normed.relu())):
        layer.activation = activation
        torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-11)
    torch.manual_seed(0)
    plain = DCTHeads(12, 40, n_heads=3, frequencies=2, activation="none").double()
    torch.testing.assert_close(plain(x), joined, rtol=0, atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_single_precision_rounded(dtype):
    layer, x = DCTHeads(8, 300, n_heads=2, frequencies=3), 0.5 * inputs(2, 300, 8, dtype=torch.float32)
    with torch.no_grad(), torch.autocast("cpu", dtype):
        y = layer(x)
        stepped, _ = layer.step(x[:, 0], layer.start(x[:, 0]))
    scale, step = layer(x).abs().max().item(), 16 * torch.finfo(dtype).eps
    torch.testing.assert_close(y.float(), layer(x), rtol=0, atol=step * scale)
    torch.testing.assert_close(stepped.float(), layer(x)[:, 0], rtol=0, atol=step * scale)


def test_windows_of_the_paper_span_4_to_its_context():
    windows = log_windows(16, 4, 2048)
    assert windows == [round(4 * 512 ** (h / 15)) for h in range(16)]
    assert (windows[0], windows[-1]) == (4, 2048)
    assert log_windows(1, 4, 99) == [99]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": 3}, "window of 4 tokens does not fit a context of 3"),
        ({"n_heads": 3}, "d_model=16: does not divide among n_heads=3"),
        ({"frequencies": 0}, "frequencies=0: it must be a whole number above 0"),
        ({"activation": "sine"}, "activation='sine': it must be one of gelu, relu, none"),
    ],
)
def test_impossible_hyperparameters_are_reported(options, message):
    with pytest.raises(UserError, match=message):
        models.build(
            "dct-mlp", **{"vocabulary": 9, "context": 12, "d_model": 16, "n_blocks": 1, "n_heads": 2, **options}
        )
    with pytest.raises(UserError, match="window of 3 tokens has 1 to 3"):
        DCTNeuron(2, window=3, frequencies=4)


def test_weights_are_those_of_the_papers_count():
    """10.25 d^2 a layer in matrices with 16 heads and 4 frequencies, against 12 d^2; no more with a longer context."""
    counts = {}
    for context in (64, 256):
        for name in ("dct-mlp", "gpt2"):
            sizes = {"vocabulary": 9, "context": context, "d_model": 64, "n_blocks": 1}
            counts[name, context] = flops.parameters(models.build(name, **sizes))["non_embedding"]
    d = 64
    vectors = {
        "dct-mlp": d + 2 * d + 4 * d + d,
        "gpt2": 3 * d + d + 4 * d + d,
    }  # biases, and the norm that ends a branch
    norms = 6 * d
    assert counts["dct-mlp", 64] == counts["dct-mlp", 256] == 10.25 * d**2 + vectors["dct-mlp"] + norms
    assert counts["gpt2", 64] == counts["gpt2", 256] == 12 * d**2 + vectors["gpt2"] + norms


def test_operations_grow_in_proportion_to_the_length_whatever_the_windows():
    counted = {}
    for context in (256, 512, 1024):
        model = models.build("dct-mlp", vocabulary=9, context=context, d_model=32, n_blocks=1, n_heads=4)
        counted[context] = flops.counted_flops(model, 1)
    assert counted[1024] / counted[512] == pytest.approx(2, rel=0.01)
    assert counted[512] / counted[256] == pytest.approx(2, rel=0.01)


def test_causal_gpt2_is_gpt2_with_a_mask():
    """As the last-token form at its last position, where both see all; and the Transformer's blocks with biases."""
    sizes = {"vocabulary": 9, "context": 7, "d_model": 8, "n_blocks": 1, "n_heads": 2, "d_mlp": 16}
    torch.manual_seed(0)
    causal, last = models.build("gpt2", **sizes).double(), models.build("gpt2-last", **sizes).double()
    last.load_state_dict(causal.state_dict())
    tokens = torch.arange(7)[None]
    torch.testing.assert_close(causal(tokens)[:, -1], last(tokens), rtol=0, atol=1e-12)
    assert causal(tokens).shape == (1, 7, 9)
    assert causal.blocks[0].mixer.qkv.bias is not None
