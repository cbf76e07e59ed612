"""Study 001 on what is counted and not trained, by the words of its claims.yaml."""

import math

import numpy as np

from tests.numerics.second_opinion.numbers import Fact, Part
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import Measured


@claim("001-1")
def masking(data: Measured) -> dict[str, Part]:
    rows, most = data.rows("masking"), data.margin["difference_1"]

    def fact(*properties: str) -> Fact:
        return Fact(all(abs(row["difference_1"]) <= most for row in rows if row["property"] in properties))

    return {"a": fact("masked weights", "output"), "b": fact("future"), "c": fact("gradients of masked weights")}


@claim("001-2")
def dimensions(data: Measured) -> dict[str, Part]:
    points = {"a": 570 * math.log(10), "b": math.log(15e12), "c": math.log(15e18), "d": math.log(512e6)}
    keys = ("sentences", "tokens", "generalised_tokens", "tinystories")
    printed = dict(zip("abcd", (data.paper[f"{key}_dimensions"] for key in keys), strict=True))
    return {
        letter: Fact(abs(8 * nats / printed[letter] - 1) <= data.margin["relative_1"])
        for letter, nats in points.items()
    }


@claim("001-9")
def hidden(data: Measured) -> dict[str, Part]:
    rows = {row["expansion_1"]: row for row in data.rows("hidden_units", hidden=(16, 64))}
    used = rows[2.0]["hidden_used"] / rows[2.0]["hidden"]
    return {"a": Fact(used <= data.margin["used_share_1"]), "b": Fact(rows[0.5]["inputs_lost"] >= 1)}


def memory(data: Measured, name: str, layers: int, context: int) -> float:
    """Bytes of one forward and backward pass: the peak, or where there is none the count."""
    (row,) = data.rows("memory", model=name, n_blocks=layers, context=context)
    return float(row["total_bytes"] if row["peak_bytes"] is None else row["peak_bytes"])


MIXER, TRANSFORMER, FUSED = "flat mixer", "transformer", "transformer, fused attention"


def growth(data: Measured, name: str, short: int, long: int) -> float:
    """The bytes by which the memory grows over those of the mixer, geometric mean over 4 and 8 layers."""

    def grown(of: str, layers: int) -> float:
        return memory(data, of, layers, long) - memory(data, of, layers, short)

    return math.sqrt(math.prod(grown(name, layers) / grown(MIXER, layers) for layers in (4, 8)))


@claim("001-13")
def mixer_memory(data: Measured) -> dict[str, Part]:
    entries = {
        (int(layers[1:]), int(context[1:])): printed
        for _, layers, context, _ in [key.split("_") for key in data.paper]
        for printed in [data.paper[f"memory_{layers}_{context}_mb"]]
    }
    ours = {entry: memory(data, MIXER, *entry) for entry in entries}

    def exponent(of: dict[tuple[int, int], float]) -> float:
        contexts, base = (2048, 4096, 8192), min(of.values())
        return float(np.polyfit(np.log(contexts), np.log([of[8, context] - base for context in contexts]), 1)[0])

    return {"b": Fact(abs(exponent(ours) - exponent(entries)) <= data.margin["exponent_1"])}


@claim("001-14")
def transformer_memory(data: Measured) -> dict[str, Part]:
    return {"a": Fact(growth(data, TRANSFORMER, 512, 2048) >= data.margin["growth_ratio_1"])}


@claim("001-own-11")
def fused_memory(data: Measured) -> dict[str, Part]:
    return {
        "a": Fact(growth(data, FUSED, 512, 2048) < data.margin["growth_ratio_1"]),
        "b": Fact(growth(data, FUSED, 4096, 8192) < data.margin["late_ratio_1"]),
    }


@claim("001-30")
def tournament(data: Measured) -> dict[str, Part]:
    rows = sorted(data.rows("tournament_passes", group=32), key=lambda row: row["texts"])
    slope = np.polyfit(np.log10([row["texts"] for row in rows]), [row["passes_per_text_1"] for row in rows], 1)[0]
    return {"": Fact(bool(slope > data.margin["slope_1"]))}
