"""The clearest neurons of each class: their weights, and the words that these are near to."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.spec.exhibits import figure
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM
from allmlp.studies.language.drawing import matrix, picture, show_bytes
from allmlp.studies.language.keywords import EXAMPLE, RANDOM

LETTERS = 8  # of a token, at most
SHOWN = 5  # lines of tokens
HEIGHTS = {BAG_OF_WORDS: 3.0, N_GRAM: 3.0, RANDOM: 1.0}  # of the pictures, over one another


@figure("Keywords beside the weights of their neurons", where="Figures 13 and 14", claims=["000-11"], parts=["neurons"])
def keyword_neurons(weight_maps: pd.DataFrame) -> Figure:
    """The six clearest neurons of each class in the first seed, after the last step: the first coordinates of the
    embedding (down) against time (across, the last token on the right), each picture scaled to its own largest weight,
    red above zero, blue below. Below a bag-of-words neuron: the ten tokens nearest to its mean row. Below an n-gram
    neuron: the five nearest to its row of largest norm, each with the model's next token, all other inputs zero. Last:
    random vectors, with tokens like those of n-gram neurons. Neurons of the class come first; below the number, the
    class of one that is in another. Nearness is the dot product with the input embedding. A space within a token is
    shown as ▁, the end of a document as ∎, a token that is a part of a letter's bytes as ‹byte›. The table of keywords
    may show a training on another type of CPU, with other neurons.
    """
    end = weight_maps[(weight_maps["moment"] == "end") & (weight_maps["shown"] != EXAMPLE)]
    first, heights = end[end["seed"] == end["seed"].min()], list(HEIGHTS.values())
    figure, axes = style.canvas(first["rank"].nunique(), len(HEIGHTS), width=6.6, height=2.1, ratios=heights)
    for across, name in zip(axes, HEIGHTS, strict=True):
        ranked = first[first["class"] == name].groupby("rank")
        for axis, (_, rows) in zip(across, ranked, strict=True):
            _panel(axis, rows)
        own = name == RANDOM or first.loc[first["class"] == name, "own_class"].eq(name).any()
        row = name if own else f"nearest to {name}"
        across[0].set_ylabel(f"{row}\nembedding{'' if name == RANDOM else ' against time'}", fontsize=style.SMALLEST)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    """A picture between its title and its tokens."""
    (one, *_) = rows.to_dict("records")
    named = "vector" if one["class"] == RANDOM else f"neuron {one['neuron']}"
    own = one["own_class"] if one["own_class"] != one["class"] else ""
    lines = _lines(one)
    picture(axis, matrix(rows))
    plots.clear_axis(axis)
    axis.set_title(f"{named}\nis {own}" if own else named, fontsize=style.SMALLEST)
    axis.set_xlabel("\n".join(lines), fontsize=style.SMALLEST, parse_math=False)  # a dollar is a dollar
    axis.set_label(f"weights over the tokens {', '.join(lines)}.")


def _lines(one: Mapping[Hashable, Any]) -> list[str]:
    """A token and what follows it, or two side by side."""
    near, after = (
        [_shorten_token(token) for token in show_bytes(one[name]).split()] for name in ("keywords", "completions")
    )
    pairs = zip(near, after, strict=False) if after else zip(near[::2], near[1::2], strict=False)
    return [(" → " if after else "  ").join(pair) for pair in pairs][:SHOWN]


def _shorten_token(token: str) -> str:
    return token if len(token) <= LETTERS else f"{token[: LETTERS - 1]}…"
