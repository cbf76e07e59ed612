"""What a reader calls an architecture or a variant of one. Ids of runs and keys of config/ stay as they are.

>>> display("llama-4"), display("llama-4-fused"), display("gpt-16"), display("causal-rn"), display("my-mixer")
('Llama, 4 heads', 'Llama, 4 heads, fused', 'early GPT, 16 heads', 'CausalRN', 'my-mixer')
>>> architecture("llama-4"), architecture("kernel-4"), architecture("causal-rn")
('llama', 'masked-mixer', 'causal-rn')
"""

import re

ARCHITECTURES = {
    "mlp": "MLP",
    "gpt2-last": "GPT",
    "gpt2": "GPT-2",
    "dct-mlp": "DCT-MLP",
    "causal-rn": "CausalRN",
    "linear-causal-rn": "Linear CausalRN",
    "transformer": "Transformer",
    "linear-transformer": "Linear Transformer",
    "birn": "BiRN",
    "linear-birn": "Linear BiRN",
    "transformer-classifier": "Transformer classifier",
    "linear-transformer-classifier": "Linear Transformer classifier",
    "constant-attention": "constant attention",
    "hand-coded-addition": "hand-coded addition",
    "masked-mixer": "masked mixer",
    "mixer-autoencoder": "mixer autoencoder",
    "llama": "Llama",
    "openai-gpt": "early GPT",
    "hybrid": "hybrid",
    "hybrid-as-published": "hybrid as published",
    "matcher-mixer": "mixer matcher",
    "matcher-transformer": "transformer matcher",
    "matcher-transformer-as-published": "transformer matcher as published",
    "triangular": "triangular",
}
VARIANTS = {  # name -> what a reader calls it, and its architecture
    "flat": ("flat mixer", "masked-mixer"),
    "expanded": ("expanded mixer", "masked-mixer"),
    "positions-first": ("mixer, positions in block 1", "masked-mixer"),
    "positions-every": ("mixer, positions in all blocks", "masked-mixer"),
    "hybrid-before": ("hybrid, mixing first", "hybrid"),
    "hybrid-beside": ("hybrid, mixing beside", "hybrid"),
    "hybrid-after": ("hybrid, mixing last", "hybrid"),
    "autoencoder": ("mixer autoencoder", "mixer-autoencoder"),
    "mixer": ("mixer", "masked-mixer"),
    "untrained-mixer": ("untrained mixer", "masked-mixer"),
    "untrained-transformer": ("untrained Transformer", "llama"),
    "published": ("as published", "causal-rn"),
    "elu": ("ELU", "causal-rn"),
    "no-post-norm": ("no norm after the reduction", "causal-rn"),
    "no-pre-norm": ("no norm before the activation", "causal-rn"),
    "approximate-pre-norm": ("approximate norm before the activation", "causal-rn"),
    "one-plain": ("one triangle, plain", "triangular"),
    "one-averaging": ("one triangle, averaging", "triangular"),
    "one-discounted": ("one triangle, discounted", "triangular"),
    "two-plain": ("two triangles, plain", "triangular"),
    "two-averaging": ("two triangles, averaging", "triangular"),
    "gradient-mask": ("mask on the gradient", "triangular"),
    "gelu": ("GELU", "triangular"),
    "relu": ("ReLU", "triangular"),  # an activation of 002, too
    "leaky-relu": ("leaky ReLU", "triangular"),
}
NUMBERED = re.compile(r"(llama|gpt|heads|kernel|parallel)-(\d+)(-\w[\w-]*)?")  # llama-4-fused
KINDS = {
    "llama": ("Llama, {} heads", "llama"),
    "gpt": ("early GPT, {} heads", "openai-gpt"),
    "heads": ("mixer, {} heads", "masked-mixer"),
    "kernel": ("mixer, kernel {}", "masked-mixer"),
    "parallel": ("mixer, {} in parallel", "masked-mixer"),
}
SUFFIXES = {"-gelu": ", GELU"}  # of a numbered variant; any other is as its name says
COLUMNS = ("architecture", "embedder", "matcher", "model", "variant")  # of tables, which hold such names


def display(name: str) -> str:
    """What a reader calls it. A name that is not known here, such as that of a reader's own architecture, stays.

    >>> display("parallel-2-gelu"), display("llama-4-fused")
    ('mixer, 2 in parallel, GELU', 'Llama, 4 heads, fused')
    """
    if (found := NUMBERED.fullmatch(name)) is not None:
        more = found[3] or ""
        return KINDS[found[1]][0].format(found[2]) + SUFFIXES.get(more, more.replace("-", ", ", 1).replace("-", " "))
    return VARIANTS[name][0] if name in VARIANTS else ARCHITECTURES.get(name, name)


def architecture(name: str) -> str:
    """The architecture of a variant; any other name stays."""
    if (found := NUMBERED.fullmatch(name)) is not None:
        return KINDS[found[1]][1]
    return VARIANTS[name][1] if name in VARIANTS else name
