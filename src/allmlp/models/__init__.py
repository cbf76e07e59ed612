"""The architectures, by name. Importing this module does not import torch: a plan needs only names.

>>> import torch
>>> model = build("causal-rn", vocabulary=29, context=34, d_model=48, n_blocks=2)
>>> model(torch.zeros(1, 34, dtype=torch.int64)).shape
torch.Size([1, 34, 29])
"""

import difflib
import importlib
import inspect
from typing import TYPE_CHECKING, Any, get_args

from allmlp.common.errors import UserError, format_value

if TYPE_CHECKING:
    from allmlp.models.base import SequenceModel

REGISTRY: dict[str, str] = {
    "mlp": "allmlp.models.mlp:LastTokenMLP",
    "gpt2-last": "allmlp.models.gpt2:LastTokenGPT2",
    "gpt2": "allmlp.models.gpt2:GPT2",
    "dct-mlp": "allmlp.models.dct:DCTMLP",
    "causal-rn": "allmlp.models.causal_rn:CausalRN",
    "linear-causal-rn": "allmlp.models.linear_causal_rn:LinearCausalRN",
    "transformer": "allmlp.models.attention:Transformer",
    "linear-transformer": "allmlp.models.linear_attention:LinearTransformer",
    "birn": "allmlp.models.birn:BiRN",
    "linear-birn": "allmlp.models.birn:LinearBiRN",
    "transformer-classifier": "allmlp.models.classifiers:TransformerClassifier",
    "linear-transformer-classifier": "allmlp.models.classifiers:LinearTransformerClassifier",
    "constant-attention": "allmlp.models.constant_attention:ConstantAttention",
    "hand-coded-addition": "allmlp.models.hand_coded:HandCodedAddition",
    "masked-mixer": "allmlp.models.masked_mixer:MaskedMixer",
    "mixer-autoencoder": "allmlp.models.mixer_autoencoder:MixerAutoencoder",
    "llama": "allmlp.models.llama:Llama",
    "openai-gpt": "allmlp.models.openai_gpt:OpenAIGPT",
    "hybrid": "allmlp.models.hybrid:Hybrid",
    "hybrid-as-published": "allmlp.models.hybrid:HybridAsPublished",
    "matcher-mixer": "allmlp.models.matchers:MatcherMixer",
    "matcher-transformer": "allmlp.models.matchers:MatcherTransformer",
    "matcher-transformer-as-published": "allmlp.models.matchers:MatcherTransformerAsPublished",
    "triangular": "allmlp.models.triangular:Triangular",
}


def build(name: str, **hyperparameters: Any) -> "SequenceModel":
    """The architecture `name` with fresh weights, which `torch.manual_seed` before this call determines.

    Raises UserError, with the right names, for a wrong architecture, hyperparameter or value.
    """
    architecture = load(name)
    known = _parameters(architecture)
    for key in hyperparameters:
        if key not in known:
            raise UserError(f"{name}: unknown hyperparameter {_suggest(key, list(known))}", key=key)
    missing = [k for k, p in known.items() if p.default is inspect.Parameter.empty and k not in hyperparameters]
    if missing:
        raise UserError(f"{name}: needs {', '.join(missing)}; it takes {', '.join(known)}")
    return architecture(**hyperparameters)


def load(name: str) -> "type[SequenceModel]":
    """The class of architecture `name` (imports torch). UserError if there is none."""
    module, _, attribute = entry(name).partition(":")
    return getattr(importlib.import_module(module), attribute)


def hyperparameters(name: str) -> dict[str, Any]:
    """The hyperparameters of `build(name, ...)`: name -> default, `inspect.Parameter.empty` if a value is required."""
    return {key: parameter.default for key, parameter in _parameters(load(name)).items()}


def entry(name: str) -> str:
    """The module and class of architecture `name`. UserError if there is none."""
    if name not in REGISTRY:
        raise UserError(f"unknown architecture {_suggest(name, list(REGISTRY))}")
    return REGISTRY[name]


def _parameters(architecture: type) -> dict[str, inspect.Parameter]:
    """Those of its constructor; of `**sizes: Unpack[Sizes]` those of `Sizes`, which are all required."""
    found = dict(inspect.signature(architecture).parameters)
    if sizes := found.pop("sizes", None):
        named = get_args(sizes.annotation)[0].__annotations__
        found = {name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in named} | found
    return found


def _suggest(wrong: str, right: list[str]) -> str:
    near = difflib.get_close_matches(wrong, right, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{format_value(wrong)}.{hint} It is one of: {', '.join(right)}"
